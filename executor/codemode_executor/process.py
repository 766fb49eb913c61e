"""A worker process as the supervisor sees it: its socket, its state, its end."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from enum import Enum
from typing import Protocol, cast

import msgspec

from . import jail
from .contract import EngineReport
from .errors import ExecutorError, HardeningUnavailable, WorkerStartFailed
from .usage import resident_bytes
from .wire import messages as wire
from .wire.framing import FrameDecoder, FrameTooLarge, frame_prefix
from .wire.pieces import PieceWriter
from .zygote import Exit, Forked, Zygote

_READY_TIMEOUT_S = 30.0
_EXIT_REPORT_TIMEOUT_S = 2.0
#: After its outcome, a worker has this long to free the isolate and make a fresh one.
_IDLE_TIMEOUT_S = 2.0
#: A worker that keeps this much more than it had when it was new is replaced.
# A reader that has seen a long program keeps some 20 MiB, a transpiler 11.
_FAT_BYTES = 48 * 1024 * 1024
_COALESCE_BYTES = 1024 * 1024


class WorkerState(Enum):
    """``FINISHING``: the outcome is there, the next isolate is not yet. ``LOST``: the socket is closed, the process
    not yet reaped."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    FINISHING = "finishing"
    LOST = "lost"
    DEAD = "dead"


class RunHandler(Protocol):
    """What a worker tells the run that it carries out."""

    id: int

    def on_accepted(self) -> None: ...
    def on_calls(self, calls: list[wire.Call]) -> None: ...
    def on_cancel_call(self, call: int) -> None: ...
    def on_logs(self, lines: list[tuple[int, str]]) -> None: ...
    def on_outcome(self, outcome: wire.Outcome) -> None: ...
    def on_invoked(self, answer: wire.Invoked | wire.InvokeFailed) -> None: ...
    def on_closed(self) -> bool: ...
    def on_lost(self, exit: Exit) -> None: ...


