"""Workers: starting, handing out, replacing."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from . import jail
from .errors import ExecutorClosed, ExecutorError, HardeningUnavailable, WorkerStartFailed
from .limits import MIB, Limits
from .process import WorkerProcess, WorkerState
from .wire import zygote as wire
from .zygote import Zygote

_START_ATTEMPTS = 3
_CLOSE_TIMEOUT_S = 1.0
_DATA_HEADROOM = 1024 * MIB
_FRAME_SLACK = 4 * MIB


class PoolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    workers: processes at the same time.
    hardening: what the jail must be.
    limits: the widest bounds that a run may have.
    seccomp_action: what the jail answers to a system call that it does not list.
    """

    workers: int
    hardening: jail.Hardening
    limits: Limits
    seccomp_action: jail.SeccompAction = "errno"


class Pool:
    """The workers of one executor, on one event loop."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._zygote: Zygote | None = None
        self._workers: set[WorkerProcess] = set()
        self._idle: deque[WorkerProcess] = deque()
        self._waiters: deque[asyncio.Future[WorkerProcess]] = deque()
        self._starting: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._closed = False

    async def acquire(self) -> WorkerProcess:
        """An idle worker, which the caller must give a run at once.

        Raises:
            WorkerStartFailed, HardeningUnavailable: no worker can be started.
            ExecutorClosed: the pool was closed meanwhile.
        """
        if self._closed:
            raise ExecutorClosed("the executor is closed")
        if self._idle:
            return self._idle.popleft()
        waiter: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._grow()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.give_back(waiter.result())
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def give_back(self, worker: WorkerProcess) -> None:
        """Return a worker that was given no run."""
        if worker.state is WorkerState.IDLE:
            self._hand_out(worker)

    def warm(self) -> None:
        """Start what is missing of the workers that should be waiting."""
        self._grow()

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """Every worker process that lives."""
        return tuple(worker for worker in self._workers if worker.state is not WorkerState.DEAD)

    async def aclose(self) -> None:
        """End every process; returns when all are reaped."""
        self._closed = True
        self._fail_waiters(ExecutorClosed, "the executor was closed while the run waited for a worker")
        for task in tuple(self._starting):
            task.cancel()
        workers = tuple(self._workers)
        for worker in workers:
            worker.kill("closed")
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.gone() for worker in workers))
        if self._zygote is not None:
            await self._zygote.close(_CLOSE_TIMEOUT_S)
            self._zygote = None

    # --- inside -------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        while not self._closed and len(self._workers) < self._settings.workers:
            worker = WorkerProcess(self._frame_bytes(), self._settings.hardening, self._changed)
            self._workers.add(worker)
            task = asyncio.get_running_loop().create_task(self._start(worker))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start(self, worker: WorkerProcess) -> None:
        try:
            await worker.start(self._zygote_process())
        except asyncio.CancelledError:
            self._workers.discard(worker)
            raise
        except HardeningUnavailable as error:
            self._workers.discard(worker)
            self._fail_waiters(HardeningUnavailable, str(error))
        except WorkerStartFailed as error:
            self._workers.discard(worker)
            self._failures += 1
            if self._failures < _START_ATTEMPTS:
                self._grow()
            else:
                self._failures = 0
                self._fail_waiters(WorkerStartFailed, str(error))
        else:
            self._failures = 0

    def _zygote_process(self) -> Zygote:
        if self._zygote is None:
            self._zygote = Zygote(self._setup(), self._zygote_lost)
        return self._zygote

    def _zygote_lost(self, reason: str) -> None:
        self._zygote = None

    def _changed(self, worker: WorkerProcess) -> None:
        if worker.state is WorkerState.IDLE:
            self._hand_out(worker)
        elif worker.state is WorkerState.DEAD:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)
            # One that died while it started is counted by whoever started it.
            if worker.started:
                self._grow()

    def _hand_out(self, worker: WorkerProcess) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(worker)
                return
        self._idle.append(worker)

    def _fail_waiters(self, kind: type[ExecutorError], message: str) -> None:
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(kind(message))

    def _frame_bytes(self) -> int:
        limits = self._settings.limits
        largest = max(
            limits.argument_bytes, limits.result_bytes, limits.tool_result_bytes, limits.log_bytes, limits.program_bytes
        )
        return largest + _FRAME_SLACK

    def _setup(self) -> wire.Setup:
        memory = self._settings.limits.memory_mb
        return wire.Setup(
            v8_flags=[
                "--single-threaded",
                "--disallow-code-generation-from-strings",
                # V8 aborts at this size. The limit proper is set on each isolate and ends a run gracefully, if V8 has
                # room above it.
                f"--max-heap-size={2 * memory}",
            ],
            hardening=self._settings.hardening,
            data_headroom_bytes=_DATA_HEADROOM + 2 * memory * MIB,
            memory_bytes=memory * MIB,
            max_frame_bytes=self._frame_bytes(),
            seccomp_action=self._settings.seccomp_action,
        )
