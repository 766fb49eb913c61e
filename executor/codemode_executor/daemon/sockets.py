"""The WebSocket of one connection, and what the library leaves to bound: connections before their opening, bytes that
nobody has read, answers to pings that nobody reads.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from websockets.asyncio.server import Server, ServerConnection
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Event, State
from websockets.server import ServerProtocol

from ..limits import MIB
from ..wire.bridge import JOIN_BYTES
from ..wire.pieces import PIECE_BYTES, PieceWriter
from .accounts import Account
from .frames import FrameReader
from .protocol import CLOSE_FLOODED, CLOSE_TOO_LARGE, Violation
from .session import Lost, Receiver

#: A piece of a long frame, one of short messages, and answers to pings.
_UNSENT_BYTES = PIECE_BYTES + JOIN_BYTES + 1 * MIB
#: To pings, behind a long frame.
_UNSENT_ANSWERS = 10_000
_CLOSE_S = 2.0
_MOST_PIECES = 4096
_END_OF_REQUEST = b"\r\n\r\n"
_DATA = (Opcode.TEXT, Opcode.CONT, Opcode.BINARY)


class Flooded(Violation):
    """The token's clients have more frames under way than the daemon buffers."""

    code = CLOSE_FLOODED


class TooManyFragments(Violation):
    """A message comes in more frames than anybody needs."""

    code = CLOSE_TOO_LARGE


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
    """A WebSocket that knows whose it is, counts what it holds, and hands frames over as they come.

    The library's own ``recv`` and ``send`` are not used: each wakes a task for every frame.

    Attributes:
        account: whose it is, once the opening request was let in.
    """

    account: Account | None = None
    crowd: Crowd
    max_buffered_bytes: int = 0
    max_message_bytes: int = 0
    _writer: PieceWriter
    _receiver: Receiver | None = None
    _failure: Violation | None = None
    _held: bool = False
    _was_held: bool = False  # since the last beat
    _partial: int = 0  # bytes of the frame that is coming in; at most one read too much
    _queued: int = 0  # of frames that are complete, and wait
    _counted: int = 0  # of both, in the account

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._frames: deque[bytes] = deque()
        self._pieces: list[bytes] = []  # of a message that comes in several frames
        self._reader: FrameReader | None = None

    # --- whoever serves the connection (Transport) --------------------------------------------------------------------

    def open(self, receiver: Receiver) -> None:
        """Hand over every frame from now on, those that came before first."""
        self._receiver = receiver
        if self._failure is not None or self.protocol.state is not State.OPEN:
            receiver.on_lost(self._reason())
        self._hand_over()

    @property
    def writable(self) -> bool:
        """Most of what was written has left."""
        return self._writer.is_idle

    def write(self, frame: bytes, tail: bytes = b"") -> None:
        """Send a text frame of these parts."""
        if self.protocol.state is not State.OPEN or self.transport.is_closing():
            return
        self._writer.write(_frame_head(len(frame) + len(tail)) + frame)
        if tail:
            self._writer.write(tail)

    def hold(self) -> None:
        """Read nothing until ``go_on``."""
        self._held = self._was_held = True
        self._pause()

    def go_on(self) -> None:
        """Undo ``hold``."""
        self._held = False
        self._hand_over()

    async def leave(self, code: int, reason: str) -> None:
        """Close it in order; cut it if the client does not take part."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self.close(code, reason)
        except TimeoutError:
            self.transport.abort()

    def abort(self) -> None:
        """Cut it."""
        self.transport.abort()

    # --- the server ---------------------------------------------------------------------------------------------------

    def let_in(self, account: Account) -> None:
        """The opening request was good."""
        self.account = account
        self.crowd.open(self)

    # --- asyncio.Protocol ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._writer = PieceWriter(self.transport)
        self.crowd.enter(self)

    def data_received(self, data: bytes) -> None:
        """Bytes have come, of any part of a frame."""
        self._partial += len(data)
        if self._reader is None or self.protocol.state is State.CONNECTING:
            self._receive_unopened(data)
        else:
            for is_text, piece in self._reader.feed(data):
                if not is_text:
                    super().data_received(piece)
                elif self.protocol.state is State.OPEN:
                    self._partial = 0
                    self._hand_on(piece)
        account = self._account_for(self._partial + self._queued)
        if account is not None and account.buffered > self.max_buffered_bytes:
            self._flooded(
                f"the clients of this token have {account.buffered} bytes under way that the daemon has not read;"
                f" the limit is {self.max_buffered_bytes} (max_buffered_bytes)"
            )
        elif self.protocol.close_expected():
            self._lost()  # whether or not the client takes part in it
        elif self.paused and (
            self.transport.get_write_buffer_size() > _UNSENT_BYTES or len(self.protocol.writes) > _UNSENT_ANSWERS
        ):
            self._flooded("the client sends pings and does not read their answers")

    def process_event(self, event: Event) -> None:
        """A frame is complete, or the opening request."""
        self._partial = 0
        if isinstance(event, Frame) and event.opcode in _DATA:
            self._take(event)
        else:
            super().process_event(event)

    def pause_writing(self) -> None:
        """The client is slow to read."""
        super().pause_writing()
        self._writer.pause()

    def resume_writing(self) -> None:
        """The client has read most of what was sent."""
        super().resume_writing()
        self._writer.resume()
        if self._writer.is_idle:
            self.send_data()
            if self._receiver is not None:
                self._receiver.on_writable()

    async def keepalive(self) -> None:
        """As the library's, for as long as the client is read: it cannot be heard otherwise, nor can its pings."""
        interval, patience = cast("float", self.ping_interval), cast("float", self.ping_timeout)
        answer: asyncio.Future[float] | None = None
        asked = 0.0
        while True:
            await asyncio.sleep(interval)
            was_held, self._was_held = self._was_held, self._held
            if was_held:
                answer = None
                if self._receiver is not None:
                    self._receiver.on_unheard()
            elif answer is None or answer.done():
                asked = self.loop.time()
                answer = cast("asyncio.Future[float]", await self.ping())
            elif self.loop.time() - asked >= patience:
                break
        async with self.send_context():
            self.protocol.fail(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")

    def send_data(self) -> None:
        """What the library has to say is said between frames."""
        if not self._writer.has_more:
            super().send_data()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self.crowd.leave(self)
        self._frames.clear()
        self._pieces.clear()
        self._writer.clear()
        self._account_for(0)
        super().connection_lost(exc)
        self._lost()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        """A data frame has come."""
        if self._failure is not None:
            return
        if frame.opcode is Opcode.BINARY:
            self._fail(Violation("a binary message: all messages are text"))
            return
        data = bytes(frame.data)
        if self._pieces or not frame.fin:
            self._pieces.append(data)
            if len(self._pieces) > _MOST_PIECES:
                self._fail(TooManyFragments(f"a message has more than {_MOST_PIECES} fragments"))
            elif frame.fin:
                data = b"".join(self._pieces)
                self._queued -= len(data)
                self._pieces.clear()
            if not frame.fin:
                self._queued += len(frame.data)
                return
        self._hand_on(data)

    def _hand_on(self, data: bytes) -> None:
        """A message is complete."""
        if self._failure is not None:
            return
        if self._receiver is not None and not self._held:
            self._receiver.on_frame(data)
            return
        self._frames.append(data)
        self._queued += len(data)
        self._pause()

    def _receive_unopened(self, data: bytes) -> None:
        """The opening request, or what follows it before its answer has left.

        ``FrameReader`` begins with a frame. A client that sends frames before it knows that it may has them read by the
        library, and all that come after too.
        """
        if self.request is None:
            super().data_received(data)
            if self.request is not None and data.endswith(_END_OF_REQUEST):
                self._reader = FrameReader(self.max_message_bytes)
        else:
            self._reader = None
            super().data_received(data)

    def _hand_over(self) -> None:
        receiver = self._receiver
        while receiver is not None and self._frames and not self._held:
            data = self._frames.popleft()
            self._queued -= len(data)
            receiver.on_frame(data)
        self._account_for(self._partial + self._queued)
        if not self._held and not self.transport.is_closing():
            self.transport.resume_reading()

    def _pause(self) -> None:
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def _account_for(self, held: int) -> Account | None:
        """What this connection holds is its account's."""
        account = self.account
        if account is not None:
            account.buffered += held - self._counted
            self._counted = held
        return account

    def _flooded(self, reason: str) -> None:
        self._fail(Flooded(reason))
        self.transport.abort()

    def _fail(self, failure: Violation) -> None:
        self._failure = failure
        self._frames.clear()
        self._lost()

    def _lost(self) -> None:
        if self._receiver is not None:
            self._receiver.on_lost(self._reason())

    def _reason(self) -> Exception:
        return self._failure or Lost(_how(self.protocol))


def _frame_head(size: int) -> bytes:
    """What stands before the text of a server's frame (RFC 6455, 5.2)."""
    if size < 126:
        return b"\x81%c" % size
    return struct.pack("!BBH", 0x81, 126, size) if size < 65536 else struct.pack("!BBQ", 0x81, 127, size)


def _how(protocol: ServerProtocol) -> str:
    """How a connection ended, in codes: a reason is the client's text."""
    received, sent = protocol.close_rcvd, protocol.close_sent
    if received is None and sent is None:
        return "the socket has ended"
    first = received if sent is None or protocol.close_rcvd_then_sent else sent
    return f"{'closed by the client' if first is received else 'closed by the daemon'}: {first.code if first else '?'}"


def socket_factory(max_buffered_bytes: int, max_message_bytes: int, crowd: Crowd) -> Callable[..., Socket]:
    """Makes the sockets of one server.

    Args:
        max_buffered_bytes: of one token, unread.
        max_message_bytes: of one message.
        crowd: where each is found for as long as it is connected.
    """

    def make(protocol: ServerProtocol, server: Server, **options: Any) -> Socket:
        made = Socket(protocol, server, **options)
        made.max_buffered_bytes = max_buffered_bytes
        made.max_message_bytes = max_message_bytes
        made.crowd = crowd
        return made

    return make
