"""Rules of JavaScript that upstream's texts follow: order of keys, numbers, JSON, white space, UTF-16 units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import cast

_MAX_INDEX = 2**32 - 2
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotJSON(ValueError):
    """``JSON.stringify`` would not write the value."""


def entries(members: Mapping[str, object]) -> list[tuple[str, object]]:
    """``Object.entries``: array indices first, in their order, then the rest as it was added."""
    items = list(members.items())
    indices = [item for item in items if _is_index(item[0])]
    if not indices:
        return items
    indices.sort(key=lambda item: int(item[0]))
    return indices + [item for item in items if not _is_index(item[0])]


def _is_index(key: str) -> bool:
    return _INDEX.match(key) is not None and int(key) <= _MAX_INDEX


def truthy(value: object) -> bool:
    """A value of JSON, as a condition: empty arrays and objects are true."""
    return isinstance(value, (list, dict)) or (value == value and bool(value))  # NaN is not itself, and false


def trim(text: str) -> str:
    """``String.prototype.trim``."""
    return text.strip(_WHITE_SPACE)


def number_text(number: float) -> str:
    """``String(number)``."""
    value = _as_double(number)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The decimal point stands after so many of the digits.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    more = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{more}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _as_double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def quote(text: str) -> str:
    """``JSON.stringify`` of a string."""
    return f'"{_ESCAPED.sub(_escape, paired(text))}"'


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"


def stringify(value: object) -> str:
    """``JSON.stringify`` of a value of JSON.

    Raises:
        NotJSON: it nests too deeply, or is no value of JSON.
    """
    try:
        return _stringify(value)
    except RecursionError:
        raise NotJSON("the value nests too deeply") from None


def _stringify(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (int, float)):
        return number_text(value) if math.isfinite(_as_double(value)) else "null"
    if isinstance(value, (list, tuple)):
        return f"[{','.join([_stringify(item) for item in cast('list[object]', value)])}]"
    if isinstance(value, Mapping):
        members = entries(cast("Mapping[str, object]", value))
        return "{" + ",".join([f"{quote(key)}:{_stringify(item)}" for key, item in members]) + "}"
    raise NotJSON(f"a {type(value).__name__} is no value of JSON")


def paired(text: str) -> str:
    """``text`` with surrogates that stand side by side as the one character that they are in JavaScript."""
    if text.isascii() or not _ESCAPED.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def length(text: str) -> int:
    """``text.length``, in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def quoted_length(text: str) -> int:
    """``JSON.stringify(text).length``."""
    return length(text) + 2 if not _ESCAPED.search(text) else length(quote(text))


def head(text: str, units: int) -> str:
    """The first ``units`` UTF-16 units; one less if the last would be half of a character."""
    if text.isascii():
        return text[:units]
    data = text.encode("utf-16-le", "surrogatepass")
    cut = 2 * units
    if 0 < cut < len(data) and data[cut - 1] & 0xFC == 0xD8 and data[cut + 1] & 0xFC == 0xDC:
        cut -= 2
    return data[:cut].decode("utf-16-le", "surrogatepass")
