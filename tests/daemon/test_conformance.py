"""What a program does through the daemon is what it does in process, byte for byte of the described envelope.

A sample of every class of the corpus; the whole of it is compared with upstream by ``conformance.py`` and the bridge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from codemode_executor.daemon.server import Daemon
from daemon.client import TOKEN
from daemon.conformance import ThroughProtocol
from side_by_side.corpus import HERE, Case, cases
from side_by_side.ours import Ours

pytestmark = pytest.mark.asyncio(loop_scope="module")

_PER_CLASS = 8


def sample() -> list[Case]:
    """Some cases of every class, evenly."""
    by_class: dict[str, list[Case]] = defaultdict(list)
    for case in cases():
        # Times that pass in the program differ from run to run.
        if case.through is None and case.kind not in ("timeouts", "concurrency") and case.upstream is None:
            by_class[case.kind].append(case)
    return [case for group in by_class.values() for case in group[:: max(1, len(group) // _PER_CLASS)][:_PER_CLASS]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sides(daemon: Daemon) -> AsyncIterator[tuple[Ours, ThroughProtocol]]:
    if not (HERE / "node_modules").exists():
        pytest.skip("the side-by-side tests are not set up: run `make setup`")
    assert daemon.url is not None
    async with await Ours.start() as ours, await ThroughProtocol.start(daemon.url, TOKEN) as through:
        yield ours, through


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in sample()])
async def test_through_the_daemon_as_in_process(case: Case, sides: tuple[Ours, ThroughProtocol]) -> None:
    ours, through = sides
    assert compared(case, await through.run(case)) == compared(case, await ours.run(case))


def compared(case: Case, envelope: dict[str, Any]) -> dict[str, Any]:
    """What the case says anything about; calls that nobody awaits are made when they are made."""
    return {part: value for part, value in envelope.items() if part != "calls" or part in case.parts}
