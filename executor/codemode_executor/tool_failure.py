"""How a tool call fails in the program."""

from __future__ import annotations

import logging
from typing import cast

import msgspec

from .values import ValueRefused, encode_value
from .values.text import well_formed
from .values.tool_codec import decode_json, encode_json

_MAX_MESSAGE = 65536
_MAX_EXTRA = 1024 * 1024
_log = logging.getLogger("codemode_executor")


class ToolFailure(Exception):
    """A call that ends in an Error in the program.

    Args:
        message: the Error's message, never empty.
        extra: JSON object with any of ``name``, ``code``, ``details``, ``cause``.
    """

    def __init__(self, message: str, extra: bytes = b"{}") -> None:
        super().__init__(message)
        clean = well_formed(message)
        more = len(clean) - _MAX_MESSAGE
        self.message = clean if more <= 0 else f"{clean[:_MAX_MESSAGE]}… ({more} more characters)"
        self.extra = extra if len(extra) <= _MAX_EXTRA else b"{}"


def failure_of(error: BaseException) -> ToolFailure:
    """What the program sees of an exception. Its parts may be properties that raise; they ride along where they can."""
    extra: dict[str, msgspec.Raw] = {"name": msgspec.Raw(msgspec.json.encode(type(error).__name__))}
    for key in ("code", "details"):
        try:
            value = getattr(error, key, None)
            if value is not None and not callable(value):
                extra[key] = msgspec.Raw(encode_value(value))
        except Exception:
            _log.debug("attribute %s of a tool's %s does not cross", key, type(error).__name__, exc_info=True)
    cause = error.__cause__
    if cause is not None:
        extra["cause"] = msgspec.Raw(encode_value(f"{type(cause).__name__}: {_text_of(cause)}"))
    return ToolFailure(_text_of(error) or type(error).__name__, msgspec.json.encode(extra))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        _log.debug("a tool's %s has no text", type(error).__name__, exc_info=True)
        return ""


def read_answer(answer: object) -> bytes | None:
    """``{"result": …}`` or ``{"error": …}`` of a dispatch coroutine."""
    if not isinstance(answer, str):
        raise ToolFailure(f"dispatch must return a JSON string, not {type(answer).__name__}")
    try:
        members = decode_json(answer.encode("utf-8", "replace"))
    except ValueRefused as error:
        raise ToolFailure(f'dispatch must return {{"result": …}} or {{"error": …}} as JSON: {error}') from error
    if not isinstance(members, dict):
        raise ToolFailure('dispatch must return a JSON object, {"result": …} or {"error": …}')
    answered = cast(dict[str, object], members)
    error = answered.get("error")
    if error:
        extra = {key: answered[key] for key in ("name", "code", "details", "cause") if key in answered}
        raise ToolFailure(str(error), encode_json(extra))
    return encode_json(answered["result"]) if "result" in answered else None
