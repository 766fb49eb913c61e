"""One connection's life: what its client sends is acted on, in its order; what it is to get leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Protocol

from .. import __version__
from ..wire import bridge as wire
from .accounts import Account
from .outbox import Outbox, SlowReader
from .protocol import CLOSE_GOING_AWAY, CLOSE_INTERNAL, CLOSE_SLOW, ServerChannel, State, Violation
from .runs import RemoteRun
from .service import Service

#: Messages that wait to be read, before the client may ask for no more of them.
_BACKLOG = 10_000
_REASON_BYTES = 120
#: What brings messages for the client.
_ASKING = (wire.Ping, wire.Run, wire.Invoke)

_log = logging.getLogger("codemode_executor.daemon")


class Lost(Exception):
    """The connection is closed, or the socket has ended."""


class Transport(Protocol):
    """A connection that carries frames."""

    def open(self, receiver: Receiver) -> None:
        """Hand over every frame from now on, those that came before first."""
        ...

    @property
    def writable(self) -> bool:
        """Most of what was written has left."""
        ...

    def write(self, frame: bytes, tail: bytes = b"") -> None:
        """Hand a frame of these parts over. Does nothing once the connection has closed."""
        ...

    def hold(self) -> None:
        """Read nothing, and hand nothing over, until ``go_on``."""
        ...

    def go_on(self) -> None:
        """Undo ``hold``."""
        ...

    async def leave(self, code: int, reason: str) -> None:
        """Close it in order, within a short time."""
        ...

    def abort(self) -> None:
        """Cut it."""
        ...


class Receiver(Protocol):
    """Whoever has a transport. None of these may block or raise."""

    def on_frame(self, frame: bytes) -> None:
        """A frame has come."""
        ...

    def on_writable(self) -> None:
        """The transport is ``writable`` again."""
        ...

    def on_unheard(self) -> None:
        """Time for a heartbeat has passed, and part of it in ``hold``."""
        ...

    def on_lost(self, error: Exception) -> None:
        """Nothing more will come: ``Lost``, or the ``Violation`` that is the reason."""
        ...


class Session:
    """Args:
    service: what all connections share.
    account: whose it is.
    transport: the connection.
    number: of the connection, for the log.
    max_message_bytes, heartbeat_s: told to the client.
    send_timeout_s: how long the client may take for a frame.
    unsent_bytes: what may wait to be read by all clients of the account, before each of them is held.

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
        unsent_bytes: int,
    ) -> None:
        self.number = number
        self.account = account
        self.runs = 0
        self._service = service
        self._transport = transport
        self._channel = ServerChannel()
        self._outbox = Outbox(transport, send_timeout_s, self._fail, account, unsent_bytes, self._has_room)
        self._room: asyncio.Future[None] | None = None  # while more waits to be read than may
        self._run: RemoteRun | None = None
        self._draining = False
        self._close: tuple[int, str] | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._holding: set[asyncio.Future[object]] = set()
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

    def next_call(self) -> int:
        """Number of the next call."""
        return self._channel.next_call()

    def open_invocations(self) -> int:
        """Calls of functions that have not been answered."""
        return self._channel.open_invocations

    def put(self, message: wire.ToClient, payload: bytes = b"", *, form: bytes = b"", held: bool = False) -> None:
        """Send a message.

        Args:
            message: it.
            payload, form: its payload, and what stands before that.
            held: whoever sends it calls ``flush`` in the same turn of the event loop.
        """
        self._outbox.put(*self._channel.send(message, payload, form), held=held)
        if not held:
            self._hold_back()
        if self._draining and self._channel.state is State.IDLE:
            self._leave()

    def put_lazily(self, message: wire.ToClient) -> None:
        """Send a message that nobody waits for, with the next one."""
        self._outbox.put_lazily(self._channel.send(message)[0])

    def flush(self) -> None:
        """Send what waits."""
        self._outbox.flush()
        self._hold_back()

    def hold_until(self, room: Awaitable[object]) -> None:
        """Read no further frame until ``room`` settles."""
        if not self._holding:
            self._transport.hold()
        waiting = asyncio.ensure_future(room)
        self._holding.add(waiting)
        waiting.add_done_callback(self._let_go)

    # --- its life -----------------------------------------------------------------------------------------------------

    async def serve(self) -> str:
        """Serve the connection until it is closed, whoever closes it.

        Returns:
            Why it was closed, for the log.
        """
        try:
            self._transport.open(self)
            try:
                await self._ended
            except Exception as error:
                return await self._closed_because(error)
            return await self._closed_because(None)
        finally:
            self._outbox.stop()
            if self._run is not None:
                self._run.abandon()
            for waiting in self._holding:
                waiting.cancel()
            await asyncio.gather(*self._holding, *self._tasks(), return_exceptions=True)

    # --- its transport (Receiver) -------------------------------------------------------------------------------------

    def on_frame(self, frame: bytes) -> None:
        """A frame has come."""
        if self._ended.done():
            return
        try:
            for message, payload in self._channel.receive(frame):
                self._act(message, payload)
            if self._run is not None:
                self._run.answered()
        except Exception as error:
            self._fail(error)

    def on_writable(self) -> None:
        """The client has taken most of what was sent."""
        self._outbox.on_writable()

    def on_unheard(self) -> None:
        """A client whose pings are not read must not think that nobody is there."""
        if not self._ended.done():
            self.put(wire.Pong(n=0))

    def on_lost(self, error: Exception) -> None:
        """The connection has ended."""
        self._fail(error)

    # ------------------------------------------------------------------------------------------------------------------

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

    def _hold_back(self) -> None:
        """While the client does not read what there is, nothing adds to it: neither its program nor itself."""
        if not self._outbox.is_full():
            return
        if self._room is None:
            self._room = asyncio.get_running_loop().create_future()
        if self._run is not None:
            self._run.hold()

    def _has_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)
        if self._run is not None:
            self._run.go_on()

    def _leave(self) -> None:
        self._close = (CLOSE_GOING_AWAY, "the daemon is about to leave")
        self._outbox.when_empty(self._left)

    def _left(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [] if self._run is None else [self._run.task]

    def _run_ended(self, task: asyncio.Task[None]) -> None:
        """A run that ends without having told the client would leave it waiting."""
        if self._run is not None and self._run.task is task:
            self._run = None  # a client that asks for nothing more need not keep what it asked for
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)

    async def _closed_because(self, failure: BaseException | None) -> str:
        match failure:
            case None if self._close is not None:
                await self._transport.leave(*self._close)
                return "drained"
            case None | Lost():
                return str(failure or "closed")
            case SlowReader():
                # What would be said to the client waits behind what it does not read.
                self._transport.abort()
                return f"{CLOSE_SLOW}: {failure}"
            case Violation():
                await self._transport.leave(failure.code, _reason(str(failure)))
                return f"{failure.code}: {failure}"
            case _:
                _log.error("connection %d failed", self.number, exc_info=failure)
                await self._transport.leave(CLOSE_INTERNAL, "the daemon failed; its log says more")
                return f"{CLOSE_INTERNAL}: {type(failure).__name__}"

    def _act(self, message: wire.ToDaemon, payload: bytes) -> None:
        if isinstance(message, (wire.Ping, wire.Run)) and self._outbox.backlog > _BACKLOG:
            raise Violation(f"{self._outbox.backlog} messages wait to be read: read them before asking for more")
        if self._room is not None and self._room not in self._holding and isinstance(message, _ASKING):
            self.hold_until(self._room)
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
                run.answer(message, payload)
            case wire.Cancel():
                run.cancel()
            case wire.Invoke():
                run.invoke(message, payload)
            case wire.Release():
                run.release(message)

    def _let_go(self, waiting: asyncio.Future[object]) -> None:
        self._holding.discard(waiting)
        error = None if waiting.cancelled() else waiting.exception()
        if error is not None:
            self._fail(error)
        elif not self._holding and not self._ended.done():
            self._transport.go_on()

    def _fail(self, error: BaseException) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)
            self._ended.exception()  # ``serve`` need not be there yet, or any more


def _reason(text: str) -> str:
    """As much of a text as a close frame carries."""
    return text.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
