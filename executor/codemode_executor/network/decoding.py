"""Compressed bodies, decoded in pieces: what they become is counted before it exists as a whole."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from .errors import OutboundFailed

# It has no types.
_brotli: Any = importlib.import_module("brotli")

#: What comes out of a decoder at a time; bytes.
PIECE = 64 * 1024
#: Most encodings that are applied to one body.
MAX_CODINGS = 3


class Decoder(Protocol):
    """One content coding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` decodes to, in pieces of at most about ``PIECE``. To be exhausted before the next call."""
        ...

    @property
    def complete(self) -> bool:
        """What was fed so far is a whole body."""
        ...


class _Gzip:
    """Members one after another; bytes that begin no member are ignored, as browsers do."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)
        self._fed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(data)
        while True:
            if self._member.eof:
                if data[:1] != b"\x1f":
                    return
                self._member = zlib.decompressobj(31)
            piece = self._member.decompress(data, PIECE)
            if piece:
                yield piece
            if self._member.eof:
                data = self._member.unused_data
                continue
            data = self._member.unconsumed_tail
            if not data and len(piece) < PIECE:
                return

    @property
    def complete(self) -> bool:
        return self._member.eof or not self._fed


class _Deflate:
    """Named after one format and sent in two: with zlib's frame, or without."""

    def __init__(self) -> None:
        self._head = b""
        self._stream: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._head += data
            if len(self._head) < 2:
                return
            data = self._head
            framed = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
        while not self._stream.eof:
            piece: bytes = self._stream.decompress(data, PIECE)
            if piece:
                yield piece
            data = self._stream.unconsumed_tail
            if not data and len(piece) < PIECE:
                return

    @property
    def complete(self) -> bool:
        return bool(self._stream.eof) if self._stream is not None else not self._head


class _Brotli:
    def __init__(self) -> None:
        self._stream = _brotli.Decompressor()
        self._fed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(data)
        while not self._stream.is_finished():
            piece: bytes = self._stream.process(data, output_buffer_limit=PIECE)
            data = b""
            if piece:
                yield piece
            if not piece or (self._stream.can_accept_more_data() and len(piece) < PIECE):
                return

    @property
    def complete(self) -> bool:
        return bool(self._stream.is_finished()) or not self._fed


_MAKERS: dict[str, Callable[[], Decoder]] = {"gzip": _Gzip, "x-gzip": _Gzip, "deflate": _Deflate, "br": _Brotli}
_ERRORS: tuple[type[Exception], ...] = (zlib.error, _brotli.error)

#: What a request says that it takes, unless the program says otherwise.
ACCEPTED = "gzip, deflate, br"


class Decoding:
    """The codings of one body.

    Args:
        codings: values of the Content-Encoding header. A body with a coding that is not known here stays as it is, as
            with fetch.
        count: told the size of each piece that any of the codings gives, before it is kept. What it raises ends the
            decoding.

    Raises:
        OutboundFailed: there are too many of them.
    """

    def __init__(self, codings: Sequence[str], count: Callable[[int], None]) -> None:
        names = [name.strip().lower() for value in codings for name in value.split(",")]
        names = [name for name in names if name and name != "identity"]
        if len(names) > MAX_CODINGS:
            raise OutboundFailed(
                "decoding", f"the body was encoded {len(names)} times; the limit is {MAX_CODINGS} (Content-Encoding)"
            )
        known = all(name in _MAKERS for name in names)
        self._layers = [_MAKERS[name]() for name in reversed(names)] if known else []
        self._names = ", ".join(names)
        self._count = count

    def __bool__(self) -> bool:
        return bool(self._layers)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Raises:
        OutboundFailed: ``data`` is not what the header says.
        """
        try:
            yield from self._through(0, data)
        except _ERRORS as error:
            raise OutboundFailed("decoding", f"the body is not valid {self._names}: {error}") from error

    def finish(self) -> None:
        """Raises:
        OutboundFailed: the body ended too early.
        """
        if not all(layer.complete for layer in self._layers):
            raise OutboundFailed("decoding", f"the {self._names} body is cut short")

    def _through(self, level: int, data: bytes) -> Iterator[bytes]:
        if level == len(self._layers):
            yield data
            return
        for piece in self._layers[level].feed(data):
            self._count(len(piece))
            # A piece that decodes to nothing is given on as well: whoever waits for pieces can let others run.
            empty = True
            for inner in self._through(level + 1, piece):
                empty = False
                yield inner
            if empty:
                yield b""
