"""What a client answers a call with, checked: the bytes pass to the program and are not decoded on their way."""

from __future__ import annotations

import msgspec

from ..tool_failure import ToolFailure
from ..values.tool_codec import encode_json
from ..wire import bridge as wire

_FORMS = (b"0", b"1", b"2")
_read_raw = msgspec.json.Decoder(msgspec.Raw).decode


def failure_of_answer(answer: wire.AnswerError) -> ToolFailure:
    """What the program sees of a call that failed at the client."""
    members = ((key, getattr(answer, key)) for key in ("name", "code", "details", "cause"))
    extra = {key: value for key, value in members if isinstance(value, msgspec.Raw)}
    return ToolFailure(answer.message or "the tool failed without a message", msgspec.json.encode(extra))


def is_well_formed(kind: wire.CallKind, answer: bytes) -> bool:
    """It is beyond doubt what an answer to a call of this kind must be. Fast, whatever it is."""
    if kind == "tool":
        return not answer or _is_json(answer)
    return answer[:1] in _FORMS and (answer == b"0" or _is_json(answer[1:]))


def checked_answer(kind: wire.CallKind, what: str, answer: bytes) -> bytes | None:
    """An answer as the program's isolate takes it: JSON, ``None`` for undefined.

    Args:
        kind: of the call.
        what: was called.
        answer: tool JSON, or clone text.

    Raises:
        ToolFailure: it is not.
    """
    if kind == "tool":
        if answer:
            _check_json(f"the result of {what}", answer)
        return answer or None
    check_clone(f"the result of {what}", answer)
    return encode_json(answer.decode("utf-8", "surrogatepass"))


def check_clone(what: str, text: bytes) -> None:
    """Raises:
    ToolFailure: ``text`` is not the digit of a form and JSON; the message begins with ``what``.
    """
    if text[:1] not in _FORMS:
        raise ToolFailure(f"{what} does not begin with the digit of a form")
    if text[:1] != b"0":
        _check_json(what, text[1:])
    elif len(text) > 1:
        raise ToolFailure(f"{what} is undefined, and yet has a text")


def _is_json(text: bytes) -> bool:
    try:
        if not text.isascii():
            text.decode("utf-8")
        _read_raw(text)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return True


def _check_json(what: str, text: bytes) -> None:
    if _is_json(text):
        return
    try:
        text.decode("utf-8")
        _read_raw(wire.without_lone_surrogates(text))
    except UnicodeDecodeError:
        raise ToolFailure(f"{what} is not UTF-8") from None
    except RecursionError:
        raise ToolFailure(f"{what} is not JSON: it nests too deeply to be read") from None
    except msgspec.DecodeError as error:
        raise ToolFailure(f"{what} is not JSON: {error}") from None
