"""Long messages in pieces.

Writing: a transport copies what it cannot send at once, and takes memory for that. What is not handed over stays where
it is. Reading: pieces are joined once, and small ones as they come, for each would take more than it holds.
"""

from __future__ import annotations

import asyncio
from collections import deque

#: The most that is handed over at once.
PIECE_BYTES = 1024 * 1024
#: Shorter pieces are joined as they come, to longer ones of ``_JOINED_BYTES``.
_SMALL_BYTES = 4 * 1024
_JOINED_BYTES = 64 * 1024


class Pieces:
    """What has come of a long message."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        """The next piece."""
        if len(piece) < _SMALL_BYTES:
            self._tail += piece
            if len(self._tail) < _JOINED_BYTES:
                return
            piece = b""
        self._end_tail()
        if piece:
            self._pieces.append(piece)

    def take(self) -> bytes:
        """All of it. What comes next belongs to another message."""
        if not self._pieces:
            whole = bytes(self._tail)
        else:
            self._end_tail()
            whole = b"".join(self._pieces)
        self.clear()
        return whole

    def clear(self) -> None:
        """Drop it."""
        self._pieces.clear()
        self._tail.clear()

    def __len__(self) -> int:
        """Bytes."""
        return sum(map(len, self._pieces)) + len(self._tail)

    @property
    def count(self) -> int:
        """Objects that are held."""
        return len(self._pieces) + 1

    def _end_tail(self) -> None:
        if self._tail:
            self._pieces.append(bytes(self._tail))
            self._tail.clear()


class PieceWriter:
    """Args:
    transport: where to. Whoever has it passes ``pause_writing`` and ``resume_writing`` on.
    """

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._waiting: deque[memoryview] = deque()
        self._paused = False

    @property
    def is_idle(self) -> bool:
        """Everything is handed over, and most of it has left."""
        return not self._paused and not self._waiting

    @property
    def has_more(self) -> bool:
        """What was written is not all handed over: nobody else may write to the transport."""
        return bool(self._waiting)

    def write(self, data: bytes) -> None:
        """Write ``data``, after what was written before."""
        if not self._waiting and len(data) <= PIECE_BYTES:
            self._transport.write(data)
            return
        self._waiting.append(memoryview(data))
        self._hand_over()

    def pause(self) -> None:
        """The transport has enough for now."""
        self._paused = True

    def resume(self) -> None:
        """The transport takes more."""
        self._paused = False
        self._hand_over()

    def clear(self) -> None:
        """Nothing more will leave."""
        self._waiting.clear()

    def _hand_over(self) -> None:
        while self._waiting and not self._paused:
            data = self._waiting.popleft()
            if len(data) > PIECE_BYTES:
                self._waiting.appendleft(data[PIECE_BYTES:])
            self._transport.write(data[:PIECE_BYTES])
