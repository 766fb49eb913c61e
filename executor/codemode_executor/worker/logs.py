"""Reading log records from the memory that the harness shares: see ``executor/guest/src/harness/channel.js``."""

from __future__ import annotations

import struct

from .channel import MESSAGE_BYTES, ChannelError

CAPACITY = 16384  # units, as in the harness
MORE = 0x100
_HEAD = struct.Struct("<HH")


class LogReader:
    """Takes complete lines out of the shared memory, also while the program goes on writing.

    Args:
        memory: the whole shared buffer.
    """

    def __init__(self, memory: memoryview) -> None:
        self._size = memory[MESSAGE_BYTES : MESSAGE_BYTES + 4]
        self._units = memory[MESSAGE_BYTES + 4 : MESSAGE_BYTES + 4 + 2 * CAPACITY]
        self._taken = 0
        self._pieces = bytearray()

    def read(self) -> list[tuple[int, str]]:
        """Lines that were written since the last call, each ``(level, text)``.

        Raises:
            ChannelError: the memory does not hold what the harness writes.
        """
        size = int.from_bytes(self._size, "little")
        if size > CAPACITY:
            raise ChannelError(f"the log region is said to hold {size} units; it has {CAPACITY}")
        lines: list[tuple[int, str]] = []
        at = self._taken
        while at < size:
            if at + 2 > size:
                raise ChannelError("a log record ends before it begins")
            mark, length = _HEAD.unpack_from(self._units, 2 * at)
            end = at + 2 + length
            if end > size:
                raise ChannelError("a log record measures more text than the region holds")
            self._pieces += self._units[2 * (at + 2) : 2 * end]
            at = end
            if not mark & MORE:
                lines.append((mark & 0xFF, self._pieces.decode("utf-16-le", "replace")))
                self._pieces.clear()
        self._taken = at
        return lines

    def rewind(self) -> None:
        """The harness starts again at the front: it is waiting in a post, and everything has been read."""
        self._size[:] = b"\0\0\0\0"
        self._taken = 0
