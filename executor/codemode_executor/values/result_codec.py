"""The program's result, as the harness encodes it: see ``executor/guest/src/harness/result.js`` for the format.

What structured clone carries arrives here as the natural Python value:

====================================  =========================================================
JavaScript                            Python
====================================  =========================================================
undefined, null                       ``None``
boolean, string                       ``bool``, ``str``
number                                ``int`` if it is whole and JavaScript can count by ones there,
                                      else ``float`` (NaN, ±Infinity and -0 included)
bigint                                ``int``
plain object                          ``dict``
array                                 ``list``; a hole is ``None``
Map                                   ``dict``; a list of ``(key, value)`` if keys are objects, or
                                      equal in Python
Set                                   ``list``
Date                                  ``datetime`` in UTC; ``None`` if invalid or beyond its years
RegExp                                ``JSRegExp``
Error, DOMException                   ``JSError``
ArrayBuffer, Uint8Array, DataView     ``bytes``
other typed arrays                    ``list`` of numbers
boxed primitives                      the primitive
function                              a ``Handle``, where the run is retained
====================================  =========================================================

A ``Map`` with integers beyond 2^60 among its keys is a list of pairs, too. Cycles and objects that are reached twice
stay what they are, for lists and dicts.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import struct
from collections.abc import Callable
from typing import ClassVar, cast

import msgspec

from .tool_codec import ValueRefused, decode_json

UNDEFINED = 0
PLAIN = 1
RICH = 2

MakeHandle = Callable[[int], object]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MAX_SPARSE = 1_000_000
# Python's hash of a larger integer is a remainder, so that a program can make as many equal ones as it likes.
_MAX_KEY = 2**60
# What a few bytes of text may become: holes, and copies of parts of a buffer.
_MAX_EXPANSION = 16 * 1024 * 1024
_MAX_DIGITS = 4000
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}
_ERROR_NAMES = frozenset(("Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"))
# Code of struct and size of an element; both ends run on little-endian machines.
_ELEMENTS = {
    "Int8Array": "b",
    "Uint8Array": "B",
    "Uint8ClampedArray": "B",
    "Int16Array": "h",
    "Uint16Array": "H",
    "Int32Array": "i",
    "Uint32Array": "I",
    "Float16Array": "e",
    "Float32Array": "f",
    "Float64Array": "d",
    "BigInt64Array": "q",
    "BigUint64Array": "Q",
    "DataView": "B",
}
_AS_BYTES = frozenset(("Uint8Array", "Uint8ClampedArray", "DataView"))


class JSRegExp(msgspec.Struct, frozen=True):
    """A regular expression of JavaScript, whose syntax is not Python's."""

    source: str
    flags: str


class JSError(msgspec.Struct):
    """An Error that a program returned (one that it throws is ``ExecuteResult.error``)."""

    name: str
    message: str
    stack: str
    cause: object = None


def decode_result(form: int, value: bytes, handle: MakeHandle | None = None) -> object:
    """The result as a Python value.

    Args:
        form: 0 for undefined, 1 for plain JSON, 2 for the rich form.
        value: the encoded result, UTF-8.
        handle: makes what stands for a function of that number.

    Raises:
        ValueRefused: it is not what the harness writes, or nests too deeply for Python.
    """
    if form == UNDEFINED:
        return None
    decoded = decode_json(value)
    if form == PLAIN:
        return decoded
    if form != RICH:
        raise ValueRefused(f"the result has the unknown form {form}")
    if not isinstance(decoded, dict):
        raise ValueRefused("a rich result is not an object")
    fields = cast(dict[str, object], decoded)
    table = fields.get("table")
    if not isinstance(table, list) or "root" not in fields:
        raise ValueRefused("a rich result lacks its root or its table")
    try:
        return _Reader(cast(list[object], table), handle, _MAX_EXPANSION + 4 * len(value)).child(fields["root"])
    except RecursionError:
        raise ValueRefused("the result nests too deeply to be decoded") from None


