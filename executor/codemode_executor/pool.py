"""Workers: admitting runs, starting, handing out, replacing, ending."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from . import jail
from .errors import (
    ExecutorClosed,
    ExecutorError,
    HardeningUnavailable,
    NestingLimit,
    QueueFull,
    QueueTimeout,
    WorkerStartFailed,
)
from .limits import MIB, Limits
from .process import WorkerProcess, WorkerState
from .queueing import FairQueue
from .wire import zygote as wire
from .zygotes import Zygotes

Isolation = Literal["worker", "process"]

#: Runs started from inside tool calls are admitted to this depth. Each depth has workers of its own to wait for, so no
#: run can wait for a worker that its own caller holds.
MAX_DEPTH = 4

_START_ATTEMPTS = 5
_CLOSE_TIMEOUT_S = 1.0
_DATA_HEADROOM = 1024 * MIB
_FRAME_SLACK = 4 * MIB
_SWEEP_S = 1.0
_TYPICAL_RUN_S = 0.1  # what a run is taken to last before one has been seen
_SMOOTHING = 0.1


class PoolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    min_workers: processes that are kept ready.
    max_workers: processes at the same time, per depth of nesting.
    max_queue: runs that may wait.
    queue_timeout_s: how long one may wait.
    idle_s: how long a worker beyond ``min_workers`` is kept without work.
    runs_per_worker: runs after which a worker is replaced.
    isolation: ``process`` gives every run a process of its own.
    hardening: what the jail must be.
    layers: what holds for single layers of it.
    jitless: V8 compiles nothing.
    limits: the widest bounds that a run may have.
    zygote_forks, zygote_age_s: when the zygote is renewed, and with it the address layout of its workers.
    seccomp_action: what the jail answers to a system call that it does not list.
    """

    min_workers: int
    max_workers: int
    max_queue: int
    queue_timeout_s: float
    idle_s: float
    runs_per_worker: int
    isolation: Isolation
    hardening: jail.Hardening
    layers: Mapping[str, jail.Hardening]
    jitless: bool
    limits: Limits
    zygote_forks: int
    zygote_age_s: float
    seccomp_action: jail.SeccompAction = "errno"


