"""What a client gives a program as ``this.env``, checked: the bytes pass to the program, and are not decoded here."""

from __future__ import annotations

from typing import cast

import msgspec

from ..errors import BadRequest
from ..tool_failure import ToolFailure
from ..tools import MAX_NAME
from ..values.tool_codec import TAG
from ..wire import bridge as wire
from .answers import check_clone
from .table import MAX_FUNCTIONS

#: As many as are declared, each as what it is and in a function that is made of it.
_MAX_HANDLES = 2 * MAX_FUNCTIONS
_MAX_HANDLES_BYTES = _MAX_HANDLES * (6 * MAX_NAME + 64)  # a character may be written as six
_MAX_TAG_BYTES = 64


class _Members(msgspec.Struct, frozen=True, rename={"tag": TAG}):
    """The members of env that are read here; all others are passed over."""

    tag: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()
    handles: msgspec.Raw = msgspec.Raw()


_read_members = msgspec.json.Decoder(_Members).decode
_decode = msgspec.json.decode


def checked_env(run: wire.Run, env: bytes) -> tuple[bytes, bool]:
    """``this.env`` as JSON, and whether that holds it as clone text.

    Args:
        run: what the client declares.
        env: its payload.

    Raises:
        BadRequest: it is no JSON object, or its clone text or what that refers to is unusable.
    """
    if not env:
        return b"{}", False
    members = _members(env)
    tag = bytes(members.tag)
    if not 0 < len(tag) <= _MAX_TAG_BYTES or _decode(tag) != "clone":
        return env, False
    data = bytes(members.data)
    if data[:1] != b'"':
        raise BadRequest("env is tagged as clone text and has none")
    try:
        check_clone("env", _decode(data, type=str).encode())
    except ToolFailure as error:
        raise BadRequest(str(error)) from error
    _check_handles(run, bytes(members.handles))
    return env, True


def _members(env: bytes) -> _Members:
    try:
        env.decode("utf-8")
        try:
            return _read_members(env)
        except msgspec.DecodeError:
            # What stands for lone surrogates is for what is looked at here; the program gets them.
            return _read_members(wire.without_lone_surrogates(env))
    except UnicodeDecodeError as error:
        raise BadRequest(f"env is unusable: it is not UTF-8: {error.reason} at {error.start}") from None
    except RecursionError:
        raise BadRequest("env is unusable: the value nests too deeply to be read") from None
    except msgspec.ValidationError:
        raise BadRequest("env must be a JSON object") from None
    except msgspec.DecodeError as error:
        raise BadRequest(f"env is unusable: the text is not JSON: {error}") from None


def _check_handles(run: wire.Run, text: bytes) -> None:
    """Raises:
    BadRequest: ``text`` is no list of handles, each of something declared.
    """
    if text[:1] != b"[":
        raise BadRequest("env is tagged as clone text, and its handles are no list")
    if len(text) > _MAX_HANDLES_BYTES:
        raise BadRequest(f"env has {len(text)} bytes of handles; the limit is {_MAX_HANDLES_BYTES} bytes")
    handles = cast("list[object]", _decode(text))
    if len(handles) > _MAX_HANDLES:
        raise BadRequest(f"env has {len(handles)} handles; the limit is {_MAX_HANDLES}")
    declared = {"function": frozenset(run.functions), "service": frozenset(run.services)}
    if not all(_is_declared(handle, declared) for handle in handles):
        raise BadRequest("env has a handle that is neither a declared function nor a declared service")


def _is_declared(handle: object, declared: dict[str, frozenset[str]]) -> bool:
    if not isinstance(handle, list):
        return False
    match cast("list[object]", handle):
        case [str() as kind, str() as path]:
            return path in declared.get(kind, ())
        case _:
            return False
