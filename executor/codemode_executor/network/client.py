"""HTTP/1.1 over one connection: h11 speaks the protocol, this module moves the bytes and counts them.

One request at a time, and nothing is remembered between requests: no cookies, no credentials, no proxies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import h11

from .contract import MAX_HEADER_CHARACTERS, NULL_BODY, Header
from .decoding import Decoding
from .errors import OutboundFailed, OutboundRefused
from .origins import Target

#: Read and written at a time.
_SLICE = 16 * 1024
#: Pieces (chunks, as a rule) of one response. h11 takes about 10 µs for each, however small it is, and a server that
#: sends the smallest ones would have the event loop work for half a minute.
_MAX_PIECES = 100_000
#: Pieces after which the event loop's other work has its turn.
_PIECES_AT_A_TIME = 256
#: A connection that has waited for longer is not used again: the other end may be about to close it.
_MAX_IDLE_S = 4.0


@dataclass(frozen=True, slots=True)
class Meter:
    """What is told of every byte. Each may raise, which ends the exchange.

    Attributes:
        sent: bytes that are about to go out.
        received: bytes that came in.
        decoded: bytes that a body became by being decoded.
        max_response_bytes: of one response, as it comes in and decoded.
    """

    sent: Callable[[int], None]
    received: Callable[[int], None]
    decoded: Callable[[int], None]
    max_response_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came, its body decoded."""

    status: int
    reason: str
    headers: list[Header]
    body: bytes


class Lost(Exception):
    """The connection ended before any part of a response came."""


