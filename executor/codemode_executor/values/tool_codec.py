"""The tool boundary's codec: arguments in, results out.

JSON, with upstream's tagged base64 for bytes::

    {"__codemode_binary_v1__": "Uint8Array" | "ArrayBuffer" | "ArrayBufferView", "data": "<base64>"}

Data that merely looks like such a tag is wrapped in ``{"__codemode_binary_v1__": "escaped", "value": …}``.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import decimal
import enum
import json
import math
import uuid
from collections.abc import Callable, Mapping
from typing import cast

import msgspec

TAG = "__codemode_binary_v1__"
_TAG_BYTES = TAG.encode()

#: JavaScript's largest integer that is not rounded.
MAX_SAFE_INTEGER = 2**53 - 1

#: Deeper than this, the JSON decoders of Python and of other hosts run out of stack.
MAX_DEPTH = 200

_encode_json = msgspec.json.Encoder().encode
_decode_json = msgspec.json.Decoder().decode


@dataclasses.dataclass(frozen=True)
class EnvFunction:
    """Stands for a function of the host in what a program finds as ``this.env``."""

    path: str


class ValueRefused(ValueError):
    """A value cannot cross; the message names its path."""


def decode_json(text: bytes) -> object:
    """Parse JSON that came from a guest: lone surrogates and any depth that Python can hold are accepted.

    Raises:
        ValueRefused: it is not JSON, or nests too deeply.
    """
    try:
        try:
            return _decode_json(text)
        except msgspec.DecodeError:
            # msgspec refuses lone surrogates, which JavaScript strings may hold.
            return json.loads(
                text.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant, parse_float=_finite
            )
    except RecursionError:
        raise ValueRefused("the value nests too deeply to be decoded") from None
    except ValueError as error:
        raise ValueRefused(f"the text is not JSON: {error}") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def decode_args(args_json: bytes | str) -> list[object]:
    """A tool call's arguments as Python values, for hosts that dispatch strings.

    JavaScript's numbers become ``int`` or ``float``, ``null`` and what JSON has no word for become ``None``, bytes of
    any kind become ``bytes``.

    Args:
        args_json: the JSON array that left the isolate.

    Raises:
        ValueRefused: it is not a JSON array, nests too deeply, or holds a broken binary tag.
    """
    data = args_json.encode("utf-8", "surrogatepass") if isinstance(args_json, str) else args_json
    value = decode_json(data)
    if not isinstance(value, list):
        raise ValueRefused("tool arguments must be a JSON array")
    items = cast(list[object], value)
    if _TAG_BYTES not in data:
        return items
    try:
        return [_revive(item) for item in items]
    except RecursionError:
        raise ValueRefused("the arguments nest too deeply to be decoded") from None


def _revive(value: object) -> object:
    if isinstance(value, list):
        return [_revive(item) for item in cast(list[object], value)]
    if not isinstance(value, dict):
        return value
    members = cast(dict[str, object], value)
    if TAG not in members:
        return _revive_members(members)
    if members[TAG] == "escaped" and "value" in members:
        inner = members["value"]
        return _revive_members(cast(dict[str, object], inner)) if isinstance(inner, dict) else _revive(inner)
    data = members.get("data")
    if isinstance(data, str):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueRefused(f"a value tagged {TAG} does not hold base64: {error}") from None
    return _revive_members(members)


def _revive_members(members: dict[str, object]) -> dict[str, object]:
    return {key: _revive(item) for key, item in members.items()}


def encode_value(value: object) -> bytes:
    """JSON of a tool's result, UTF-8.

    =====================================  =============================================
    Python                                 the program sees
    =====================================  =============================================
    ``None``                               ``null``
    ``bool``, ``str``, ``int``, ``float``  the same; NaN and infinities become ``null``
    ``list``, ``tuple``, sets              an array
    mappings                               an object; keys must be ``str``, ``int``, ``bool`` or ``None``
    ``bytes``, ``bytearray``               a ``Uint8Array``
    dataclasses, msgspec structs           an object
    pydantic models                        an object, by ``model_dump(mode="json")``
    ``datetime``, ``date``, ``time``       an ISO 8601 string
    ``Decimal``, ``UUID``                  a string
    ``Enum`` members                       their value
    =====================================  =============================================

    Raises:
        ValueRefused: an integer beyond 2^53 - 1, a cycle or deep nesting, or a type that is not listed; the message
            names the path.
    """
    try:
        return encode_json(_plain(value, "result", 0))
    except RecursionError:
        # The caller's own stack counts too.
        raise ValueRefused("result nests too deeply to be encoded") from None


def encode_json(plain: object) -> bytes:
    """JSON of what is JSON already, lone surrogates included."""
    try:
        return _encode_json(plain)
    except UnicodeEncodeError:
        # Lone surrogates: JSON has escapes for them, UTF-8 has not.
        return json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def _plain(value: object, path: str, depth: int) -> object:
    if value is None or (isinstance(value, (bool, str)) and type(value) in (bool, str)):
        return value
    if depth > MAX_DEPTH:
        raise ValueRefused(f"{path} nests deeper than {MAX_DEPTH} levels, or is part of a cycle")
    if isinstance(value, enum.Enum):
        return _plain(value.value, path, depth + 1)
    if isinstance(value, int):
        number = int(value)
        if abs(number) > MAX_SAFE_INTEGER:
            raise ValueRefused(
                f"{path} is the integer {str(number)[:40]}; JavaScript rounds integers beyond 2^53 - 1:"
                " return it as a string"
            )
        return number
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return _plain_mapping(cast(Mapping[object, object], value), path, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = cast("list[object]", value)
        return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(items)]
    if isinstance(value, (bytes, bytearray)):
        return {TAG: "Uint8Array", "data": base64.b64encode(value).decode()}
    if isinstance(value, memoryview):
        return _plain(bytes(cast("memoryview[int]", value)), path, depth)
    return _plain_object(value, path, depth)


def _plain_mapping(value: Mapping[object, object], path: str, depth: int) -> dict[str, object]:
    members: dict[str, object] = {}
    for given, item in value.items():
        key: object = given.value if isinstance(given, enum.Enum) else given
        if isinstance(key, str):
            name = str.__str__(key)
        elif key is None or isinstance(key, (bool, int)):
            name = "null" if key is None else str(key).lower() if isinstance(key, bool) else str(int(key))
        else:
            raise ValueRefused(f"{path} has a key of type {type(key).__name__}: use strings")
        members[name] = _plain(item, f"{path}.{name}", depth + 1)
    return {TAG: "escaped", "value": members} if TAG in members else members


def _plain_object(value: object, path: str, depth: int) -> object:
    if isinstance(value, EnvFunction):
        return {TAG: "function", "data": value.path}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _plain_mapping(cast(Mapping[object, object], members), path, depth)
    if isinstance(value, msgspec.Struct):
        return _plain_mapping({name: getattr(value, name) for name in value.__struct_fields__}, path, depth)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    dump = cast("Callable[..., object] | None", getattr(value, "model_dump", None))
    if callable(dump) and not isinstance(value, type):
        return _plain(dump(mode="json"), path, depth + 1)
    raise ValueRefused(f"{path} is of type {type(value).__name__}, which has no form in JavaScript")