class _Reader:
    def __init__(self, table: list[object], handle: MakeHandle | None, budget: int) -> None:
        self._table = table
        self._budget = budget
        self._handle = handle
        self._made: dict[int, object] = {}
        self._open: set[int] = set()

    def child(self, node: object) -> object:
        if isinstance(node, list):
            return self._leaf(cast(list[object], node))
        if isinstance(node, dict):
            return self._object(cast(dict[str, object], node).get("r"))
        return node

    def _spend(self, size: int) -> None:
        """Something is about to be made that takes ``size`` bytes, however short its text."""
        self._budget -= size
        if self._budget < 0:
            raise ValueRefused(
                "the result takes much more memory in Python than its text: it holds arrays with many holes, or many"
                " views of one buffer"
            )

    def _leaf(self, node: list[object]) -> object:
        if len(node) == 2 and node[0] == "h" and self._handle is not None:
            return self._handle(_count(node[1]))
        return _leaf(node)

    def _object(self, number: object) -> object:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._table):
            raise ValueRefused(f"a rich result refers to entry {number!r} of {len(self._table)}")
        if number in self._made:
            return self._made[number]
        if number in self._open:
            raise ValueRefused("the result has a cycle through a value that Python cannot make cyclic")
        entry = self._table[number]
        if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
            raise ValueRefused("an entry of a rich result is not a list with a tag")
        parts = cast(list[object], entry)
        reader = self._READERS.get(cast(str, parts[0]))
        if reader is None:
            raise ValueRefused(f"an entry of a rich result has the unknown tag {str(parts[0])[:20]!r}")
        self._open.add(number)
        made = reader(self, number, parts[1:])
        self._made[number] = made
        self._open.discard(number)
        return made

    def _plain_object(self, number: int, parts: list[object]) -> object:
        members: dict[str, object] = {}
        self._made[number] = members
        for key, node in _pairs(parts):
            members[_text(key)] = self.child(node)
        return members

    def _array(self, number: int, parts: list[object]) -> object:
        items: list[object] = []
        self._made[number] = items
        for node in parts:
            items.append(self.child(node))
        return items

    def _sparse(self, number: int, parts: list[object]) -> object:
        length = _count(parts[0] if parts else None)
        if length > _MAX_SPARSE:
            raise ValueRefused(
                f"the result holds an array with holes of length {length}; Python gets at most {_MAX_SPARSE} elements"
            )
        self._spend(8 * length)
        items: list[object] = [None] * length
        self._made[number] = items
        for index, node in _pairs(parts[1:]):
            if _count(index) >= length:
                raise ValueRefused("an array of a rich result has an element beyond its length")
            items[_count(index)] = self.child(node)
        return items

    def _map(self, number: int, parts: list[object]) -> object:
        members: dict[object, object] = {}
        self._made[number] = members
        pairs: list[tuple[object, object]] = []
        for key_node, node in _pairs(parts):
            key = self.child(key_node)
            pairs.append((key, self.child(node)))
        if any(isinstance(key, (dict, list, JSError)) or _is_large(key) for key, _ in pairs):
            return pairs
        for key, value in pairs:
            if key in members:
                return pairs  # 1 and true are one key in Python
            members[key] = value
        return members

    def _set(self, number: int, parts: list[object]) -> object:
        return self._array(number, parts)

    def _date(self, number: int, parts: list[object]) -> object:
        (milliseconds,) = _exactly(parts, 1)
        if milliseconds is None:
            return None
        if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
            raise ValueRefused("a date of a rich result is not a number")
        try:
            return _EPOCH + datetime.timedelta(milliseconds=milliseconds)
        except OverflowError:
            return None

    def _regexp(self, number: int, parts: list[object]) -> object:
        source, flags = _exactly(parts, 2)
        return JSRegExp(_text(source), _text(flags))

    def _error(self, number: int, parts: list[object]) -> object:
        if len(parts) not in (3, 4):
            raise ValueRefused("an error of a rich result has the wrong number of parts")
        name = _text(parts[0])
        error = JSError(name if name in _ERROR_NAMES else "Error", _text(parts[1]), _text(parts[2]))
        self._made[number] = error
        if len(parts) == 4:
            error.cause = self.child(parts[3])
        return error

    def _exception(self, number: int, parts: list[object]) -> object:
        name, message, _ = _exactly(parts, 3)
        return JSError(_text(name), _text(message), "")

    def _buffer(self, number: int, parts: list[object]) -> object:
        (data,) = _exactly(parts, 1)
        try:
            return base64.b64decode(_text(data), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueRefused(f"a buffer of a rich result does not hold base64: {error}") from None

    def _view(self, number: int, parts: list[object]) -> object:
        kind, buffer_number, offset, length = _exactly(parts, 4)
        code = _ELEMENTS.get(_text(kind))
        if code is None:
            raise ValueRefused(f"a rich result holds a view of the unknown type {str(kind)[:40]!r}")
        buffer = self._object(buffer_number)
        if not isinstance(buffer, bytes):
            raise ValueRefused("a view of a rich result stands on something that is no buffer")
        start, count = _count(offset), _count(length)
        end = start + count * struct.calcsize("<" + code)
        if end > len(buffer):
            raise ValueRefused("a view of a rich result reaches beyond its buffer")
        if end - start < len(buffer):
            self._spend(end - start)  # a copy
        data = buffer[start:end]
        if kind not in _AS_BYTES:
            self._spend(8 * count)
        return data if kind in _AS_BYTES else list(struct.unpack(f"<{count}{code}", data))

    def _boxed(self, number: int, parts: list[object]) -> object:
        (node,) = _exactly(parts, 1)
        return self.child(node)

    _READERS: ClassVar[dict[str, Callable[[_Reader, int, list[object]], object]]] = {
        "o": _plain_object,
        "a": _array,
        "s": _sparse,
        "m": _map,
        "e": _set,
        "d": _date,
        "x": _regexp,
        "E": _error,
        "X": _exception,
        "b": _buffer,
        "v": _view,
        "w": _boxed,
    }


def _is_large(key: object) -> bool:
    return isinstance(key, int) and abs(key) >= _MAX_KEY


def _leaf(node: list[object]) -> object:
    if node == ["u"]:
        return None
    if len(node) == 2 and isinstance(node[1], str):
        if node[0] == "n" and node[1] in _SPECIAL:
            return _SPECIAL[node[1]]
        if node[0] == "i":
            return _bigint(node[1])
    raise ValueRefused("a rich result holds a primitive of an unknown kind")


def _bigint(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueRefused(f"the result holds a bigint of {len(digits)} digits; Python gets at most {_MAX_DIGITS}")
    if not digits.lstrip("-").isdecimal() or not digits.isascii():
        raise ValueRefused("a bigint of a rich result is not a number")
    return int(digits)


def _pairs(parts: list[object]) -> list[tuple[object, object]]:
    if len(parts) % 2:
        raise ValueRefused("an entry of a rich result has a key without a value")
    return list(zip(parts[::2], parts[1::2], strict=True))


def _exactly(parts: list[object], count: int) -> list[object]:
    if len(parts) != count:
        raise ValueRefused("an entry of a rich result has the wrong number of parts")
    return parts


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueRefused("a rich result holds something else where a text should be")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueRefused("a rich result holds something else where a count should be")
    return value
