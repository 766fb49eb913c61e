"""Compression for node:zlib: streams with every option of zlib, and Brotli's, a bounded piece of output at a time.

What a stream keeps between two calls cannot be written down, so it lives here, under a number that the guest's platform
knows, until the run is over. A refusal's name is the code that Node gives the error.
"""

from __future__ import annotations

import importlib
import itertools
import re
import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from .host_calls import GuestError, Operation

#: Of a run, at a time; each takes up to 300 KB, a Brotli encoder some megabytes.
MAX_STREAMS = 256
MAX_INPUT = 256 * 1024
MAX_OUTPUT = 256 * 1024

_NO_FLUSH = 0
_FINISH = 4
_BROTLI_FLUSH = 1
_BROTLI_FINISH = 2

_GZIP_MAGIC = b"\x1f\x8b"
_ERROR = re.compile(r"Error (-?\d+)[^:]*(?:: (.*))?", re.DOTALL)
_CODES = {
    2: "Z_NEED_DICT",
    -1: "Z_ERRNO",
    -2: "Z_STREAM_ERROR",
    -3: "Z_DATA_ERROR",
    -4: "Z_MEM_ERROR",
    -5: "Z_BUF_ERROR",
    -6: "Z_VERSION_ERROR",
}


# It has no types.
_brotli: Any = importlib.import_module("brotli")


class _Mode(IntEnum):
    """As Node numbers them."""

    DEFLATE = 1
    INFLATE = 2
    GZIP = 3
    GUNZIP = 4
    DEFLATERAW = 5
    INFLATERAW = 6
    UNZIP = 7


@dataclass(frozen=True)
class _Step:
    """What a step has given: output, whether there is more of it before the next input, whether the stream has ended,
    and how many bytes of the input are behind its end.
    """

    output: bytes
    more: bool = False
    ended: bool = False
    unused: int = 0


class _Stream(Protocol):
    def step(self, data: bytes, flush: int) -> _Step: ...


def _refusal(error: zlib.error) -> GuestError:
    match = _ERROR.match(str(error))
    if match is None:
        return GuestError("Z_STREAM_ERROR", str(error))
    number, text = int(match[1]), match[2]
    if number == 2:
        return GuestError("Z_NEED_DICT", "Missing dictionary")
    if "zdict" in str(error):
        return GuestError("Z_NEED_DICT", "Bad dictionary")
    return GuestError(_CODES.get(number, "Z_STREAM_ERROR"), text or "Zlib error")


class _Deflater:
    def __init__(
        self, mode: _Mode, window_bits: int, level: int, mem_level: int, strategy: int, dictionary: bytes
    ) -> None:
        # A window of 256 bytes is one of 512 in zlib, which refuses it for raw data.
        bits = max(window_bits, 9)
        if mode is _Mode.GZIP:
            bits += 16
        elif mode is _Mode.DEFLATERAW:
            bits = -bits
        try:
            if dictionary and mode is not _Mode.GZIP:
                self._zlib = zlib.compressobj(level, zlib.DEFLATED, bits, mem_level, strategy, dictionary)
            else:
                self._zlib = zlib.compressobj(level, zlib.DEFLATED, bits, mem_level, strategy)
        except ValueError as error:
            raise GuestError("Z_STREAM_ERROR", "Invalid initialization option") from error
        self._ended = False

    def step(self, data: bytes, flush: int) -> _Step:
        if self._ended:
            return _Step(b"", ended=True, unused=len(data))
        try:
            # Data that cannot be compressed grows by some bytes in a thousand: bounded input is bounded output.
            output = self._zlib.compress(data)
            if flush != _NO_FLUSH:
                output += self._zlib.flush(flush)
        except zlib.error as error:
            raise _refusal(error) from error
        self._ended = flush == _FINISH
        return _Step(output, ended=self._ended)


class _Inflater:
    def __init__(self, mode: _Mode, window_bits: int, dictionary: bytes) -> None:
        bits = {_Mode.GUNZIP: window_bits + 16, _Mode.UNZIP: window_bits + 32, _Mode.INFLATERAW: -window_bits}
        self._bits = bits.get(mode, window_bits)
        self._dictionary = dictionary
        #: Whether another member may follow: only of gzip, which UNZIP knows by its first two bytes.
        self._members = mode is _Mode.GUNZIP
        self._head = b"" if mode is _Mode.UNZIP else None
        self._pending = b""
        self._zlib = self._fresh()

    def _fresh(self) -> Any:
        try:
            if self._dictionary:
                return zlib.decompressobj(self._bits, self._dictionary)
            return zlib.decompressobj(self._bits)
        except (ValueError, zlib.error) as error:
            raise GuestError("Z_STREAM_ERROR", "Invalid initialization option") from error

    def _look(self, data: bytes) -> None:
        if self._head is not None:
            self._head = (self._head + data[:2])[:2]
            if len(self._head) == 2:
                self._members = self._head == _GZIP_MAGIC
                self._head = None

    def step(self, data: bytes, flush: int) -> _Step:
        self._look(data)
        data = self._pending + data
        self._pending = b""
        output: list[bytes] = []
        room = MAX_OUTPUT
        while True:
            if self._zlib.eof:
                # Zeros behind a member are padding, as Node has it.
                if not (self._members and data and data[0] != 0):
                    return _Step(b"".join(output), ended=True, unused=len(data))
                self._zlib = self._fresh()
            try:
                piece = self._zlib.decompress(data, room)
            except zlib.error as error:
                raise _refusal(error) from error
            output.append(piece)
            room -= len(piece)
            data = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
            if room == 0:
                self._pending = data
                # zlib itself may hold some of it.
                return _Step(b"".join(output), more=True)
            if not self._zlib.eof:
                if flush == _FINISH:
                    raise GuestError("Z_BUF_ERROR", "unexpected end of file")
                return _Step(b"".join(output))


