"""What a client gives a program as ``this.env``, checked: the bytes pass to the program."""

from __future__ import annotations

from typing import cast

from ..errors import BadRequest
from ..tool_failure import ToolFailure
from ..values import ValueRefused
from ..values.tool_codec import TAG, decode_json
from ..wire import bridge as wire
from .answers import check_clone


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
    try:
        members = decode_json(env)
    except ValueRefused as error:
        raise BadRequest(f"env is unusable: {error}") from error
    if not isinstance(members, dict):
        raise BadRequest("env must be a JSON object")
    cloned = cast("dict[str, object]", members)
    if cloned.get(TAG) != "clone":
        return env, False
    data, handles = cloned.get("data"), cloned.get("handles")
    if not isinstance(data, str):
        raise BadRequest("env is tagged as clone text and has none")
    try:
        check_clone("env", data.encode("utf-8", "surrogatepass"))
    except ToolFailure as error:
        raise BadRequest(str(error)) from error
    if not isinstance(handles, list):
        raise BadRequest("env is tagged as clone text, and its handles are no list")
    declared = {"function": frozenset(run.functions), "service": frozenset(run.services)}
    if not all(_is_declared(handle, declared) for handle in cast("list[object]", handles)):
        raise BadRequest("env has a handle that is neither a declared function nor a declared service")
    return env, True


def _is_declared(handle: object, declared: dict[str, frozenset[str]]) -> bool:
    if not isinstance(handle, list):
        return False
    match cast("list[object]", handle):
        case [str() as kind, str() as path]:
            return path in declared.get(kind, ())
        case _:
            return False
