"""Digests and HMAC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hmac

from ..host_calls import Operation
from . import digests
from .digests import Digest
from .params import integer, parts, refusal, text
from .sessions import Sessions

_open: Sessions[Digest] = Sessions()


def digest(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{hash}`` of the buffers, one after the other."""
    state = digests.new(text(params, "hash"))
    for buffer in buffers:
        state.update(buffer)
    return None, state.finalize()


def code(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """HMAC with ``{hash}``: a key, and the message in pieces."""
    if not buffers:
        raise refusal("the operation takes a key", "TypeError")
    state = _code(params, buffers[0])
    for buffer in buffers[1:]:
        state.update(buffer)
    return None, state.finalize()


def start(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Open a digest with ``{hash}``; a buffer is the key that makes it an HMAC. Answers the handle."""
    state = _code(params, parts(buffers, 1)[0]) if buffers else digests.new(text(params, "hash"))
    return _open.add(state), b""


def update(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Feed the buffers to ``{handle}``."""
    state = _open.get(_handle(params))
    for buffer in buffers:
        state.update(buffer)
    return None, b""


def copy(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """Another handle with what ``{handle}`` has been fed so far."""
    return _open.add(_open.get(_handle(params)).copy()), b""


def finish(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The result of ``{handle}``, which is closed."""
    return None, _open.take(_handle(params)).finalize()


def reset() -> None:
    """Close everything."""
    _open.clear()


def _handle(params: dict[str, Any]) -> int:
    return integer(params, "handle", 1, 2**53)


def _code(params: dict[str, Any], key: bytes) -> Digest:
    name = text(params, "hash")
    if name == digests.MD5_SHA1:
        raise refusal("HMAC with md5-sha1 is not offered", "Error")
    return hmac.HMAC(key, digests.algorithm(name))


OPERATIONS: Mapping[str, Operation] = {
    "crypto.digest": digest,
    "crypto.hmac": code,
    "crypto.digest.start": start,
    "crypto.digest.update": update,
    "crypto.digest.copy": copy,
    "crypto.digest.finish": finish,
}
