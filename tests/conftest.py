"""What every test of the engine shares: one executor per module, and a look at what is left."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from codemode_executor import ExecuteResult, IsolateExecutor, Limits
from codemode_executor.jail import Hardening
from witness import SETTLE_S, Traces, eventually, reap_zombies, settle

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(scope="session")
def hardening() -> Hardening:
    return "required"


@pytest.fixture(scope="session", autouse=True)
def orphans_come_here() -> None:
    """Workers of a dead zygote become children of this process, so that a scan by parent sees them."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor(hardening: Hardening) -> AsyncIterator[IsolateExecutor]:
    """The module's executor: one worker, so that every test meets what the one before left."""
    reap_zombies()
    before = Traces.take()
    async with IsolateExecutor(
        limits=Limits(timeout_s=20, memory_mb=64), hardening=hardening, min_workers=1, max_workers=1
    ) as instance:
        await _still_works(instance)
        yield instance
    left = await settle(before)
    assert not left, f"left behind by the closed executor: {left}"


@pytest_asyncio.fixture(loop_scope="module")
async def leaves_nothing(executor: IsolateExecutor) -> AsyncIterator[None]:
    """The next run on the module's executor succeeds, and the test has left nothing behind."""
    reap_zombies()
    await eventually(
        lambda: Traces.take().families == (1, 1) and len(executor.worker_pids) == 1,
        "one zygote and one worker before the test",
    )
    reap_zombies()
    before = Traces.take()
    faults: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    try:
        yield
        await _still_works(executor)
        gc.collect(1)  # what a task held when it failed unheard is reported when it goes
        left = await settle(before)
    finally:
        loop.set_exception_handler(None)
        reap_zombies()
    assert not left, f"left behind: {left}"
    assert not faults, f"the event loop had to report: {faults}"


@pytest.fixture
def leaves_nothing_sync() -> Iterator[None]:
    """As ``leaves_nothing``, for tests without a loop and without a shared executor."""
    reap_zombies()
    before = Traces.take()
    yield
    gc.collect()
    until = time.monotonic() + SETTLE_S
    while (left := Traces.take().beyond(before)) and time.monotonic() < until:
        time.sleep(0.01)
    reap_zombies()
    assert not left, f"left behind: {left}"


async def _still_works(executor: IsolateExecutor) -> None:
    outcome: ExecuteResult = await asyncio.wait_for(executor.execute("async () => 6 * 7"), SETTLE_S)
    assert (outcome.result, outcome.error, outcome.logs) == (42, None, [])
