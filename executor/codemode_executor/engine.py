"""An executor's life on one event loop: its pool, its runs, its end.

It ends with the loop even if nobody closes it: ``asyncio.run`` shuts asynchronous generators down before it closes the
loop, and one of them waits here. A loop that is closed in another way leaves the processes to the finalizer, at the
latest at interpreter exit. In a forked child nothing is shared: descriptors are closed, and the next use starts anew.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import os
import time
import weakref
from collections.abc import AsyncGenerator, Mapping

from .contract import EngineReport
from .ending import Ending
from .errors import ExecutorClosed, RetainedLimit
from .pool import Pool, PoolSettings
from .process import WorkerProcess
from .request import Request
from .run import HostRun, NotAccepted
from .tool_threads import ToolThreads

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()

#: How deeply the current tool call is nested in runs, by engine.
_depths: contextvars.ContextVar[Mapping[int, int]] = contextvars.ContextVar("codemode_executor_depths")

_ATTEMPTS = 3


class Engine:
    """Args:
    settings: of the pool.
    tool_threads: threads for tools that are plain functions.
    max_retained: runs whose handles are alive, at the same time.
    retained_idle_s: how long one is kept without a call.
    """

    _tokens = itertools.count(1)

    def __init__(self, settings: PoolSettings, tool_threads: int, max_retained: int, retained_idle_s: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.pid = os.getpid()
        self.threads = ToolThreads(tool_threads)
        self.pool = Pool(settings)
        self._token = next(self._tokens)
        self._ids = itertools.count(1)
        self._runs: set[HostRun] = set()
        self._trailing: set[HostRun] = set()  # over, with tool calls that nobody awaited
        self._max_retained = max_retained
        self._retained_idle_s = retained_idle_s
        self._retaining = 0
        self._closed = False
        self._guard = _until_the_loop_ends(self)
        _start(self._guard)
        self._finalizer = weakref.finalize(self, _abandon, self.pool, self.loop)
        _engines.add(self)

    @property
    def usable(self) -> bool:
        """It belongs to this process, and its loop is open."""
        return self.pid == os.getpid() and not self.loop.is_closed() and not self._closed

    async def execute(self, request: Request) -> tuple[HostRun, Ending, float]:
        """Carry a run out.

        Returns:
            The run, how it ended, and how long it waited for a worker, in seconds.

        Raises:
            ExecutorError: any fault of the machinery.
        """
        if not request.retain:
            return await self._execute(request)
        if self._retaining >= self._max_retained:
            raise RetainedLimit(self._max_retained)
        self._retaining += 1
        kept = False
        try:
            run, ending, waited = await self._execute(request)
            kept = run.retained
            if kept:
                run.when_over(self._one_less_retained)
            return run, ending, waited
        finally:
            if not kept:
                self._retaining -= 1

    def _one_less_retained(self) -> None:
        self._retaining -= 1

    async def _execute(self, request: Request) -> tuple[HostRun, Ending, float]:
        depths = _depths.get({})
        depth = depths.get(self._token, 0)
        context = contextvars.copy_context()
        context.run(_depths.set, {**depths, self._token: depth + 1})
        queued = time.monotonic()
        for attempt in range(_ATTEMPTS):
            worker = await self.pool.acquire(request.tenant, depth)
            if self._closed:
                self.pool.release(worker, None)
                raise ExecutorClosed("the executor was closed while the run waited for a worker")
            waited = time.monotonic() - queued
            run = HostRun(next(self._ids), worker, request, context, self._retained_idle_s)
            self._runs.add(run)
            try:
                if attempt == 0 and request.on_admitted is not None:
                    request.on_admitted()
                run.start()
                return run, await run.wait(), waited
            except NotAccepted:
                # The worker died before it took the run. Nothing has run, so another one may.
                if attempt == _ATTEMPTS - 1:
                    raise
            except asyncio.CancelledError:
                run.cancel()
                raise
            finally:
                if run.retained:
                    run.when_over(functools.partial(self._let_go, run, worker))
                else:
                    self._let_go(run, worker)
        raise AssertionError("unreachable")

    def _let_go(self, run: HostRun, worker: WorkerProcess) -> None:
        self._runs.discard(run)
        self.pool.release(worker, None if run.retained else run.wall_s)
        self._trail(run)

    def _trail(self, run: HostRun) -> None:
        """Keep a run whose tool calls go on, so that they are ended with the engine."""
        if not run.tasks:
            return
        self._trailing.add(run)
        for task in run.tasks:
            task.add_done_callback(lambda _: None if run.tasks else self._trailing.discard(run))

    async def inspect(self) -> EngineReport:
        """What a worker is made of."""
        worker = await self.pool.acquire()
        try:
            return worker.report()
        finally:
            self.pool.release(worker, None)

    async def aclose(self) -> None:
        """End every run and every process."""
        await self._end()
        await self._guard.aclose()

    async def _end(self) -> None:
        self._closed = True
        for run in tuple(self._runs):
            run.close()
        for run in tuple(self._trailing):
            run.cancel_tools()
        await self.pool.aclose()
        self._finalizer.detach()
        _engines.discard(self)

    async def end_with_loop(self) -> None:
        """The loop is being shut down."""
        if not self._closed:
            await self._end()

    def abandon(self) -> None:
        """Its loop was closed without ending it: kill what is left."""
        if self.pid == os.getpid() and not self._closed:
            self._closed = True
            self._finalizer.detach()
            self.pool.abandon()
            _engines.discard(self)

    def forget(self) -> None:
        """In a forked child."""
        self._closed = True
        self._finalizer.detach()
        self.pool.forget()


async def _until_the_loop_ends(engine: Engine) -> AsyncGenerator[None, None]:
    """The loop closes it when it is shut down, and also when engine and generator are garbage together."""
    try:
        yield
    finally:
        await engine.end_with_loop()


def _abandon(pool: Pool, loop: asyncio.AbstractEventLoop) -> None:
    """The engine is garbage. An open loop ends it in order; a closed one can do nothing any more."""
    if loop.is_closed():
        pool.abandon()


def _start(guard: AsyncGenerator[None, None]) -> None:
    """Run ``guard`` to its yield, so that the loop knows of it."""
    try:
        guard.asend(None).send(None)
    except StopIteration:
        return
    raise ExecutorClosed("the event loop does not run asynchronous generators")


def _after_fork_in_child() -> None:
    for engine in tuple(_engines):
        engine.forget()
    _engines.clear()


if hasattr(os, "register_at_fork"):  # Windows forks nothing, and is refused where workers would start
    os.register_at_fork(after_in_child=_after_fork_in_child)
