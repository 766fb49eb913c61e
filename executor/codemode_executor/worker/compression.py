"""Compression for the streams of a run: zlib, one object for each stream, a bounded piece of output at a time.

What zlib keeps between two calls cannot be written down, so it lives here, under a number that the guest's platform
knows, until the run is over.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Any, Protocol

from .host_calls import GuestError, Operation

#: Of a run, at a time; each takes up to 300 KB.
MAX_STREAMS = 256
MAX_INPUT = 256 * 1024
MAX_OUTPUT = 256 * 1024

_WINDOW_BITS = {"gzip": 31, "deflate": 15, "deflate-raw": -15}

#: The texts of workerd.
_FAILED = "Decompression failed."
_TRAILING = "Trailing bytes after end of compressed data"
_INCOMPLETE = "Called close() on a decompression stream with incomplete data"


class _Stream(Protocol):
    def step(self, data: bytes) -> tuple[bytes, bool]:
        """Take ``data`` in. Answers a piece of output, and whether there is more before the next input."""
        ...

    def finish(self) -> bytes:
        """Nothing more comes: the rest of the output."""
        ...


class _Compressor:
    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.compressobj(wbits=window_bits)

    def step(self, data: bytes) -> tuple[bytes, bool]:
        # Data that cannot be compressed grows by some bytes in a thousand: bounded input is bounded output.
        return self._zlib.compress(data), False

    def finish(self) -> bytes:
        return self._zlib.flush()


class _Decompressor:
    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(wbits=window_bits)
        self._unused = b""

    def step(self, data: bytes) -> tuple[bytes, bool]:
        if self._zlib.eof:
            if data:
                raise GuestError("TypeError", _TRAILING)
            return b"", False
        try:
            output = self._zlib.decompress(self._unused + data, MAX_OUTPUT)
        except zlib.error as error:
            raise GuestError("TypeError", _FAILED) from error
        self._unused = self._zlib.unconsumed_tail
        if self._zlib.unused_data:
            raise GuestError("TypeError", _TRAILING)
        # A full piece may have left something in zlib itself.
        return output, bool(self._unused) or (len(output) == MAX_OUTPUT and not self._zlib.eof)

    def finish(self) -> bytes:
        if not self._zlib.eof:
            raise GuestError("TypeError", _INCOMPLETE)
        return b""


class _Table:
    """The compressing and decompressing streams of the run that is going on."""

    def __init__(self) -> None:
        self._streams: dict[int, _Stream] = {}
        self._numbers = itertools.count(1)

    def reset(self) -> None:
        self._streams.clear()

    def open(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{compress: bool, format}``: answers a number."""
        window_bits = _WINDOW_BITS.get(str(params.get("format")))
        if window_bits is None:
            raise GuestError("TypeError", "The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.")
        if len(self._streams) >= MAX_STREAMS:
            raise GuestError("RangeError", f"at most {MAX_STREAMS} streams compress or decompress at a time")
        number = next(self._numbers)
        self._streams[number] = _Compressor(window_bits) if params.get("compress") else _Decompressor(window_bits)
        return number, b""

    def _stream(self, params: dict[str, Any]) -> tuple[int, _Stream]:
        number = params.get("stream")
        stream = self._streams.get(number) if isinstance(number, int) else None
        if not isinstance(number, int) or stream is None:
            raise GuestError("TypeError", "the stream has ended")
        return number, stream

    def step(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{stream}`` and up to ``MAX_INPUT`` bytes: answers whether there is more, and output."""
        number, stream = self._stream(params)
        data = buffers[0] if buffers else b""
        if len(data) > MAX_INPUT:
            raise GuestError("RangeError", f"at most {MAX_INPUT} bytes at once")
        try:
            output, more = stream.step(data)
        except GuestError:
            del self._streams[number]
            raise
        return more, output

    def finish(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{stream}``: answers the rest of the output. The stream is gone."""
        number, stream = self._stream(params)
        del self._streams[number]
        return None, stream.finish()

    def drop(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{stream}``, which need not be there any more."""
        number = params.get("stream")
        if isinstance(number, int):
            self._streams.pop(number, None)
        return None, b""


_table = _Table()

#: What the chunk ``compression`` asks for.
OPERATIONS: dict[str, Operation] = {
    "compression.open": _table.open,
    "compression.step": _table.step,
    "compression.finish": _table.finish,
    "compression.drop": _table.drop,
}


def reset() -> None:
    """A run is over: forget its streams."""
    _table.reset()
