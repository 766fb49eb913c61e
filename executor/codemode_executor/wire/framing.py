"""Length-prefixed frames over a byte stream. Sans-I/O: bytes in, payloads out."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_PREFIX = struct.Struct("<I")
PREFIX_BYTES = _PREFIX.size


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
        self._refused: FrameTooLarge | None = None

    def feed(self, data: bytes | memoryview) -> Iterator[bytes]:
        """Take ``data`` in; give every frame that is complete now.

        Raises:
            FrameTooLarge: a frame is announced that is longer than ``max_bytes``. The stream is unusable from then on.
        """
        if self._refused is None:
            self._buffer += data
        return self._frames()

    def _frames(self) -> Iterator[bytes]:
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
        """Bytes of an incomplete frame that are held."""
        return len(self._buffer)
