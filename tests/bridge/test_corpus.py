"""Cases of the corpus, on upstream's executor and through the bridge, in the same run.

Every fourth one, because the native engine and the compat layer have been asked them all; ``CODEMODE_CORPUS=all`` asks
the bridge all of them, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from bridge.through import ThroughBridge
from side_by_side import report
from side_by_side.compare import Finding, Verdict
from side_by_side.compat import judged
from side_by_side.corpus import Case, cases
from side_by_side.upstream import Upstream, UpstreamHung

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bridge(built: None) -> AsyncIterator[ThroughBridge]:
    async with await ThroughBridge.start() as instance:
        yield instance


@pytest.fixture(scope="module")
def through_bridge(request: pytest.FixtureRequest) -> Iterator[list[Finding]]:
    """The findings of this module, whose table is printed at its end."""
    found: list[Finding] = []
    yield found
    report.print_column(request.config, "through the bridge", found)


STEP = 1 if os.environ.get("CODEMODE_CORPUS") == "all" else 4


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in list(cases())[::STEP]])
async def test_case(case: Case, upstream: Upstream, bridge: ThroughBridge, through_bridge: list[Finding]) -> None:
    finding = await _compared(case, upstream, bridge)
    through_bridge.append(finding)
    # A mark of another issue that is not needed any more is the native comparison's to report.
    stale = finding.verdict is Verdict.STALE and finding.case.pending is None
    assert not stale, finding.reason
    assert finding.verdict is not Verdict.DISAGREED, finding.reason


async def _compared(case: Case, upstream: Upstream, bridge: ThroughBridge) -> Finding:
    try:
        theirs, mine = await asyncio.gather(upstream.run(case), bridge.run(case))
    except UpstreamHung as hung:
        return Finding(case, Verdict.DISAGREED, str(hung))
    # The bridge checks names and options as the compat layer does, in the same words.
    return judged(case, theirs, mine)
