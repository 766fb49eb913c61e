"""Length-prefixed frames over a byte stream. Sans-I/O: bytes in, payloads out."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .pieces import Pieces

_PREFIX = struct.Struct("<I")
PREFIX_BYTES = _PREFIX.size
#: The pieces of a longer frame are joined once, when it is complete.
_LONG_BYTES = 64 * 1024


class FrameTooLarge(ValueError):
    """The peer announced a frame beyond the agreed size."""


def encode_frame(payload: bytes) -> bytes:
    """``payload`` with its length before it."""
    return _PREFIX.pack(len(payload)) + payload


def frame_prefix(length: int) -> bytes:
    """What stands before a payload of ``length`` bytes."""
    return _PREFIX.pack(length)


class FrameDecoder:
    """Cuts a byte stream into frames.

    Args:
        max_bytes: largest payload accepted; a longer announcement raises before anything of it is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._pieces = Pieces()  # of a long frame that is not complete
        self._missing = 0
        self._complete: list[bytes] = []  # long frames; they come before what is in the buffer
        self._refused: FrameTooLarge | None = None

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        """Take ``data`` in; give every frame that is complete now.

        Raises:
            FrameTooLarge: a frame is announced that is longer than ``max_bytes``. The stream is unusable from then on.
        """
        if self._refused is None:
            if self._missing:
                data = self._add(data)
            self._buffer += data
        return self._frames()

    def _add(self, data: bytes | memoryview) -> bytes | memoryview:
        """Take what ``data`` has of the long frame; returns the rest of it."""
        piece, rest = data[: self._missing], data[self._missing :]
        self._pieces.add(bytes(piece))
        self._missing -= len(piece)
        if not self._missing:
            self._complete.append(self._pieces.take())
        return rest

    def _frames(self) -> Iterator[bytes]:
        while self._complete:
            yield self._complete.pop(0)
        buffer = self._buffer
        position = 0
        try:
            while self._refused is None and len(buffer) - position >= PREFIX_BYTES:
                (length,) = _PREFIX.unpack_from(buffer, position)
                if length > self._max_bytes:
                    position = len(buffer)
                    self._refused = FrameTooLarge(
                        f"a frame of {length} bytes was announced; the limit is {self._max_bytes}"
                    )
                    break
                end = position + PREFIX_BYTES + length
                if len(buffer) < end:
                    if length >= _LONG_BYTES:
                        self._pieces.add(bytes(memoryview(buffer)[position + PREFIX_BYTES :]))
                        self._missing = end - len(buffer)
                        position = len(buffer)
                    break
                payload = bytes(memoryview(buffer)[position + PREFIX_BYTES : end])
                position = end
                yield payload
        finally:
            if position:
                del buffer[:position]
        if self._refused is not None:
            raise self._refused

    @property
    def pending_bytes(self) -> int:
        """Bytes that are held: of an incomplete frame, its length apart if it is long."""
        return len(self._buffer) + len(self._pieces)
