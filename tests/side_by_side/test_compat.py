"""Every case of the corpus, on upstream's executor and through the compat layer, in the same run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from side_by_side import report
from side_by_side.compare import Finding, Verdict
from side_by_side.compat import THROUGH_COMPAT, ThroughCompat, judged
from side_by_side.corpus import Case, cases
from side_by_side.upstream import Upstream, UpstreamHung

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compat(installed: None) -> AsyncIterator[ThroughCompat]:
    async with await ThroughCompat.start() as instance:
        yield instance


@pytest.fixture(scope="module")
def through_compat(request: pytest.FixtureRequest) -> Iterator[list[Finding]]:
    """The findings of this module, whose table is printed at its end."""
    found: list[Finding] = []
    yield found
    report.print_column(request.config, "through codemode_compat", found)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases()])
async def test_case(case: Case, upstream: Upstream, compat: ThroughCompat, through_compat: list[Finding]) -> None:
    finding = await _compared(case, upstream, compat)
    through_compat.append(finding)
    # A mark of another issue that is not needed any more is the native comparison's to report.
    stale = finding.verdict is Verdict.STALE and finding.case.pending is None
    assert not stale, finding.reason
    assert finding.verdict is not Verdict.DISAGREED, finding.reason


async def _compared(case: Case, upstream: Upstream, compat: ThroughCompat) -> Finding:
    try:
        theirs, mine = await asyncio.gather(upstream.run(case), compat.run(case))
    except UpstreamHung as hung:
        return Finding(case, Verdict.DISAGREED, str(hung))
    return judged(case, theirs, mine)


async def test_cases_with_marks_of_this_layer_exist() -> None:
    assert set(THROUGH_COMPAT) <= {case.id for case in cases()}
