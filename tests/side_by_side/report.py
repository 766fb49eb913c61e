"""The outcome of the comparison, by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from side_by_side.compare import Finding, Verdict
from side_by_side.corpus import CLASSES

_COLUMNS = tuple(Verdict)


def print_column(config: pytest.Config, title: str, findings: Sequence[Finding]) -> None:
    """Write a column's table to the terminal, where there is one and something was found."""
    plugins = config.pluginmanager
    printer, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")
    if not findings or printer is None or capture is None:
        return
    with capture.global_and_fixture_disabled():
        printer.write_line("")
        printer.section(f"{title}, side by side with upstream 0.5.6")
        printer.write(render(findings, details=False))


def render(findings: Sequence[Finding], *, details: bool) -> str:
    """A table of verdicts by class; with ``details``, below it every case that needs somebody's attention."""
    return "\n".join([*_table(findings), *(_details(findings) if details else ())]) + "\n"


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    counts = Counter((finding.case.kind, finding.verdict) for finding in findings)
    yield f"{'class':<18}" + "".join(f"{verdict.value:>12}" for verdict in _COLUMNS)
    for kind in CLASSES:
        row = [counts[kind, verdict] for verdict in _COLUMNS]
        if any(row):
            yield f"{kind:<18}" + "".join(f"{number:>12}" for number in row)
    sums = [sum(counts[kind, verdict] for kind in CLASSES) for verdict in _COLUMNS]
    yield f"{f'all {sum(sums)}':<18}" + "".join(f"{number:>12}" for number in sums)
    issues = Counter(finding.case.pending for finding in findings if finding.verdict is Verdict.PENDING)
    if issues:
        waiting = ", ".join(f"{number} for issue {issue}" for issue, number in sorted(issues.items(), key=str))
        yield f"pending: {waiting}"


def _details(findings: Sequence[Finding]) -> Iterator[str]:
    for verdict in (Verdict.DISAGREED, Verdict.STALE, Verdict.PENDING):
        chosen = [finding for finding in findings if finding.verdict is verdict]
        if chosen:
            yield ""
            yield f"{verdict.value}:"
        for finding in chosen:
            program = finding.case.code if len(finding.case.code) <= 200 else finding.case.code[:200] + "…"
            yield f"  {finding.case.id} ({finding.case.kind}) {program!r}"
            yield f"      {finding.reason}"