class Connection:
    """One connection to one origin."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._machine = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=MAX_HEADER_CHARACTERS)
        self.origin = target.origin
        self._reader = reader
        self._writer = writer
        self._idle_since = time.monotonic()
        self.used = False

    @property
    def reusable(self) -> bool:
        """It can be used for another request now."""
        return (
            self._machine.our_state is h11.IDLE
            and not self._reader.at_eof()
            and not self._writer.is_closing()
            and time.monotonic() - self._idle_since < _MAX_IDLE_S
        )

    async def spoke(self) -> bool:
        """While it waited, something came that nobody had asked for: it would be taken for the next answer."""
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def close(self) -> None:
        """At once: nothing that is still to be said matters to anybody."""
        self._writer.transport.abort()

    async def exchange(
        self, method: str, path: str, headers: Sequence[Header], body: bytes | None, meter: Meter
    ) -> Answer:
        """Send a request and read its response.

        Args:
            headers: with Host and, where there is a body, Content-Length.

        Raises:
            Lost: the connection ended before any part of a response came.
            OutboundFailed: what came is no response.
            OutboundRefused: the response is too large, or the meter says no.
        """
        self.used = True
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        head = self._machine.send(h11.Request(method=method, target=path, headers=raw)) or b""
        meter.sent(len(head) + len(body or b""))
        sender = asyncio.create_task(self._send(head, body or b""))
        intake = _Intake(self.origin, meter)
        try:
            answer = await self._receive(intake)
        except (ConnectionError, _Ended) as error:
            if not intake.begun:
                raise Lost from error
            raise self._cut() from error
        except h11.RemoteProtocolError as error:
            if intake.ended:
                raise self._cut() from error
            raise OutboundFailed("protocol", f"what {self.origin} answered is not HTTP: {_first(error)}") from error
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
        done = self._machine.our_state is h11.DONE and self._machine.their_state is h11.DONE
        if done and not self._machine.trailing_data[0]:  # else a second response lies behind the first
            self._machine.start_next_cycle()
            self._idle_since = time.monotonic()
        return answer

    def _cut(self) -> OutboundFailed:
        return OutboundFailed("protocol", f"the connection to {self.origin} ended in the middle of a response")

    async def _send(self, head: bytes, body: bytes) -> None:
        """Beside the reading: a server may answer before it has read everything, and then read no more."""
        try:
            await self._write(head)
            for start in range(0, len(body), _SLICE):
                await self._write(self._machine.send(h11.Data(data=body[start : start + _SLICE])))
            await self._write(self._machine.send(h11.EndOfMessage()))
        except ConnectionError:
            return  # whoever reads finds it too, behind a response that may have come before

    async def _write(self, data: bytes | None) -> None:
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _receive(self, intake: _Intake) -> Answer:
        head = await self._next(intake)
        if not isinstance(head, h11.Response):
            raise _Ended
        status = head.status_code
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
        if not 200 <= status <= 599:
            raise OutboundFailed("protocol", f"{self.origin} answered with the status {status}")
        if {"content-length", "transfer-encoding"} <= {name for name, _ in headers}:
            # Whoever is between here and there may take the other one for the body's length.
            raise OutboundFailed("protocol", f"{self.origin} answered with a length and in chunks as well")
        decoding = Decoding([value for name, value in headers if name == "content-encoding"], intake.count_decoded)
        body = bytearray()
        while isinstance(event := await self._next(intake), h11.Data):
            for piece in decoding.feed(bytes(event.data)):
                intake.count_kept(len(piece))
                body += piece
                if decoding:
                    await asyncio.sleep(0)
        decoding.finish()
        return Answer(status, head.reason.decode("latin-1"), headers, b"" if status in NULL_BODY else bytes(body))

    async def _next(self, intake: _Intake) -> h11.Response | h11.Data | None:
        """The next part of a response; ``None`` at its end."""
        while True:
            event = self._machine.next_event()
            if event is h11.NEED_DATA:
                data = await self._reader.read(_SLICE)
                intake.count(data)
                self._machine.receive_data(data)
                await asyncio.sleep(0)  # read() does not wait while data is at hand
            elif isinstance(event, h11.Response):
                intake.head_ended = True
                return event
            elif isinstance(event, h11.Data):
                if intake.count_piece() % _PIECES_AT_A_TIME == 0:
                    await asyncio.sleep(0)
                return event
            elif isinstance(event, h11.EndOfMessage):
                return None
            elif not isinstance(event, h11.InformationalResponse):
                raise _Ended


class _Ended(Exception):
    """Nothing more comes."""


class _Intake:
    """What one response has brought so far, and how much it may bring."""

    def __init__(self, origin: str, meter: Meter) -> None:
        self._origin = origin
        self._meter = meter
        self._received = 0
        self._decoded = 0
        self._kept = 0
        self._pieces = 0
        self.begun = False
        self.head_ended = False
        self.ended = False

    def count(self, data: bytes) -> None:
        if not data:
            self.ended = True
            if not self.begun:
                raise _Ended
            return
        self.begun = True
        self._received += len(data)
        self._meter.received(len(data))
        if not self.head_ended and self._received > MAX_HEADER_CHARACTERS:
            raise OutboundRefused(
                "headers",
                f"the head of the response of {self._origin} is longer than {MAX_HEADER_CHARACTERS} bytes, the limit",
            )
        # The head has a bound of its own; all else that comes in, the frames of chunks too, is counted as the body.
        self._check(self._received - MAX_HEADER_CHARACTERS)

    def count_piece(self) -> int:
        self._pieces += 1
        if self._pieces > _MAX_PIECES:
            raise OutboundRefused(
                "response_bytes", f"the response of {self._origin} is in more than {_MAX_PIECES} pieces, the limit"
            )
        return self._pieces

    def count_decoded(self, size: int) -> None:
        self._decoded += size
        self._meter.decoded(size)
        self._check(self._decoded)

    def count_kept(self, size: int) -> None:
        self._kept += size
        self._check(self._kept)

    def _check(self, size: int) -> None:
        limit = self._meter.max_response_bytes
        if size > limit:
            raise OutboundRefused(
                "response_bytes",
                f"the response of {self._origin} is longer than {limit} bytes,"
                " the limit (AllowList.max_response_bytes)",
            )


def _first(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"
