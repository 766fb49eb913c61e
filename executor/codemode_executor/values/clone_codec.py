"""Values that enter an isolate as structured clone would carry them: the inverse of ``result_codec``.

====================================  =========================================================
Python                                JavaScript
====================================  =========================================================
``None``, ``bool``, ``str``           null, boolean, string
``int``                               number; bigint beyond 2^53 - 1
``float``                             number, NaN and infinities included
``list``, ``tuple``                   array
sets                                  Set
mappings, dataclasses, structs,       plain object
pydantic models
``bytes``, ``bytearray``              Uint8Array
``datetime``                          Date; one without a time zone is taken as UTC
``date``, ``time``                    an ISO 8601 string
``Decimal``, ``UUID``                 a string
``Enum`` members                      their value
====================================  =========================================================
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from .tool_codec import MAX_DEPTH, MAX_SAFE_INTEGER, ValueRefused, encode_json

_RICH = 2
_PLAIN = 1
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MAX_DIGITS = 4000


def encode_clone(value: object) -> tuple[int, bytes]:
    """``(form, text)`` of ``value``, as ``result_codec.decode_result`` and the guest's decoder read them.

    Raises:
        ValueRefused: a cycle or deep nesting, or a type that is not listed; the message names the path.
    """
    if _is_json(value, 0):
        return _PLAIN, encode_json(value)
    writer = _Writer()
    try:
        root = writer.child(value, "result", 0)
    except RecursionError:
        raise ValueRefused("result nests too deeply to be encoded") from None
    return _RICH, encode_json({"root": root, "table": writer.table})


def _is_json(value: object, depth: int) -> bool:
    """What JSON writes as it is. Almost every value is."""
    if value is None or type(value) in (bool, str):
        return True
    if type(value) is int:
        return abs(value) <= MAX_SAFE_INTEGER
    if type(value) is float:
        return math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)
    if depth > MAX_DEPTH:
        return False
    if type(value) is list:
        return all(_is_json(item, depth + 1) for item in cast("list[object]", value))
    if type(value) is dict:
        members = cast("dict[object, object]", value)
        return all(type(key) is str and _is_json(item, depth + 1) for key, item in members.items())
    return False


class _Writer:
    def __init__(self) -> None:
        self.table: list[list[object]] = []

    def child(self, value: object, path: str, depth: int) -> object:
        if value is None or (isinstance(value, (bool, str)) and type(value) in (bool, str)):
            return value
        if depth > MAX_DEPTH:
            raise ValueRefused(f"{path} nests deeper than {MAX_DEPTH} levels, or is part of a cycle")
        if isinstance(value, enum.Enum):
            return self.child(value.value, path, depth + 1)
        if isinstance(value, int):
            return _integer(int(value), path)
        if isinstance(value, float):
            return _number(float(value))
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (decimal.Decimal, uuid.UUID)):
            return str(value)
        if isinstance(value, (datetime.date, datetime.time)) and not isinstance(value, datetime.datetime):
            return value.isoformat()
        return {"r": self._object(value, path, depth)}

    def _entry(self, tag: str, *parts: object) -> int:
        self.table.append([tag, *parts])
        return len(self.table) - 1

    def _object(self, value: object, path: str, depth: int) -> int:
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[object, object]", value), path, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = cast("list[object]", value)
            number = self._entry("e" if isinstance(value, (set, frozenset)) else "a")
            for index, item in enumerate(items):
                self.table[number].append(self.child(item, f"{path}[{index}]", depth + 1))
            return number
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(cast("bytes", value))
            buffer = self._entry("b", base64.b64encode(data).decode())
            return self._entry("v", "Uint8Array", buffer, 0, len(data))
        if isinstance(value, datetime.datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
            return self._entry("d", (moment - _EPOCH) // datetime.timedelta(milliseconds=1))
        return self._record(value, path, depth)

    def _record(self, value: object, path: str, depth: int) -> int:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self._mapping(cast("Mapping[object, object]", members), path, depth)
        if isinstance(value, msgspec.Struct):
            return self._mapping({name: getattr(value, name) for name in value.__struct_fields__}, path, depth)
        dump = cast("Callable[..., object] | None", getattr(value, "model_dump", None))
        if callable(dump) and not isinstance(value, type):
            dumped = dump()
            if isinstance(dumped, Mapping):
                return self._mapping(cast("Mapping[object, object]", dumped), path, depth + 1)
        raise ValueRefused(f"{path} is of type {type(value).__name__}, which has no form in JavaScript")

    def _mapping(self, value: Mapping[object, object], path: str, depth: int) -> int:
        number = self._entry("o")
        for given, item in value.items():
            key: object = given.value if isinstance(given, enum.Enum) else given
            if not isinstance(key, (str, int)) or isinstance(key, bool):
                raise ValueRefused(f"{path} has a key of type {type(key).__name__}: use strings")
            self.table[number] += [str(key), self.child(item, f"{path}.{key}", depth + 1)]
        return number


def _integer(number: int, path: str) -> object:
    if abs(number) <= MAX_SAFE_INTEGER:
        return number
    if number.bit_length() > _MAX_DIGITS * 3:
        raise ValueRefused(f"{path} is an integer of more than {_MAX_DIGITS} digits")
    return ["i", str(number)]


def _number(number: float) -> object:
    if math.isfinite(number):
        return ["n", "-0"] if number == 0 and math.copysign(1, number) < 0 else number
    return ["n", "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"]
