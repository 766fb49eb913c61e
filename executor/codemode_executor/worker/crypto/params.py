"""Reading the parameters of an operation. They are the guest's: nothing about them is known before it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..host_calls import GuestError


def refusal(message: str, name: str = "OperationError") -> GuestError:
    """An error for the program, to be raised."""
    return GuestError(name, message)


def integer(params: dict[str, Any], key: str, low: int, high: int) -> int:
    """The integer at ``key``, between ``low`` and ``high``."""
    value = params.get(key)
    if type(value) is not int or not low <= value <= high:
        raise refusal(f"{key} must be an integer between {low} and {high}", "RangeError")
    return value


def text(params: dict[str, Any], key: str) -> str:
    """The text at ``key``."""
    value = params.get(key)
    if not isinstance(value, str):
        raise refusal(f"{key} must be a string", "TypeError")
    return value


def record(params: dict[str, Any], key: str) -> dict[str, object]:
    """The JSON object at ``key``."""
    value: object = params.get(key)
    if not isinstance(value, dict):
        raise refusal(f"{key} must be an object", "TypeError")
    return cast("dict[str, object]", value)


def parts(buffers: Sequence[bytes], count: int) -> Sequence[bytes]:
    """The buffers, of which there have to be ``count``."""
    if len(buffers) != count:
        raise refusal(f"the operation takes {count} buffers", "TypeError")
    return buffers


def with_passphrase(buffers: Sequence[bytes]) -> tuple[bytes, bytes | None]:
    """The one buffer that there has to be, and perhaps a passphrase."""
    if len(buffers) == 2:
        return buffers[0], buffers[1]
    return parts(buffers, 1)[0], None