class _BrotliEncoder:
    def __init__(self, params: dict[str, Any]) -> None:
        options = {
            "mode": _number(params, "mode", 0, 2),
            "quality": _number(params, "quality", 0, 11),
            "lgwin": _number(params, "lgwin", 10, 24),
        }
        block = _number(params, "lgblock", 0, 24)
        if block >= 16:
            options["lgblock"] = block
        self._brotli = _brotli.Compressor(**options)
        self._ended = False

    def step(self, data: bytes, flush: int) -> _Step:
        if self._ended:
            return _Step(b"", ended=True, unused=len(data))
        output = self._brotli.process(data)
        if flush == _BROTLI_FLUSH:
            output += self._brotli.flush()
        elif flush == _BROTLI_FINISH:
            output += self._brotli.finish()
            self._ended = True
        return _Step(output, ended=self._ended)


class _BrotliDecoder:
    def __init__(self) -> None:
        self._brotli = _brotli.Decompressor()

    def step(self, data: bytes, flush: int) -> _Step:
        if self._brotli.is_finished():
            return _Step(b"", ended=True, unused=len(data))
        try:
            output = self._brotli.process(data, output_buffer_limit=MAX_OUTPUT)
        except _brotli.error as error:
            raise GuestError("ERR_BROTLI_DECODING_FAILED", "Compression failed") from error
        if self._brotli.is_finished():
            return _Step(output, ended=True)
        # A full piece may have left something in there.
        if len(output) >= MAX_OUTPUT or not self._brotli.can_accept_more_data():
            return _Step(output, more=True)
        if flush == _BROTLI_FINISH:
            raise GuestError("Z_BUF_ERROR", "Unexpected end of file")
        return _Step(output)


def _number(params: dict[str, Any], name: str, low: int, high: int) -> int:
    value = params.get(name)
    if not isinstance(value, int) or not low <= value <= high:
        raise GuestError("Z_STREAM_ERROR", f"{name} has to be from {low} to {high}")
    return value


def _open_zlib(params: dict[str, Any], dictionary: bytes) -> _Stream:
    mode = _Mode(_number(params, "mode", 1, 7))
    if mode in (_Mode.DEFLATE, _Mode.GZIP, _Mode.DEFLATERAW):
        return _Deflater(
            mode,
            _number(params, "windowBits", 8, 15),
            _number(params, "level", -1, 9),
            _number(params, "memLevel", 1, 9),
            _number(params, "strategy", 0, 4),
            dictionary,
        )
    # No window: that of the data's header.
    window_bits = (
        0 if params.get("windowBits") == 0 and mode is not _Mode.INFLATERAW else _number(params, "windowBits", 8, 15)
    )
    return _Inflater(mode, window_bits, dictionary)


def _open_brotli(params: dict[str, Any]) -> _Stream:
    return _BrotliEncoder(params) if params.get("encode") else _BrotliDecoder()


class _Table:
    """The streams of the run that is going on."""

    def __init__(self) -> None:
        self._streams: dict[int, _Stream] = {}
        self._numbers = itertools.count(1)

    def reset(self) -> None:
        self._streams.clear()

    def open(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{brotli: bool, …}`` with the options of the format, and a dictionary: answers a number."""
        if len(self._streams) >= MAX_STREAMS:
            raise GuestError("Z_MEM_ERROR", f"at most {MAX_STREAMS} streams compress or decompress at a time")
        dictionary = buffers[0] if buffers else b""
        if len(dictionary) > MAX_INPUT:
            raise GuestError("Z_MEM_ERROR", f"a dictionary has at most {MAX_INPUT} bytes")
        stream = _open_brotli(params) if params.get("brotli") else _open_zlib(params, dictionary)
        number = next(self._numbers)
        self._streams[number] = stream
        return number, b""

    def step(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{stream, flush}`` and up to ``MAX_INPUT`` bytes: answers ``{more, ended, unused}``, and output."""
        number = params.get("stream")
        stream = self._streams.get(number) if isinstance(number, int) else None
        if stream is None:
            raise GuestError("Z_STREAM_ERROR", "the stream has ended")
        data = buffers[0] if buffers else b""
        if len(data) > MAX_INPUT:
            raise GuestError("Z_MEM_ERROR", f"at most {MAX_INPUT} bytes at once")
        step = stream.step(data, _number(params, "flush", 0, 6))
        return {"more": step.more, "ended": step.ended, "unused": step.unused}, step.output

    def drop(self, params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
        """``{stream}``, which need not be there any more."""
        number = params.get("stream")
        if isinstance(number, int):
            self._streams.pop(number, None)
        return None, b""


def _crc32(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{value}`` and bytes: answers the checksum, continued from ``value``."""
    value = _number(params, "value", 0, 0xFFFFFFFF)
    for data in buffers:
        value = zlib.crc32(data, value)
    return value, b""


_table = _Table()

#: What the chunk ``node-zlib`` asks for.
OPERATIONS: dict[str, Operation] = {
    "zlib.open": _table.open,
    "zlib.step": _table.step,
    "zlib.drop": _table.drop,
    "zlib.crc32": _crc32,
}


def reset() -> None:
    """A run is over: forget its streams."""
    _table.reset()
