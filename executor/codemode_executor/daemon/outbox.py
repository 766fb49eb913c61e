"""What leaves on one connection: messages in, frames out, in their order, no faster than the client takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ..limits import MIB
from ..wire.bridge import JOIN_BYTES, MAX_MESSAGES, join_messages
from .accounts import Account

#: What may wait for one client before whatever adds to it is held.
FULL_BYTES = 64 * MIB
#: The same, while all clients of its token have more waiting than they may.
_FULL_BYTES_OF_MANY = 1 * MIB
#: What a message takes besides its bytes.
_MESSAGE_BYTES = 200
#: How long a message waits for another that it can leave with, if it may wait.
_LAZY_S = 0.005


class SlowReader(Exception):
    """The client did not take a frame in time."""


class Wire(Protocol):
    """Where frames go."""

    @property
    def writable(self) -> bool:
        """Most of what was written has left."""
        ...

    def write(self, frame: bytes, tail: bytes = b"") -> None:
        """Hand over a frame, of these parts."""
        ...


class Outbox:
    """Args:
    wire: where frames go. Whoever has it tells when it is ``writable`` again.
    timeout_s: how long the client may take for a frame.
    on_slow: told of one that it did not take.
    account: whose it is; what waits is counted there, too.
    account_bytes: what may wait for all clients of the account.
    on_room: told when it is not full any more. It must be asked for (``is_full``), each time.
    """

    def __init__(
        self,
        wire: Wire,
        timeout_s: float,
        on_slow: Callable[[SlowReader], None],
        account: Account,
        account_bytes: int,
        on_room: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._timeout_s = timeout_s
        self._on_slow = on_slow
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self._soon = False
        self._later: asyncio.TimerHandle | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._sent_bytes = 0
        self._account = account
        self._account_bytes = account_bytes
        self._on_room = on_room
        self._waiting_bytes = 0
        self._was_full = False
        self._on_empty: Callable[[], None] | None = None
        self._stopped = False

    @property
    def backlog(self) -> int:
        """Messages that wait."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait, with what their messages take besides."""
        return self._waiting_bytes

    def is_full(self) -> bool:
        """So much waits that nothing should be added. If it does, ``on_room`` is called once it does not."""
        full = self._has_too_much()
        self._was_full = self._was_full or full
        return full

    def put(self, message: bytes, tail: bytes = b"", *, held: bool = False) -> None:
        """Add a message; it leaves at the end of this turn of the event loop.

        Args:
            message, tail: it, in one part or two.
            held: whoever adds it calls ``flush`` in this turn.
        """
        self._add(message, tail)
        if not held:
            self._send_soon()

    def put_lazily(self, message: bytes) -> None:
        """Add a message that leaves with the next one, or a moment later."""
        self._add(message, b"")
        if not self._soon and self._later is None:
            self._later = self._loop.call_later(_LAZY_S, self.flush)

    def flush(self) -> None:
        """Send what waits, as far as the client takes it."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._stopped:
            return
        while self._waiting and self._wire.writable:
            frame, tail = self._next_frame()
            self._sent_bytes = len(frame) + len(tail)
            self._wire.write(frame, tail)
        if not self._wire.writable:
            if self._overdue is None:
                self._overdue = self._loop.call_later(self._timeout_s, self._not_taken)
        elif not self._waiting and self._on_empty is not None:
            done, self._on_empty = self._on_empty, None
            done()
        if self._was_full and not self._has_too_much():
            self._was_full = False
            self._on_room()

    def on_writable(self) -> None:
        """The client has taken most of what was sent."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        self.flush()

    def when_empty(self, done: Callable[[], None]) -> None:
        """``done`` is called once everything has left."""
        self._on_empty = done
        self._send_soon()

    def stop(self) -> None:
        """Send nothing more."""
        self._stopped = True
        self._waiting.clear()
        self._count(-self._waiting_bytes)
        self._on_empty = None
        for timer in (self._later, self._overdue):
            if timer is not None:
                timer.cancel()

    def _has_too_much(self) -> bool:
        many = self._account.unsent > self._account_bytes
        return self._waiting_bytes > (_FULL_BYTES_OF_MANY if many else FULL_BYTES)

    def _add(self, message: bytes, tail: bytes) -> None:
        if self._stopped:
            return
        self._waiting.append((message, tail))
        self._count(len(message) + len(tail) + _MESSAGE_BYTES)

    def _take(self) -> tuple[bytes, bytes]:
        message, tail = self._waiting.popleft()
        self._count(-len(message) - len(tail) - _MESSAGE_BYTES)
        return message, tail

    def _count(self, more: int) -> None:
        self._waiting_bytes += more
        self._account.unsent += more

    def _send_soon(self) -> None:
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._flush_soon)

    def _flush_soon(self) -> None:
        self._soon = False
        self.flush()

    def _not_taken(self) -> None:
        self._overdue = None
        self._on_slow(
            SlowReader(
                f"a frame of {self._sent_bytes} bytes was not taken within {self._timeout_s:g} s (send_timeout_s)"
            )
        )

    def _next_frame(self) -> tuple[bytes, bytes]:
        """Messages that wait together leave together."""
        first, tail = self._take()
        if tail or not self._waiting or len(first) >= JOIN_BYTES:
            return first, tail
        messages = [first]
        size = len(first)
        while self._waiting and len(messages) < MAX_MESSAGES:
            message, tail = self._waiting[0]
            size += len(message) + 1
            if tail or size >= JOIN_BYTES:
                break
            messages.append(message)
            self._take()
        return join_messages(messages), b""
