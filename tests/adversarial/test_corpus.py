"""Every attack of the corpus that is a program, against the engine, with a neighbour and a successor each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest
import pytest_asyncio
from _pytest.mark.structures import ParameterSet
from adversarial.adapter import IsolateAdapter
from adversarial.cases import Case, load
from adversarial.company import run_all
from adversarial.judge import Verdict
from adversarial.runner import opened_side_by_side

from codemode_executor import IsolateExecutor, Limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIDE_BY_SIDE = 3

Verdicts = dict[str, asyncio.Future[Verdict]]


def cases() -> list[ParameterSet]:
    """A finding that is not fixed yet is expected to get across, and says so when it does not any more."""
    return [
        pytest.param(case, id=case.id, marks=pytest.mark.xfail(reason=case.open, strict=True) if case.open else ())
        for case in load()
        if case.kind != "native"
    ]


def engine() -> IsolateExecutor:
    """Bounds are those of the cases: the executor's own are wide. Its second worker is the neighbour's."""
    return IsolateExecutor(limits=Limits(timeout_s=120, memory_mb=1024), min_workers=2, max_workers=2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verdicts(request: pytest.FixtureRequest, ordinary_run: object) -> AsyncIterator[Verdicts]:
    """Of the cases that were asked for, as they come: they are carried out beside the tests that wait for them.

    So does an ordinary user's run of all of them: see ``test_native.py``.
    """
    asked = [case for item in request.session.items if (case := _case_of(item)) is not None]
    futures = {case.id: asyncio.get_running_loop().create_future() for case in asked}
    async with opened_side_by_side(IsolateAdapter(engine) for _ in range(SIDE_BY_SIDE)) as runners:
        running = asyncio.create_task(
            run_all(runners, asked, lambda verdict: futures[verdict.case.id].set_result(verdict))
        )
        running.add_done_callback(lambda task: _give_up(task, futures))
        try:
            yield futures
        finally:
            running.cancel()
            await asyncio.wait((running,))


def _case_of(item: pytest.Item) -> Case | None:
    if isinstance(item, pytest.Function) and item.path.samefile(__file__) and item.originalname == "test_held":
        return cast(Case, item.callspec.params["case"])
    return None


def _give_up(task: asyncio.Task[None], futures: Verdicts) -> None:
    """Nobody waits for what will not come."""
    for future in futures.values():
        if not future.done():
            if not task.cancelled() and (error := task.exception()) is not None:
                future.set_exception(error)
                future.exception()
            else:
                future.cancel()


@pytest.mark.parametrize("case", cases())
async def test_held(verdicts: Verdicts, case: Case) -> None:
    verdict = await verdicts[case.id]
    assert verdict.held, "; ".join(verdict.against)
