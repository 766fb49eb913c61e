"""Cuts what a client sends into whole text frames, which is nearly all of it, and the rest.

The library reads any frame, in a coroutine that it enters and leaves for each part, with a copy for each of the steps.
Whole text frames (RFC 6455, 5.2) take a tenth of that here. All others, and every one that breaks a rule, are the
library's to judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..wire.pieces import Pieces

try:
    from websockets.speedups import apply_mask
except ImportError:  # a platform for which there is no wheel
    from websockets.utils import apply_mask

_WHOLE_TEXT = 0x81
_MASKED = 0x80
_LENGTH = 0x7F
_OPCODE = 0x0F
_FIRST_DATA = (0x1, 0x2)
_CONTINUATION = 0x0
_LAST = 0x80


class FrameReader:
    """Reads the stream of one client, from the beginning of a frame.

    Args:
        max_bytes: longest message. A longer one is the library's to refuse.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._head = b""  # of a frame whose head is not complete
        self._pieces = Pieces()  # of the payload of a text frame that is not complete
        self._missing = 0
        self._mask = b""
        self._foreign = 0  # bytes of one of the library's frames that are still to come
        self._in_parts = False  # a message is under way in several frames
        self._given_up = False

    def feed(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """Take ``data`` in.

        Returns:
            In the order in which they came: ``True`` and the text of a frame, or ``False`` and bytes for the library.
        """
        position = 0
        if self._head:
            data = self._head + data
            self._head = b""
        end = len(data)
        while position < end:
            if self._missing:
                position = self._add(data, position)
                if self._missing:
                    return
                text = apply_mask(self._pieces.take(), self._mask)
                yield True, text
                continue
            if self._given_up or self._foreign:
                stop = end if self._given_up else min(end, position + self._foreign)
                self._foreign -= min(self._foreign, stop - position)
                yield False, data[position:stop]
                position = stop
                continue
            size = _head_size(data, position)
            if size > end - position:
                self._head = data[position:]
                return
            length = _payload_size(data, position, size)
            if not data[position + 1] & _MASKED or length > self._max_bytes:
                self._given_up = True
            elif data[position] != _WHOLE_TEXT or self._in_parts:
                self._foreign = size + length
                self._note(data[position])
            else:
                start = position + size
                self._mask = data[start - 4 : start]
                if start + length > end:
                    self._missing = length
                    position = start
                    if position == end:
                        return
                else:
                    position = start + length
                    yield True, apply_mask(data[start:position], self._mask)

    def _add(self, data: bytes, position: int) -> int:
        """Take what ``data`` has of the payload; returns where that ends."""
        stop = min(len(data), position + self._missing)
        self._pieces.add(data if stop - position == len(data) else data[position:stop])
        self._missing -= stop - position
        return stop

    def _note(self, first: int) -> None:
        """Whole text frames within a message in several frames are against the rules."""
        opcode = first & _OPCODE
        if opcode in _FIRST_DATA:
            self._in_parts = not first & _LAST
        elif opcode == _CONTINUATION and first & _LAST:
            self._in_parts = False


def _head_size(data: bytes, position: int) -> int:
    """Size of the head of a frame from a client, as far as it is known: two bytes say."""
    if len(data) - position < 2:
        return 2
    length = data[position + 1] & _LENGTH
    return 6 if length < 126 else 8 if length == 126 else 14


def _payload_size(data: bytes, position: int, head: int) -> int:
    length = data[position + 1] & _LENGTH
    return length if head == 6 else int.from_bytes(data[position + 2 : position + head - 4])
