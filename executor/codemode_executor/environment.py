"""What a program finds as ``this.env``: values, and functions of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from .contract import Tool
from .errors import BadRequest
from .limits import Limits
from .values import ValueRefused, encode_value
from .values.tool_codec import EnvFunction

_MAX_FUNCTIONS = 1000
_MAX_PATH = 256


def encode_env(env: Mapping[str, object] | None, limits: Limits) -> tuple[bytes, dict[str, Tool]]:
    """``env`` as JSON, and the functions in it by their paths (``DB.query``).

    Raises:
        BadRequest: a value has no form in JavaScript, or all are beyond ``Limits.argument_bytes``.
    """
    if env is None:
        return b"{}", {}
    if not isinstance(env, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"env must be a mapping of names to values, not {type(env).__name__}")
    functions: dict[str, Tool] = {}
    try:
        encoded = encode_value(_without_functions(env, "", functions))
    except ValueRefused as error:
        raise BadRequest(f"env cannot be encoded: {error}") from error
    except RecursionError:
        raise BadRequest("env cannot be encoded: it nests too deeply") from None
    if len(encoded) > limits.argument_bytes:
        raise BadRequest(
            f"env is {len(encoded)} bytes long as JSON; the limit is {limits.argument_bytes} bytes"
            " (Limits.argument_bytes)"
        )
    return encoded, functions


def _without_functions(value: object, path: str, functions: dict[str, Tool]) -> object:
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {
            key: _without_functions(item, f"{path}.{key}" if path else f"{key}", functions)
            for key, item in members.items()
        }
    if isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
        return [_without_functions(item, f"{path}[{index}]", functions) for index, item in enumerate(items)]
    if callable(value) and not isinstance(value, type) and not hasattr(value, "model_dump"):
        if len(functions) >= _MAX_FUNCTIONS:
            raise BadRequest(f"env holds more than {_MAX_FUNCTIONS} functions")
        if len(path) > _MAX_PATH:
            raise BadRequest(f"env holds a function whose path is longer than {_MAX_PATH} characters: {path[:60]}…")
        if path in functions:
            raise BadRequest(f"env holds two functions with the path {path[:60]!r}: rename one with a dot in its name")
        functions[path] = value
        return EnvFunction(path)
    return value
