"""What leaves on one connection: messages in, frames out, in their order, no faster than the client takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from ..wire.bridge import JOIN_BYTES, MAX_MESSAGES, join_messages


class SlowReader(Exception):
    """The client did not take a frame in time."""


class Outbox:
    """Args:
    send: hands one frame over; returns when the client has taken most of it.
    timeout_s: how long that may take.
    """

    def __init__(self, send: Callable[[bytes], Awaitable[None]], timeout_s: float) -> None:
        self._send = send
        self._timeout_s = timeout_s
        self._waiting: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._closed = False

    @property
    def backlog(self) -> int:
        """Messages that wait."""
        return len(self._waiting)

    def put(self, message: bytes) -> None:
        """Add a message; it leaves as soon as it can."""
        self._waiting.append(message)
        self._more.set()

    def close(self) -> None:
        """Let ``run`` return when everything has left."""
        self._closed = True
        self._more.set()

    async def run(self) -> None:
        """Send until it is closed.

        Raises:
            SlowReader: a frame was not taken in time.
        """
        while True:
            while self._waiting:
                frame = self._next_frame()
                try:
                    async with asyncio.timeout(self._timeout_s):
                        await self._send(frame)
                except TimeoutError:
                    raise SlowReader(
                        f"a frame of {len(frame)} bytes was not taken within {self._timeout_s:g} s (send_timeout_s)"
                    ) from None
            if self._closed:
                return
            self._more.clear()
            await self._more.wait()

    def _next_frame(self) -> bytes:
        """Messages that wait together leave together."""
        first = self._waiting.popleft()
        if not self._waiting or len(first) >= JOIN_BYTES:
            return first
        messages = [first]
        size = len(first)
        while self._waiting and len(messages) < MAX_MESSAGES and size + len(self._waiting[0]) < JOIN_BYTES:
            message = self._waiting.popleft()
            messages.append(message)
            size += len(message) + 1
        return join_messages(messages)
