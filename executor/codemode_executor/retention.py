"""A run after its answer, where that holds functions: the host's calls of them, and the run's end."""

from __future__ import annotations

import asyncio
from typing import Protocol

from .errors import HandleCallFailed, HandleDisposed
from .limits import GRACE_S, Limits
from .process import ProtocolError, WorkerProcess
from .retained import Invocations
from .wire import messages as wire

_FAILURE_CHARS = 256 * 1024


class Program(Protocol):
    """What is retained: the run."""

    id: int
    bytes_in: int
    bytes_out: int

    def cancel(self) -> None: ...
    def on_overdue(self) -> None: ...
    async def over(self) -> None: ...


class Retention:
    """What handles need of their run (``retained.RetainedRun``).

    Args:
        program: the run.
        worker: its worker.
        limits: of the run; they hold for what crosses.
        idle_s: how long it is kept without a call, in seconds.
    """

    def __init__(self, program: Program, worker: WorkerProcess, limits: Limits, idle_s: float) -> None:
        self._program = program
        self._worker = worker
        self._limits = limits
        self._idle_s = idle_s
        self._disposed = ""
        self._invocations = Invocations(asyncio.get_running_loop(), idle_s, self._idle)

    @property
    def disposed(self) -> str:
        """Why handles are dead; empty while they are not."""
        return self._disposed

    def argument_bytes(self) -> int:
        """Bound of a call's arguments."""
        return self._limits.argument_bytes

    async def invoke(self, handle: int, args: bytes, timeout_s: float | None) -> tuple[int, bytes]:
        """Call a function of the program, when its worker reads: ``(form, value)`` of its answer.

        Raises:
            HandleCallFailed: it threw.
            HandleDisposed: the run is over, or ends before it answers.
        """
        limit_s, number, answer = self._begin(args, timeout_s)
        await self._worker.writable()
        self._worker.send(wire.Invoke(self._program.id, number, handle, args, limit_s))
        return await answer

    def invoke_now(self, handle: int, args: bytes, timeout_s: float) -> asyncio.Future[tuple[int, bytes]]:
        """As ``invoke``, sent at once: whoever calls it heeds ``HostRun.room`` before the next one.

        Raises:
            HandleDisposed: the run is over.
        """
        limit_s, number, answer = self._begin(args, timeout_s)
        self._worker.send(wire.Invoke(self._program.id, number, handle, args, limit_s))
        return answer

    def _begin(self, args: bytes, timeout_s: float | None) -> tuple[float, int, asyncio.Future[tuple[int, bytes]]]:
        if self._disposed:
            raise HandleDisposed(self._disposed)
        limit_s = self._limits.timeout_s if timeout_s is None else timeout_s
        self._program.bytes_in += len(args)
        return limit_s, *self._invocations.begin(limit_s + GRACE_S, self._program.on_overdue)

    def release(self, handle: int) -> None:
        """A function will not be called any more."""
        self.release_all([handle])

    def release_all(self, handles: list[int]) -> None:
        """These functions will not be called any more."""
        if not self._disposed:
            self._worker.send(wire.Release(self._program.id, handles))

    def dispose(self, reason: str = "the handle was disposed") -> None:
        """End the run. Once is enough."""
        if not self._disposed:
            self.end(reason)
            self._program.cancel()

    async def over(self) -> None:
        """Wait until nothing of the program runs any more."""
        await self._program.over()

    def on_invoked(self, answer: wire.Invoked | wire.InvokeFailed) -> None:
        """A function of the program has answered.

        Raises:
            ProtocolError: the answer is beyond its bounds, or to no call.
        """
        settled: tuple[int, bytes] | Exception
        if isinstance(answer, wire.Invoked):
            if len(answer.value) > self._limits.result_bytes:
                raise ProtocolError("an answer beyond its bounds")
            self._program.bytes_out += len(answer.value)
            settled = (answer.form, answer.value)
        else:
            if len(answer.name) + len(answer.message) + len(answer.stack) > _FAILURE_CHARS:
                raise ProtocolError("an answer beyond its bounds")
            text = answer.message or "the function failed without a message"
            settled = HandleCallFailed(text, answer.name, answer.stack)
        if not self._disposed and not self._invocations.settle(answer.invocation, settled):
            raise ProtocolError(f"an answer to call {answer.invocation}, which was not made")

    def end(self, reason: str) -> None:
        """Handles are dead from now on, if they are not yet."""
        self._disposed = self._disposed or reason
        self._invocations.end(self._disposed)

    def _idle(self) -> None:
        self.dispose(f"the handle was disposed: nothing was called for {self._idle_s:g} s")
