"""What two envelopes say about a case."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from side_by_side.corpus import NEVER_REJECTS, Case


class Verdict(Enum):
    """``STALE`` is a mark, of a difference or of an issue, that the case does not need any more."""

    AGREED = "agreed"
    DOCUMENTED = "documented"
    PENDING = "pending"
    DISAGREED = "disagreed"
    STALE = "stale mark"


@dataclass(frozen=True)
class Finding:
    """A verdict, and for whoever has to act on it, the reason."""

    case: Case
    verdict: Verdict
    reason: str = ""
    difference: str | None = None


def judge(case: Case, upstream: dict[str, Any] | None, ours: dict[str, Any]) -> Finding:
    """Compare the described envelopes.

    Args:
        upstream: ``None`` if upstream does not survive the program.
    """
    problem = _problem(case, upstream, ours)
    if case.pending is not None:
        return _pending(case, problem, ours)
    if case.difference is not None:
        return _documented(case, problem, ours)
    if problem is not None:
        return Finding(case, Verdict.DISAGREED, problem)
    if upstream is not None and "rejected" in upstream:
        return Finding(case, Verdict.DOCUMENTED, difference=NEVER_REJECTS)
    return Finding(case, Verdict.AGREED)


def _pending(case: Case, problem: str | None, ours: dict[str, Any]) -> Finding:
    """It waits until it agrees or, where upstream cannot be the measure, until ours is what the case says."""
    if case.ours is not None:
        problem = _unlike(case.ours, ours)
    if problem is not None:
        return Finding(case, Verdict.PENDING, problem)
    return Finding(case, Verdict.STALE, f"it needs issue {case.pending} no more: remove the mark, or document it")


def _documented(case: Case, problem: str | None, ours: dict[str, Any]) -> Finding:
    if case.ours is None:
        return Finding(case, Verdict.DISAGREED, f"it does not say what ours answers; that is {_text(ours)}")
    unlike = _unlike(case.ours, ours)
    if unlike is not None:
        return Finding(case, Verdict.DISAGREED, unlike)
    if problem is None:
        reason = f"it agrees although it is documented as {case.difference}: remove the mark"
        return Finding(case, Verdict.STALE, reason)
    return Finding(case, Verdict.DOCUMENTED, difference=case.difference)


def _unlike(expected: dict[str, Any], ours: dict[str, Any]) -> str | None:
    """How ``ours`` is not what a case says. ``{"$matches": regular expression}`` stands for texts that vary."""
    actual = {part: ours.get(part) for part in expected}
    for part, value in expected.items():
        pattern = cast("dict[str, str]", value).get("$matches") if isinstance(value, dict) else None
        if pattern is not None and re.fullmatch(pattern, str(actual[part])):
            actual[part] = value
    if _text(actual) == _text(expected):
        return None
    return f"ours is not what the case says, {_text(expected)}: it is {_text(ours)}"


def _problem(case: Case, upstream: dict[str, Any] | None, ours: dict[str, Any]) -> str | None:
    if upstream is None:
        return f"upstream {case.upstream}; ours {_text(ours)}"
    if "refused" in ours:
        return f"upstream {_text(upstream)}; ours refused the request: {ours['refused']}"
    if "undecodable" in ours:
        return f"upstream {_text(upstream)}; ours cannot be decoded: {ours['undecodable']}"
    if "rejected" in upstream:
        # Upstream's own contract says that `execute` never throws: the equal of its rejection is a returned error.
        if ours.get("error"):
            return None
        return f"upstream rejected: {upstream['rejected']}; ours did not fail: {_text(ours)}"
    apart = [part for part in case.parts if _text(upstream.get(part)) != _text(ours.get(part))]
    if not apart:
        return None
    return f"{', '.join(apart)} differ: upstream {_pick(upstream, apart)}; ours {_pick(ours, apart)}"


def _pick(envelope: dict[str, Any], parts: Sequence[str]) -> str:
    # An error explains a result that is missing, whether or not it is compared.
    return _text({part: envelope[part] for part in ("result", "error", *parts) if part in envelope})


def _text(value: object) -> str:
    """Equal for what is equal in JavaScript: the order of members counts."""
    return json.dumps(value, ensure_ascii=False)
