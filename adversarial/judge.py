"""From what the host observed to a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from codemode_executor import Limits

from .adapter import Ended
from .cases import Case, Outcome
from .surroundings import Seen
from .texts import shown, texts_of

_NOTICE_BYTES = 2048
_ERROR_BYTES = 512 * 1024


class Observation(NamedTuple):
    """All that the host has seen of one case.

    Attributes:
        ends: how each program ended; ``None`` for one that did not within the guard.
        handle: how the call of the returned function ended; empty if none was made.
        arguments: what reached tools, as text.
        breaches: calls of the tool that only an attack that has succeeded makes.
        harm: what else was found: surroundings touched, others harmed, the worker not as it should be.
    """

    ends: Sequence[Ended | None]
    handle: str
    arguments: str
    breaches: int
    harm: Sequence[str]


class Verdict(NamedTuple):
    """The attack was held if nothing speaks against it."""

    case: Case
    against: tuple[str, ...]

    @property
    def held(self) -> bool:
        """Nothing got across."""
        return not self.against


def classify(ended: Ended | None) -> Outcome | str:
    """The outcome class of one program."""
    if ended is None:
        return "no end"
    if ended.raised:
        return f"raised:{ended.raised}"
    if ended.bound is not None:
        return f"bound:{ended.bound}"
    return "value" if ended.error is None else "error"


def judge(case: Case, limits: Limits, secret: str, observed: Observation) -> Verdict:
    """What speaks against the executor."""
    against: list[str] = []
    for number, ended in enumerate(observed.ends, 1):
        which = f"program {number}: " if len(observed.ends) > 1 else ""
        against += [which + text for text in _ending(case, limits, secret, ended)]
    last = observed.ends[-1] if observed.ends else None
    if last is not None:
        if case.result is not msgspec.UNSET and last.result != case.result:
            against.append(f"the result is {shown(last.result)} and should be {shown(case.result)}")
        if case.error and not re.search(case.error, last.error or ""):
            against.append(f"the error is {shown(last.error)} and should hold {case.error!r}")
    results = [texts_of(ended.result) + shown(ended.result) for ended in observed.ends if ended is not None]
    if case.distinct and len(set(results)) < len(results):
        against.append(f"two programs returned the same: {shown(results)}")
    if case.handles is not None and observed.handle not in case.handles.outcome:
        against.append(f"the call of the returned function ended as {observed.handle!r}")
    if secret in observed.arguments:
        against.append("the secret reached a tool")
    if observed.breaches:
        against.append(f"the attack reported success {observed.breaches} times")
    return Verdict(case, (*against, *observed.harm))


def spent(cases: Sequence[Case], seen: Seen) -> list[str]:
    """What speaks against the executor in the memory and the time that ``cases`` together have cost.

    Together they may cost no more than each of them alone.
    """
    against: list[str] = []
    host_mb, worker_mb = min(case.host_mb for case in cases), min(case.worker_mb for case in cases)
    host_cpu_s = min(case.host_cpu_s for case in cases)
    if seen.host_mb > host_mb:
        against.append(f"the host gained {seen.host_mb:.0f} MiB; the case allows {host_mb}")
    if seen.host_cpu_s > host_cpu_s:
        against.append(f"the host computed for {seen.host_cpu_s:.1f} s; the case allows {host_cpu_s:g}")
    if seen.worker_mb > worker_mb:
        against.append(f"a process had {seen.worker_mb:.0f} MiB; the case allows {worker_mb}")
    return against


def _ending(case: Case, limits: Limits, secret: str, ended: Ended | None) -> list[str]:
    against: list[str] = []
    outcome = classify(ended)
    if outcome not in case.outcome:
        detail = "" if ended is None else f" ({shown(ended.error if ended.error is not None else ended.result)})"
        against.append(f"it ended as {outcome}{detail} and may end as {', '.join(case.outcome)}")
    if ended is None:
        return against
    texts = [ended.error or "", ended.name, ended.stack, *ended.logs]
    if secret in "\n".join([*texts, texts_of(ended.result)]):
        against.append("the secret came out")
    if ended.error == "":
        against.append("the error is empty, which reads as success")
    try:
        size = sum(len(line.encode()) for line in ended.logs)
        length = sum(len(text.encode()) for text in texts[:3])
    except UnicodeEncodeError:
        return [*against, "a text of the envelope cannot be encoded as UTF-8"]
    marks = 12 * len(ended.logs)  # a line carries its level
    if size > limits.log_bytes + marks + _NOTICE_BYTES or len(ended.logs) > limits.log_lines + 2:
        against.append(f"{len(ended.logs)} lines of logs with {size} bytes came out")
    if length > _ERROR_BYTES:
        against.append(f"the texts of the error have {length} bytes")
    return against
