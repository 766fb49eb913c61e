"""An executor for one test, and what it must not leave behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from collections.abc import AsyncIterator, Iterable
from typing import Any

from codemode_executor import IsolateExecutor, Limits, Provider
from codemode_executor.process import WorkerState
from witness import Traces, children, descendants, eventually, reap_zombies, settle

LIMITS = Limits(timeout_s=20, memory_mb=64)
HANG = "async () => { await t.hang() }"


@contextlib.asynccontextmanager
async def fresh(*, orphans: bool = False, **options: Any) -> AsyncIterator[IsolateExecutor]:
    """An executor that is closed in the end, and has then left nothing and hidden nothing.

    Args:
        orphans: the test kills a zygote, whose workers then come to this process, which has to reap them.
        options: of the executor.
    """
    options = {"limits": LIMITS, "min_workers": 1, **options}
    reap_zombies()
    before = Traces.take()
    faults: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    try:
        async with IsolateExecutor(**options) as executor:
            yield executor
        if orphans:
            await eventually(lambda: not workers_and_zygotes_alive(), "the end of the orphans")
            reap_zombies()
        gc.collect(1)  # what a task held when it failed unheard is reported when it goes
        left = await settle(before)
    finally:
        loop.set_exception_handler(None)
        reap_zombies()
    assert not left, f"left behind: {left}"
    assert not faults, f"the event loop had to report: {faults}"


def workers_alive() -> list[int]:
    """Worker processes as the kernel knows them: children of a child of this process."""
    return [p.pid for p in descendants() if p.parent != os.getpid() and p.state not in "ZX"]


def zygotes_alive() -> list[int]:
    """Zygote processes as the kernel knows them."""
    alive = {p.pid for p in descendants() if p.state not in "ZX"}
    return [pid for pid in children() if pid in alive]


def workers_and_zygotes_alive() -> list[int]:
    """Every process of the engine."""
    return [p.pid for p in descendants() if p.state not in "ZX"]


async def warm(executor: IsolateExecutor, count: int) -> set[int]:
    """Have ``count`` workers busy at once, so that they exist; returns the pids of those that idle then."""
    gate = Gate()
    runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(count)]
    await eventually(lambda: gate.entered == count, f"{count} runs in their tools")
    gate.open.set()
    await asyncio.gather(*runs)
    await eventually(lambda: idle(executor) >= count, f"{count} idle workers")
    return set(executor.worker_pids)


def busy_pids(executor: IsolateExecutor) -> list[int]:
    """Which workers have a run at this moment, as the pool sees it."""
    engine = executor._engine
    assert engine is not None
    return [worker.pid for worker in engine.pool.workers if worker.state is WorkerState.BUSY]


def idle(executor: IsolateExecutor) -> int:
    """How many workers wait for a run."""
    stats = executor.stats()
    assert stats is not None
    return stats.idle


class Gate:
    """A tool that holds its run until the gate opens, and what becomes of its calls."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.entered = 0
        self.inside = 0

    async def __call__(self) -> str:
        self.entered += 1
        self.inside += 1
        try:
            await self.open.wait()
            return "through"
        finally:
            self.inside -= 1

    @property
    def providers(self) -> list[Provider]:
        return [Provider("t", {"hang": self})]


def tally(outcomes: Iterable[object]) -> dict[str, int]:
    """How many outcomes of each kind: ``ok``, the envelope's error, or the code of what was raised."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            key = str(getattr(outcome, "code", type(outcome).__name__))
        else:
            error = getattr(outcome, "error", None)
            key = "ok" if error is None else str(error)
        counts[key] = counts.get(key, 0) + 1
    return counts
