"""Every attack of the corpus that is a program, against one executor, with a neighbour and a successor each."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from _pytest.mark.structures import ParameterSet
from adversarial.adapter import IsolateAdapter
from adversarial.cases import Case, load
from adversarial.runner import Runner, opened

from codemode_executor import IsolateExecutor, Limits

pytestmark = pytest.mark.asyncio(loop_scope="module")


def cases() -> list[ParameterSet]:
    """A finding that is not fixed yet is expected to get across, and says so when it does not any more."""
    return [
        pytest.param(case, id=case.id, marks=pytest.mark.xfail(reason=case.open, strict=True) if case.open else ())
        for case in load()
        if case.kind != "native"
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner() -> AsyncIterator[Runner]:
    """Bounds are those of the cases: the executor's own are wide."""
    limits = Limits(timeout_s=120, memory_mb=1024)
    adapter = IsolateAdapter(lambda: IsolateExecutor(limits=limits, min_workers=2, max_workers=3))
    async with opened(adapter) as opened_runner:
        yield opened_runner


@pytest.mark.parametrize("case", cases())
async def test_held(runner: Runner, case: Case) -> None:
    verdict = await runner.run(case)
    assert verdict.held, "; ".join(verdict.against)
