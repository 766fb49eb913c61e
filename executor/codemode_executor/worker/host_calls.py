"""Calls that the platform of a run makes into this worker, answered before they return.

They arrive on the isolate's thread, in the message region of the shared buffer, in pieces; see ``hostCall`` in the
harness's ``channel.js``. What asks is the harness, but what it is asked *for* is the guest's: every operation checks
its own parameters.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from ..values.text import well_formed

#: An operation: parameters and buffers in, a JSON value and bytes out.
Operation = Callable[[dict[str, Any], list[bytes]], tuple[object, bytes]]

MAX_BYTES = 64 * 1024 * 1024
MAX_TEXT_UNITS = 1024 * 1024
_MAX_RANDOM = 65536

#: Flags of the region's size: a piece of a request, a piece of an answer.
REQUEST = 0x80000000
ANSWER = 0x40000000
#: Bytes of the message region.
REGION = 16384
_PREFIX = struct.Struct("<II")


class GuestError(Exception):
    """An operation refuses: the program gets an error of this name and message.

    Args:
        name: ``name`` of the error, for example ``OperationError``.
        message: its text.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


class CallBroken(Exception):
    """Something the harness never sends."""


class _Request(msgspec.Struct):
    """What the platform itself says of a call."""

    name: str
    sizes: list[int]


_decode = msgspec.json.Decoder(_Request).decode


#: Stands between what the platform says and the parameters, which may be whatever a program made of them.
_SEPARATOR = ',"params":'


def _params(text: str) -> dict[str, Any] | None:
    """The parameters of a request; ``None`` if a program has spoilt them."""
    try:
        try:
            params = msgspec.json.decode(text)
        except msgspec.MsgspecError:
            # A lone surrogate, perhaps, for which JSON has an escape. No operation has a use for one.
            params = _without_lone(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", params) if isinstance(params, dict) else None


def _without_lone(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {well_formed(key): _without_lone(item) for key, item in members.items()}
    if isinstance(value, list):
        return [_without_lone(item) for item in cast("list[object]", value)]
    return value


class HostCalls:
    """The calls of one run.

    Args:
        operations: what can be asked for, by name.
    """

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations
        self._request = bytearray()
        self._expected = 0
        self._answer = memoryview(b"")

    def exchange(self, piece: bytes) -> bytes | None:
        """Take a piece of a request in.

        Args:
            piece: the next bytes of the request; empty to ask for more of the answer.

        Returns:
            A piece of the answer, or ``None`` where more of the request is expected.

        Raises:
            CallBroken: the harness did not send this.
        """
        if not piece:
            if not self._answer:
                raise CallBroken("more of an answer was asked for than there is")
            return self._next()
        if not self._request:
            self._answer = memoryview(b"")
            if len(piece) < _PREFIX.size:
                raise CallBroken("a call begins with less than its sizes")
            units, size = _PREFIX.unpack_from(piece)
            if units > MAX_TEXT_UNITS or size > MAX_BYTES:
                return self._begin(_refusal("RangeError", f"an operation takes at most {MAX_BYTES} bytes"), b"")
            self._expected = _PREFIX.size + 2 * units + size
        self._request += piece
        if len(self._request) < self._expected:
            return None
        if len(self._request) > self._expected:
            raise CallBroken("a call is longer than it said")
        request, self._request = self._request, bytearray()
        return self._begin(*self._perform(request))

    def _perform(self, request: bytearray) -> tuple[bytes, bytes]:
        units, _ = _PREFIX.unpack_from(request)
        start = _PREFIX.size + 2 * units
        text = request[_PREFIX.size : start].decode("utf-16-le", "replace")
        said, separator, given = text.partition(_SEPARATOR)
        try:
            asked = _decode(said + "}")
        except msgspec.MsgspecError as error:
            raise CallBroken(f"a call is no request: {error}") from error
        if not separator or not given.endswith("}"):
            raise CallBroken("a call has no parameters")
        if any(size < 0 for size in asked.sizes) or sum(asked.sizes) != len(request) - start:
            raise CallBroken("the sizes of a call's buffers are not what was sent")
        operation = self._operations.get(asked.name)
        if operation is None:
            raise CallBroken(f"there is no operation {asked.name!r}")
        params = _params(given[:-1])
        if params is None:
            return _refusal("TypeError", "the parameters of an operation are not what the platform sends"), b""
        buffers: list[bytes] = []
        for size in asked.sizes:
            buffers.append(bytes(memoryview(request)[start : start + size]))
            start += size
        try:
            value, payload = operation(params, buffers)
        except GuestError as error:
            return _refusal(error.name, error.message), b""
        except MemoryError:
            return _refusal("RangeError", "the operation needs more memory than there is"), b""
        except Exception as error:
            # A fault of the operation. It is the program's call that fails; the worker has nothing to do with it.
            sys.stderr.write(f"operation {asked.name}: {type(error).__name__}: {str(error)[:200]}\n")
            sys.stderr.flush()
            return _refusal("OperationError", f"the operation failed: {type(error).__name__}"), b""
        return msgspec.json.encode({"value": value}), payload

    def _begin(self, text: bytes, payload: bytes) -> bytes:
        units = text.decode().encode("utf-16-le")
        self._answer = memoryview(_PREFIX.pack(len(units) // 2, len(payload)) + units + payload)
        return self._next()

    def _next(self) -> bytes:
        piece = bytes(self._answer[:REGION])
        self._answer = self._answer[REGION:]
        return piece


def _refusal(name: str, message: str) -> bytes:
    return msgspec.json.encode({"error": {"name": name, "message": message[:1000]}})


def random_bytes(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{count}`` bytes from the operating system."""
    count = params.get("count")
    if not isinstance(count, int) or not 0 <= count <= _MAX_RANDOM:
        raise GuestError("RangeError", f"at most {_MAX_RANDOM} random bytes at once")
    return None, os.urandom(count)


OPERATIONS: dict[str, Operation] = {"random": random_bytes}