class WorkerProcess(asyncio.Protocol):
    """Args:
    max_frame_bytes: largest message accepted from it.
    policy: of the jail. What it requires is looked at from outside, too.
    on_change: called whenever the worker becomes idle or dead.
    """

    def __init__(
        self, max_frame_bytes: int, policy: jail.JailPolicy, on_change: Callable[[WorkerProcess], None]
    ) -> None:
        self.state = WorkerState.STARTING
        self.runs = 0
        self.baseline = 0
        self.idle_since = 0.0
        self.started = False
        self.stop_reason = ""
        self._distrusted = False
        self._born_bytes = 0
        self._policy = policy
        self._on_change = on_change
        self._frames = FrameDecoder(max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[wire.Ready] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._sock: socket.socket | None = None
        self._forked: Forked | None = None
        self._exited: asyncio.Future[Exit] | None = None
        self._run: RunHandler | None = None
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._writer: PieceWriter | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._lost_task: asyncio.Task[None] | None = None
        self._dead = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def pid(self) -> int:
        """Process id; 0 before it exists."""
        return self._forked.pid if self._forked else 0

    async def start(self, zygote: Zygote) -> None:
        """Fork, and wait until the worker has proved its jail and made its first isolate.

        Raises:
            WorkerStartFailed: it could not, with the reason.
            HardeningUnavailable: a required layer of the jail is missing.
        """
        ours, theirs = socket.socketpair()
        self._sock = ours
        try:
            self._forked, self._exited = await zygote.fork(theirs)
        except BaseException:
            ours.close()
            raise
        try:
            await self._loop.create_unix_connection(lambda: self, sock=ours)
            self._loop.add_reader(self._forked.pidfd, self._process_ended)
            # Not `wait_for`: in Python 3.11 it may swallow a cancellation.
            async with asyncio.timeout(_READY_TIMEOUT_S):
                ready = await asyncio.shield(self._ready)
            self._check_sealed(ready)
            self.baseline = self._born_bytes = self._born_with()
        except BaseException as error:
            self.kill()
            if self._transport is None:
                ours.close()
                self._forked.close()
            await self.gone()
            if isinstance(error, TimeoutError):
                raise WorkerStartFailed(f"a worker was not ready within {_READY_TIMEOUT_S:g} s") from None
            raise
        self.started = True
        self._set(WorkerState.IDLE)

    def _check_sealed(self, ready: wire.Ready) -> None:
        """What the worker says of itself is not enough: look at its threads from outside."""
        report = jail.JailReport(self._policy.hardening, ready.jail.layers)
        try:
            process = jail.inspect_process(self.pid)
            jail.require_sealed(jail.inspect(self.pid), report, policy=self._policy, process=process)
        except (jail.JailError, OSError) as error:
            if self.ended:
                raise WorkerStartFailed("a worker ended while it was looked at") from error
            raise HardeningUnavailable(str(error)) from error

    def _born_with(self) -> int:
        """Resident memory of a new worker. What cannot be read now could not be watched later."""
        resident = resident_bytes(self.pid)
        if resident is not None:
            return resident
        if self.ended:
            raise WorkerStartFailed("a worker ended while it was looked at")
        raise HardeningUnavailable(
            f"the memory of workers cannot be watched: /proc/{self.pid}/statm cannot be read; mount /proc so that this"
            " process can read it of others"
        )

    @property
    def ended(self) -> bool:
        """The process is gone, or was never there."""
        return self._forked is None or self._forked.ended

    def report(self) -> EngineReport:
        """What this worker is made of. The worker must have been ready once."""
        ready = self._ready.result()
        return EngineReport(
            engine=ready.engine,
            v8=ready.v8,
            v8_sandbox=ready.v8_sandbox,
            jail=ready.jail,
            probes=ready.probes,
            threads=jail.inspect(self.pid),
            without_snapshots=ready.without_snapshots,
        )

    # --- a run --------------------------------------------------------------------------------------------------------

    def begin(self, run: RunHandler, message: wire.Run) -> None:
        """Hand a run to the idle worker. If it has died since it was handed out, the run hears of that."""
        if self.state in (WorkerState.LOST, WorkerState.DEAD):
            self._loop.call_soon(run.on_lost, Exit(None))
            return
        self.state = WorkerState.BUSY
        self._run = run
        self.send(message, held=True)
        self.flush()

    def send(self, message: wire.ToWorker, *, held: bool = False) -> None:
        """Send a message; nothing happens if the worker is gone.

        Args:
            message: to be sent at the end of this turn of the event loop.
            held: whoever sends it calls ``flush`` in this turn.
        """
        head, tail = wire.encode_parts(message)
        frame = frame_prefix(len(head) + len(tail)) + head
        self._outgoing.append(frame)
        self._outgoing_bytes += len(frame)
        if tail:
            self.flush()
            self._write(tail)
        elif self._outgoing_bytes > _COALESCE_BYTES:
            self.flush()
        elif len(self._outgoing) == 1 and not held:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """What was sent in one turn of the loop leaves in one write: the worker then delivers it in one."""
        outgoing, self._outgoing, self._outgoing_bytes = self._outgoing, [], 0
        if outgoing:
            self._write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    def _write(self, data: bytes) -> None:
        if self._writer is None or self.state is WorkerState.DEAD:
            return
        self._writer.write(data)
        if not self._writer.is_idle:
            self._writable.clear()

    @property
    def is_writable(self) -> bool:
        """The worker is not slow to read."""
        return self._writable.is_set()

    async def writable(self) -> None:
        """Wait while the worker is slow to read. Of many that wait, each looks again after the one before has sent."""
        while not self._writable.is_set():
            await self._writable.wait()

    def pause(self) -> None:
        """Read nothing more from the worker until ``resume``: its program then waits."""
        if self._transport is not None and not self._transport.is_closing() and not self.ended:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Undo ``pause``."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # --- its end ------------------------------------------------------------------------------------------------------

    def kill(self, reason: str = "") -> None:
        """SIGKILL. What the worker has said before is still read. ``reason`` is for whoever asks why."""
        if reason and not self.stop_reason:
            self.stop_reason = reason
        if self._forked is not None:
            self._forked.kill()
        self.resume()

    def breach(self, error: Exception) -> None:
        """The worker broke the protocol: nothing that it has said or will say counts any more."""
        self._distrusted = True
        self.kill(f"the worker broke the protocol: {error}")
        if self._transport is not None:
            self._transport.abort()

    async def gone(self) -> None:
        """Wait until the process is reaped and everybody who cares has been told."""
        if self._transport is not None:
            await self._dead.wait()

    def abandon(self) -> None:
        """Kill the process without an event loop."""
        if self._forked is not None and self.state is not WorkerState.DEAD:
            self._forked.kill()
            self._forked.close()
            self.state = WorkerState.DEAD
        if self._sock is not None:
            self._sock.close()

    def forget(self) -> None:
        """In a forked child: close what was inherited; the process belongs to the parent."""
        if self._forked is not None and self.state is not WorkerState.DEAD:
            self._forked.close()
        self.state = WorkerState.DEAD
        if self._sock is not None:
            self._sock.close()

    # --- asyncio.Protocol ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._writer = PieceWriter(self._transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._handle(wire.decode_to_supervisor(frame))
                if self._distrusted:
                    return
        except (FrameTooLarge, msgspec.MsgspecError, ProtocolError) as error:
            self.breach(error)

    def pause_writing(self) -> None:
        self._writable.clear()
        if self._writer is not None:
            self._writer.pause()

    def resume_writing(self) -> None:
        if self._writer is not None:
            self._writer.resume()
            if not self._writer.is_idle:
                return
        self._writable.set()

    def eof_received(self) -> None:
        """Whoever has nothing more to say reads nothing either: what was to be sent to it holds nobody up."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if self._writer is not None:
            self._writer.clear()
            self._writer = None
        if self._run is not None and self._run.on_closed():
            self._run = None
        if self.state is not WorkerState.DEAD:
            self._set(WorkerState.LOST)
        if self._lost_task is None:
            self._lost_task = self._loop.create_task(self._lost())

    def _process_ended(self) -> None:
        """The process is gone. Where no filter keeps it from forking, a child of it may hold the socket open.

        What was sent before is still read, then the socket is at its end; nobody writes to it any more.
        """
        self._stop_watching()
        if self._sock is not None and self._sock.fileno() >= 0:
            self._sock.shutdown(socket.SHUT_RD)
        self.resume()

    def _stop_watching(self) -> None:
        if self._forked is not None and self._forked.pidfd >= 0:
            self._loop.remove_reader(self._forked.pidfd)

    async def _lost(self) -> None:
        """The socket is closed: learn how the process ended, then tell."""
        exited = Exit(None)
        try:
            if self._forked is not None and self._exited is not None:
                exited = await self._exit_report(self._forked, self._exited)
        finally:  # also when the loop is being ended and cancels everything
            self._finish(exited)

    async def _exit_report(self, forked: Forked, exited: asyncio.Future[Exit]) -> Exit:
        """A worker closes its socket only by ending. One that closed it and lives on is not waited for."""
        for _ in range(2):
            try:
                async with asyncio.timeout(_EXIT_REPORT_TIMEOUT_S):
                    return await asyncio.shield(exited)
            except TimeoutError:
                forked.kill()
        return Exit(None)

    def _finish(self, exited: Exit) -> None:
        if self.state is WorkerState.DEAD:
            return
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if not self._ready.done():
            self._ready.set_exception(_start_failure(exited, self.stop_reason))
            self._ready.exception()  # nobody has to wait for it
        run, self._run = self._run, None
        self._set(WorkerState.DEAD)
        self._dead.set()
        self._stop_watching()
        if self._forked is not None:
            self._forked.kill()
            self._forked.close()
        if run is not None:
            run.on_lost(exited)

    # --- messages -----------------------------------------------------------------------------------------------------

    def _handle(self, message: wire.ToSupervisor) -> None:
        if isinstance(message, wire.Ready):
            if self._ready.done():
                raise ProtocolError("a second greeting")
            self._ready.set_result(message)
            return
        if isinstance(message, wire.StartFailed):
            if not self._ready.done():
                kind = HardeningUnavailable if message.hardening else WorkerStartFailed
                self._ready.set_exception(kind(message.message))
                self._ready.exception()
            return
        run = self._run
        if run is None or run.id != message.run:
            raise ProtocolError(f"a message for run {message.run}, which is not the current one")
        if isinstance(message, wire.Idle):
            self._idle(message)
        elif self.state is not WorkerState.BUSY:
            # A program goes on until its isolate is freed; what it says after its outcome has no effect.
            if isinstance(message, wire.Outcome):
                raise ProtocolError("a second outcome")
        elif isinstance(message, wire.Accepted):
            run.on_accepted()
        elif isinstance(message, wire.Calls):
            if not message.calls:
                raise ProtocolError("a message without calls")
            run.on_calls(message.calls)
        elif isinstance(message, wire.CancelCall):
            run.on_cancel_call(message.call)
        elif isinstance(message, wire.Logs):
            if not message.lines:
                raise ProtocolError("a message without log lines")
            run.on_logs(message.lines)
        elif isinstance(message, (wire.Invoked, wire.InvokeFailed)):
            run.on_invoked(message)
        elif message.retained:
            run.on_outcome(message)  # the run goes on
        else:
            self.state = WorkerState.FINISHING
            self._idle_timer = self._loop.call_later(_IDLE_TIMEOUT_S, self.kill, "the worker did not free its isolate")
            run.on_outcome(message)

    def _idle(self, message: wire.Idle) -> None:
        if self.state is not WorkerState.FINISHING:
            raise ProtocolError("idle without an outcome")
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        self._run = None
        if message.retire:
            self.kill("retired")
        else:
            self._weigh()

    def _weigh(self) -> None:
        """What the last run left is charged to nobody; what is too much of it ends the worker."""
        resident = resident_bytes(self.pid) or self.baseline
        if resident - self._born_bytes > _FAT_BYTES:
            self.kill("retired: it kept memory")
            return
        self.baseline = max(self._born_bytes, resident)
        self._set(WorkerState.IDLE)

    def _set(self, state: WorkerState) -> None:
        self.state = state
        self.idle_since = time.monotonic()
        self._on_change(self)


class ProtocolError(Exception):
    """A worker said what it may not say."""


def _start_failure(exited: Exit, reason: str) -> ExecutorError:
    ended = f"a worker ended while it started ({describe_exit(exited)})"
    if reason:
        ended = f"{ended}: {reason}"
    return WorkerStartFailed(f"{ended}: {exited.stderr.strip()}" if exited.stderr.strip() else ended)


def describe_exit(exited: Exit) -> str:
    """Words for how a process ended."""
    status = exited.status
    if status is None:
        return "it is not known how"
    return f"signal {-status}" if status < 0 else f"exit status {status}"
