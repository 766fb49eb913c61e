"""One connection's life: what its client sends is acted on, in its order; what it is to get leaves."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from .. import __version__
from ..limits import MIB
from ..wire import bridge as wire
from .accounts import Account
from .outbox import Outbox, SlowReader
from .protocol import CLOSE_GOING_AWAY, CLOSE_INTERNAL, CLOSE_SLOW, ServerChannel, State, Violation
from .runs import RemoteRun
from .service import Service

#: Bytes of answers that the engine has not taken, before the client is not read any more.
_HELD_BYTES = 64 * MIB
#: Messages that wait to be read, before the client may ask for no more of them.
_BACKLOG = 10_000
_REASON_BYTES = 120

_log = logging.getLogger("codemode_executor.daemon")


class Lost(Exception):
    """The connection is closed, or the socket has ended."""


class Transport(Protocol):
    """A connection that carries frames."""

    async def receive(self) -> bytes:
        """The next frame. Raises ``Lost``, or ``Violation`` for one that is no text."""
        ...

    async def send(self, frame: bytes) -> None:
        """Hand a frame over; returns when most of it is gone. Raises ``Lost``."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Close it in order, within a short time."""
        ...

    def abort(self) -> None:
        """Cut it."""
        ...


class Session:
    """Args:
    service: what all connections share.
    account: whose it is.
    transport: the connection.
    number: of the connection, for the log.
    max_message_bytes, heartbeat_s: told to the client.
    send_timeout_s: how long the client may take for a frame.

    Attributes:
        runs: that it has sent.
    """

    def __init__(
        self,
        service: Service,
        account: Account,
        transport: Transport,
        *,
        number: int,
        max_message_bytes: int,
        heartbeat_s: float,
        send_timeout_s: float,
    ) -> None:
        self.number = number
        self.account = account
        self.runs = 0
        self._service = service
        self._transport = transport
        self._channel = ServerChannel()
        self._outbox = Outbox(transport.send, send_timeout_s)
        self._run: RemoteRun | None = None
        self._draining = False
        self._close: tuple[int, str] | None = None
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held = 0
        self._room = asyncio.Event()
        self._room.set()
        self.put(
            wire.Hello(
                version=__version__,
                protocol=1,
                limits=service.limits,
                max_message_bytes=max_message_bytes,
                heartbeat_s=heartbeat_s,
                retained_idle_s=service.retained_idle_s,
            )
        )

    # --- for its runs -------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """What the connection does."""
        return self._channel.state

    def next_call(self) -> int:
        """Number of the next call."""
        return self._channel.next_call()

    def open_invocations(self) -> int:
        """Calls of functions that have not been answered."""
        return self._channel.open_invocations

    def put(self, message: wire.ToClient, payload: bytes = b"") -> None:
        """Send a message."""
        self._outbox.put(self._channel.send(message, payload))
        if self._draining and self._channel.state is State.IDLE:
            self._leave()

    # --- its life -----------------------------------------------------------------------------------------------------

    async def serve(self) -> str:
        """Serve the connection until it is closed, whoever closes it.

        Returns:
            Why it was closed, for the log.
        """
        reading = asyncio.create_task(self._read(), name=f"reader of connection {self.number}")
        writing = asyncio.create_task(self._outbox.run(), name=f"writer of connection {self.number}")
        try:
            ends = (self._failed, writing, reading)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return await self._closed_because(next((e for end in ends if end.done() and (e := end.exception())), None))
        finally:
            for task in (reading, writing, self._failed):
                task.cancel()
            if self._run is not None:
                self._run.abandon()
            await asyncio.gather(reading, writing, *self._tasks(), return_exceptions=True)

    def drain(self, drain_s: float) -> None:
        """Take no further run; close when the one that goes on is over."""
        if self._draining:
            return
        self._draining = True
        self.put(wire.Draining(drain_s=drain_s))

    def stop(self) -> None:
        """Close now."""
        self._draining = True
        if self._run is not None:
            self._run.abandon()
        self._leave()

    def _leave(self) -> None:
        self._close = (CLOSE_GOING_AWAY, "the daemon is about to leave")
        self._outbox.close()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [] if self._run is None else [self._run.task]

    def _run_ended(self, task: asyncio.Task[None]) -> None:
        """A run that ends without having told the client would leave it waiting."""
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _closed_because(self, failure: BaseException | None) -> str:
        match failure:
            case None if self._close is not None:
                await self._transport.close(*self._close)
                return "drained"
            case None | Lost():
                return str(failure or "closed")
            case SlowReader():
                # What would be said to the client waits behind what it does not read.
                self._transport.abort()
                return f"{CLOSE_SLOW}: {failure}"
            case Violation():
                await self._transport.close(failure.code, _reason(str(failure)))
                return f"{failure.code}: {failure}"
            case _:
                _log.error("connection %d failed", self.number, exc_info=failure)
                await self._transport.close(CLOSE_INTERNAL, "the daemon failed; its log says more")
                return f"{CLOSE_INTERNAL}: {type(failure).__name__}"

    async def _read(self) -> None:
        while True:
            await self._room.wait()
            frame = await self._transport.receive()
            for message, payload in self._channel.receive(frame):
                self._act(message, payload)

    def _act(self, message: wire.ToDaemon, payload: bytes) -> None:
        if isinstance(message, (wire.Ping, wire.Run)) and self._outbox.backlog > _BACKLOG:
            raise Violation(f"{self._outbox.backlog} messages wait to be read: read them before asking for more")
        match message:
            case wire.Ping():
                self.put(wire.Pong(n=message.n))
                return
            case wire.Run():
                self.runs += 1
                self._run = RemoteRun(self._service, self, message, payload)
                self._run.task.add_done_callback(self._run_ended)
                return
            case _:
                pass
        run = self._run
        if run is None:
            raise Violation("a message about a run, and there is none")
        match message:
            case wire.Answer() | wire.AnswerError():
                task = run.answer(message, payload)
                if task is not None:
                    self._hold(task, len(payload))
            case wire.Cancel():
                run.cancel()
            case wire.Invoke():
                run.invoke(message, payload)
            case wire.Release():
                run.release(message)

    def _hold(self, task: asyncio.Task[object], size: int) -> None:
        """Read no further while the engine has not taken what was read."""
        self._held += size
        if self._held > _HELD_BYTES:
            self._room.clear()
        task.add_done_callback(lambda _: self._let_go(size))

    def _let_go(self, size: int) -> None:
        self._held -= size
        if self._held <= _HELD_BYTES:
            self._room.set()


def _reason(text: str) -> str:
    """As much of a text as a close frame carries."""
    return text.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
