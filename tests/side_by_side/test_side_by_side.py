"""Every case of the corpus, on upstream's executor and on ours, in the same run."""

from __future__ import annotations

import asyncio

import pytest

from side_by_side.compare import Finding, Verdict, judge
from side_by_side.corpus import Case, cases
from side_by_side.ours import Ours
from side_by_side.upstream import Upstream, UpstreamHung

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases() if case.through is None])
async def test_case(case: Case, upstream: Upstream, ours: Ours, findings: list[Finding]) -> None:
    finding = await _compared(case, upstream, ours)
    findings.append(finding)
    assert finding.verdict not in (Verdict.DISAGREED, Verdict.STALE), f"{finding.verdict.value}: {finding.reason}"


async def _compared(case: Case, upstream: Upstream, ours: Ours) -> Finding:
    try:
        theirs, mine = await asyncio.gather(upstream.run(case), ours.run(case))
    except UpstreamHung as hung:
        return Finding(case, Verdict.DISAGREED, str(hung))
    return judge(case, theirs, mine)
