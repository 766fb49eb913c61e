"""The WebSocket of one connection, and what the library leaves to bound: connections before their opening, bytes that
nobody has read, answers to pings that nobody reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.protocol import Event
from websockets.server import ServerProtocol

from ..limits import MIB
from .accounts import Account
from .protocol import CLOSE_FLOODED, Violation
from .session import Lost

#: Beyond the one frame that is being sent: answers to pings.
_UNSENT_BYTES = 1 * MIB
_CLOSE_S = 2.0


class Flooded(Violation):
    """The token's clients have more frames under way than the daemon buffers."""

    code = CLOSE_FLOODED


class Crowd:
    """Every socket that is connected. Those whose opening request has not come are bounded: the oldest one goes.

    Args:
        most_unopened: sockets that may be without a request. One that sends its own at once is not touched by others
            that send none.
    """

    def __init__(self, most_unopened: int) -> None:
        self._most_unopened = most_unopened
        self._unopened: dict[Socket, None] = {}
        self._open: set[Socket] = set()

    def enter(self, socket: Socket) -> None:
        """A client has connected."""
        self._unopened[socket] = None
        if len(self._unopened) > self._most_unopened:
            oldest = next(iter(self._unopened))
            self.leave(oldest)
            oldest.transport.abort()

    def open(self, socket: Socket) -> None:
        """Its request was good."""
        if self._unopened.pop(socket, self) is None:
            self._open.add(socket)

    def leave(self, socket: Socket) -> None:
        """It is not connected any more."""
        self._unopened.pop(socket, None)
        self._open.discard(socket)

    def abort(self) -> None:
        """Cut all of them."""
        for socket in (*self._unopened, *self._open):
            socket.transport.abort()


class Socket(ServerConnection):
    """A WebSocket that knows whose it is, and counts what it holds.

    Attributes:
        account: whose it is, once the opening request was let in.
        flooded: why it was cut, if it was.
        binary: a binary frame has come.
        sending: size of the frame that is being sent.
    """

    account: Account | None = None
    crowd: Crowd
    flooded: str = ""
    binary: bool = False
    sending: int = 0
    max_buffered_bytes: int = 0
    _queued: int = 0  # of frames that are complete, and wait
    _partial: int = 0  # of the frame that is coming in; at most one read too much

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self.crowd.enter(self)

    def let_in(self, account: Account) -> None:
        """The opening request was good."""
        self.account = account
        self.crowd.open(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come, of any part of a frame."""
        self._count(partial=len(data))
        super().data_received(data)
        account = self.account
        if account is not None and account.buffered > self.max_buffered_bytes:
            self.flooded = (
                f"the clients of this token have {account.buffered} bytes under way that the daemon has not read;"
                f" the limit is {self.max_buffered_bytes} (max_buffered_bytes)"
            )
            self.transport.abort()
        elif self.transport.get_write_buffer_size() > self.sending + _UNSENT_BYTES:
            self.flooded = "the client sends pings and does not read their answers"
            self.transport.abort()

    def process_event(self, event: Event) -> None:
        """A frame is complete, or the opening request."""
        if isinstance(event, Frame):
            self.binary = self.binary or event.opcode is Opcode.BINARY
            is_data = event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)
            self._count(queued=len(event.data) if is_data else 0, partial=-self._partial)
        super().process_event(event)

    def taken(self, size: int) -> None:
        """A message was read."""
        self._count(queued=-size)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self.crowd.leave(self)
        self._count(queued=-self._queued, partial=-self._partial)
        super().connection_lost(exc)

    def _count(self, *, queued: int = 0, partial: int = 0) -> None:
        if self.account is not None:
            self._queued += queued
            self._partial += partial
            self.account.buffered += queued + partial


class SocketTransport:
    """A ``Socket`` as a session wants it."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    async def receive(self) -> bytes:
        """The next frame.

        Raises:
            Lost: the connection is closed.
            Violation: a binary message, or too much under way.
        """
        try:
            frame = await self._socket.recv(decode=False)
        except ConnectionClosed as error:
            if self._socket.flooded:
                raise Flooded(self._socket.flooded) from error
            raise Lost(_how(error)) from error
        self._socket.taken(len(frame))
        if self._socket.binary:
            raise Violation("a binary message: all messages are text")
        return frame

    async def send(self, frame: bytes) -> None:
        """Hand a frame over.

        Raises:
            Lost: the connection is closed.
        """
        self._socket.sending = len(frame)
        try:
            await self._socket.send(frame, text=True)
        except ConnectionClosed as error:
            raise Lost(_how(error)) from error
        self._socket.sending = 0

    async def close(self, code: int, reason: str) -> None:
        """Close it in order; cut it if the client does not take part."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close(code, reason)
        except TimeoutError:
            self._socket.transport.abort()

    def abort(self) -> None:
        """Cut it."""
        self._socket.transport.abort()


def _how(error: ConnectionClosed) -> str:
    """How a connection ended, in codes: a reason is the client's text."""
    if error.rcvd is None and error.sent is None:
        return "the socket has ended"
    first = error.rcvd if error.sent is None or error.rcvd_then_sent else error.sent
    return (
        f"{'closed by the client' if first is error.rcvd else 'closed by the daemon'}: {first.code if first else '?'}"
    )


def socket_factory(max_buffered_bytes: int, crowd: Crowd) -> Callable[..., Socket]:
    """Makes the sockets of one server.

    Args:
        max_buffered_bytes: of one token, unread.
        crowd: where each is found for as long as it is connected.
    """

    def make(protocol: ServerProtocol, server: Server, **options: Any) -> Socket:
        made = Socket(protocol, server, **options)
        made.max_buffered_bytes = max_buffered_bytes
        made.crowd = crowd
        return made

    return make