class PoolStats(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of a pool; the first five are of now, the others since its start.

    Attributes:
        starting, idle, busy, finishing: workers by state; a finishing one has answered and prepares its next isolate.
        queued: runs that wait for a worker.
        runs: runs that were given a worker.
        workers_started, workers_failed: processes that became ready, and that did not.
        workers_lost: processes that ended without having been told to.
        zygotes_started: zygotes, the first included.
        queue_full, queue_timeouts: runs that were refused.
        broken: why no worker can be started, empty while they can; the next run tries again. Of now, like the first.
    """

    starting: int
    idle: int
    busy: int
    finishing: int
    queued: int
    runs: int
    workers_started: int
    workers_failed: int
    workers_lost: int
    zygotes_started: int
    queue_full: int
    queue_timeouts: int
    broken: str = ""


@dataclass(eq=False)
class _Waiter:
    """A run that waits."""

    tenant: str | None
    since: float
    future: asyncio.Future[WorkerProcess]


@dataclass
class _Level:
    """The runs of one depth of nesting: how many have a worker, and those that wait."""

    active: int = 0
    queue: FairQueue[_Waiter] = field(default_factory=FairQueue[_Waiter])


class Pool:
    """The workers of one executor, on one event loop."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._zygotes = Zygotes(self._setup(), settings.zygote_forks, settings.zygote_age_s)
        self._workers: set[WorkerProcess] = set()
        self._idle: deque[WorkerProcess] = deque()  # the one used last is at the end
        self._levels = [_Level() for _ in range(MAX_DEPTH + 1)]
        self._depth_of: dict[WorkerProcess, int] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._consecutive_failures = 0
        self._failures_seen = 0
        self._broken: ExecutorError | None = None
        self._closed = False
        self._closing: asyncio.Task[None] | None = None
        self._run_s = _TYPICAL_RUN_S
        self._runs = self._started = self._failed = self._lost = 0
        self._queue_full = self._queue_timeouts = 0
        self._sweeper = self._loop.call_later(_SWEEP_S, self._sweep)

    # --- a run asks for a worker --------------------------------------------------------------------------------------

    async def acquire(self, tenant: str | None = None, depth: int = 0) -> WorkerProcess:
        """An idle worker, which the caller gives a run at once and brings back by ``release``.

        Args:
            tenant: runs of different tenants are admitted in turn.
            depth: 0, or how deeply the run is nested in tool calls of other runs.

        Raises:
            QueueFull, QueueTimeout, NestingLimit: the run is not admitted.
            WorkerStartFailed, HardeningUnavailable: no worker can be started.
            ExecutorClosed: the pool was closed meanwhile.
        """
        if self._closed:
            raise ExecutorClosed("the executor is closed")
        if depth > MAX_DEPTH:
            raise NestingLimit(depth, MAX_DEPTH)
        if self._broken is not None:
            # Somebody asks again, so it is tried again, once.
            self._broken = None
            self._consecutive_failures = _START_ATTEMPTS - 1
        level = self._levels[depth]
        if self._idle and not level.queue and self._admissible(level):
            return self._take(level, depth)
        if len(level.queue) >= self._settings.max_queue + self._admissible(level):
            self._queue_full += 1
            raise QueueFull(len(level.queue), self._retry_after(level))
        waiter = _Waiter(tenant, time.monotonic(), self._loop.create_future())
        level.queue.put(tenant, waiter)
        self._grow()
        timer = self._loop.call_later(self._settings.queue_timeout_s, self._give_up, level, waiter)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if not level.queue.remove(tenant, waiter) and _has_result(waiter.future):
                self.release(waiter.future.result(), None)
            raise
        finally:
            timer.cancel()

    def release(self, worker: WorkerProcess, run_s: float | None) -> None:
        """The run of ``worker`` is over, or there was none: another may be admitted in its place.

        Args:
            run_s: how long it took; ``None`` if there was no run.
        """
        depth = self._depth_of.pop(worker, None)
        if depth is None:
            return
        self._levels[depth].active -= 1
        if run_s is not None:
            self._run_s += _SMOOTHING * (run_s - self._run_s)
        if worker.state is WorkerState.IDLE:
            self._put_back(worker)
        self._match()

    def warm(self) -> None:
        """Start what is missing of the workers that should be waiting."""
        self._grow()

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """Every worker process that lives."""
        gone = (WorkerState.LOST, WorkerState.DEAD)
        return tuple(worker for worker in self._workers if worker.state not in gone)

    @property
    def stats(self) -> PoolStats:
        """Counters."""
        states = [worker.state for worker in self._workers]
        return PoolStats(
            starting=states.count(WorkerState.STARTING),
            idle=states.count(WorkerState.IDLE),
            busy=states.count(WorkerState.BUSY),
            finishing=states.count(WorkerState.FINISHING),
            queued=sum(len(level.queue) for level in self._levels),
            runs=self._runs,
            workers_started=self._started,
            workers_failed=self._failed,
            workers_lost=self._lost,
            zygotes_started=self._zygotes.started,
            queue_full=self._queue_full,
            queue_timeouts=self._queue_timeouts,
            broken="" if self._broken is None else str(self._broken),
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """End every process; returns when all are reaped. Everybody who calls it waits for the same end."""
        if self._closing is None:
            self._closed = True
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._sweeper.cancel()
        self._fail_waiters(ExecutorClosed, "the executor was closed while the run waited for a worker")
        for task in tuple(self._starting):
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for worker in tuple(self._workers):
            worker.kill("closed")
        await asyncio.gather(*(worker.gone() for worker in tuple(self._workers)))
        await self._zygotes.close(_CLOSE_TIMEOUT_S)

    def abandon(self) -> None:
        """Kill everything without waiting: no event loop is left that could."""
        self._closed = True
        for worker in self._workers:
            worker.abandon()
        self._zygotes.abandon()

    def forget(self) -> None:
        """In a forked child: close the inherited descriptors; the processes are the parent's and are left alone."""
        self._closed = True
        for worker in self._workers:
            worker.forget()
        self._zygotes.forget()

    # --- matching waiting runs and idle workers -----------------------------------------------------------------------

    def _admissible(self, level: _Level) -> int:
        """How many more runs of the level may have a worker."""
        return max(0, self._settings.max_workers - level.active)

    def _take(self, level: _Level, depth: int) -> WorkerProcess:
        worker = self._idle.pop()
        level.active += 1
        worker.runs += 1
        self._depth_of[worker] = depth
        self._runs += 1
        self._grow()
        return worker

    def _put_back(self, worker: WorkerProcess) -> None:
        if self._is_spent(worker):
            worker.kill("retired")
        else:
            self._idle.append(worker)

    def _match(self) -> None:
        # Deepest first: those runs are what the others wait for.
        for depth in range(MAX_DEPTH, -1, -1):
            level = self._levels[depth]
            while self._idle and level.queue and self._admissible(level):
                waiter = level.queue.pop()
                if not waiter.future.done():
                    waiter.future.set_result(self._take(level, depth))
        self._grow()

    def _grow(self) -> None:
        """Start what the admissible runs need, and what should be waiting."""
        if self._closed or self._broken is not None:
            return
        waiting = sum(min(len(level.queue), self._admissible(level)) for level in self._levels)
        coming = len(self._idle) + sum(1 for worker in self._workers if self._is_coming(worker))
        # A worker on its last run is replaced now, so that its successor is ready when it goes.
        held = sum(1 for worker in self._depth_of if not self._is_spent(worker))
        wanted = max(waiting - coming, self._settings.min_workers - coming - held)
        # One worker waits beyond those in use: it saves the next run a fork.
        if coming == 0 and held < self._settings.max_workers:
            wanted = max(wanted, 1)
        for _ in range(wanted):
            self._start_one()

    def _is_coming(self, worker: WorkerProcess) -> bool:
        """It will soon be idle: it starts, or it is done with a run, or its run was given up and is being ended."""
        if worker.state is WorkerState.STARTING:
            return True
        ending = worker.state in (WorkerState.BUSY, WorkerState.FINISHING) and worker not in self._depth_of
        return ending and not self._is_spent(worker)

    def _is_spent(self, worker: WorkerProcess) -> bool:
        return worker.runs >= (1 if self._settings.isolation == "process" else self._settings.runs_per_worker)

    def _start_one(self) -> None:
        worker = WorkerProcess(self._frame_bytes(), self._policy, self._changed)
        self._workers.add(worker)
        task = self._loop.create_task(self._start(worker))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self, worker: WorkerProcess) -> None:
        began = self._failures_seen
        try:
            await worker.start(await self._zygotes.current())
        except asyncio.CancelledError:
            self._workers.discard(worker)
            raise
        except HardeningUnavailable as error:
            self._workers.discard(worker)
            self._failed += 1
            self._break(error)
        except Exception as error:
            self._workers.discard(worker)
            self._failed += 1
            # Those that were starting together fail together, of one cause: that is one failure.
            if began == self._failures_seen:
                self._failures_seen += 1
                self._consecutive_failures += 1
            if self._consecutive_failures >= _START_ATTEMPTS:
                known = isinstance(error, WorkerStartFailed)
                self._break(error if known else WorkerStartFailed(f"{type(error).__name__}: {error}"))
            else:
                self._grow()
        else:
            self._started += 1
            self._consecutive_failures = 0

    def _break(self, error: ExecutorError) -> None:
        """Workers cannot be started: say so to everybody who waits instead of trying for ever."""
        self._broken = error
        self._fail_waiters(type(error), str(error))

    def _changed(self, worker: WorkerProcess) -> None:
        if worker.state is WorkerState.IDLE:
            # If its run has not been brought back yet, `release` sees to it.
            if worker not in self._depth_of:
                self._put_back(worker)
                self._match()
        elif worker.state is WorkerState.LOST:
            if worker.started and not worker.stop_reason:
                self._lost += 1
            if worker in self._idle:
                self._idle.remove(worker)
                self._grow()
        elif worker.state is WorkerState.DEAD:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
            if worker.started:
                self._grow()  # one that died while it started is counted by whoever started it

    # --- time ---------------------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """End idle workers that nobody has needed for a while."""
        self._sweeper = self._loop.call_later(_SWEEP_S, self._sweep)
        now = time.monotonic()
        while (
            self._idle
            and len(self._workers) > self._settings.min_workers
            and now - self._idle[0].idle_since > self._settings.idle_s
        ):
            worker = self._idle.popleft()
            self._workers.discard(worker)
            worker.kill("not needed")

    def _give_up(self, level: _Level, waiter: _Waiter) -> None:
        if waiter.future.done() or not level.queue.remove(waiter.tenant, waiter):
            return
        self._queue_timeouts += 1
        waited = time.monotonic() - waiter.since
        waiter.future.set_exception(QueueTimeout(waited, len(level.queue), self._retry_after(level)))

    def _retry_after(self, level: _Level) -> float:
        """When the queue will have moved on, if runs take as long as they have lately."""
        return max(0.05, self._run_s * (1 + len(level.queue)) / self._settings.max_workers)

    def _fail_waiters(self, kind: type[ExecutorError], message: str) -> None:
        for level in self._levels:
            for waiter in level.queue.drain():
                if not waiter.future.done():
                    waiter.future.set_exception(kind(message))

    # --- what processes are made of -----------------------------------------------------------------------------------

    def _frame_bytes(self) -> int:
        """The largest message that a worker may send."""
        limits = self._settings.limits
        return (
            max(limits.argument_bytes, limits.result_bytes, limits.tool_result_bytes, limits.log_bytes) + _FRAME_SLACK
        )

    @property
    def _policy(self) -> jail.JailPolicy:
        return jail.JailPolicy(hardening=self._settings.hardening, layers=self._settings.layers)

    def _setup(self) -> wire.Setup:
        limits = self._settings.limits
        memory = limits.memory_mb
        return wire.Setup(
            v8_flags=[
                "--single-threaded",
                "--disallow-code-generation-from-strings",
                # V8 aborts at this size. The limit proper is set on each isolate and ends a run gracefully, if V8 has
                # room above it.
                f"--max-heap-size={2 * memory}",
                *(["--jitless"] if self._settings.jitless else []),
            ],
            hardening=self._settings.hardening,
            data_headroom_bytes=_DATA_HEADROOM + 2 * memory * MIB,
            memory_bytes=memory * MIB,
            # A run's own message carries its program and its modules beside its environment.
            max_frame_bytes=self._frame_bytes() + limits.program_bytes + limits.module_bytes,
            seccomp_action=self._settings.seccomp_action,
            one_run=self._settings.isolation == "process",
            layers=dict(self._settings.layers),
            jitless=self._settings.jitless,
        )


def _has_result(future: asyncio.Future[WorkerProcess]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
