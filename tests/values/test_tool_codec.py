"""The tool boundary's codec, Python's side on its own. Against the guest's: tests/guest/test_codec.py."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import types
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.values import ValueRefused, decode_args, encode_value
from codemode_executor.values.tool_codec import MAX_DEPTH, MAX_SAFE_INTEGER, TAG, decode_json

TEXT = st.text(st.characters(codec=None), max_size=8)
KEYS = st.sampled_from([TAG, "data", "value", "escaped", "__proto__", "a"]) | TEXT
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(["escaped", "Uint8Array", "AAAA"])
    | st.binary(max_size=12)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Shade(str, enum.Enum):
    DARK = "dark"


class Word(str):
    """A string that prints itself in other words than it holds."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@dataclasses.dataclass
class Point:
    x: int
    inner: object = None


class Pair(NamedTuple):
    left: int
    right: str


class Record(msgspec.Struct):
    name: str
    raw: bytes = b""


class Model:
    """What a pydantic model looks like to the codec."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def model_dump(self, *, mode: str) -> object:
        assert mode == "json"
        return self._answer


class Frozen(Mapping[str, int]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self):
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def tagged(data: bytes, kind: str = "Uint8Array") -> dict[str, str]:
    return {TAG: kind, "data": base64.b64encode(data).decode()}


@given(value=VALUES)
def test_results_come_back_as_arguments(value: object) -> None:
    assert decode_args(b"[" + encode_value(value) + b"]") == [value]


@given(value=VALUES)
def test_what_is_encoded_is_json_in_utf8(value: object) -> None:
    json.loads(encode_value(value).decode("utf-8"))


@given(args=st.lists(VALUES, max_size=4))
def test_strings_and_bytes_decode_alike(args: list[object]) -> None:
    text = encode_value(args)
    assert decode_args(text.decode()) == decode_args(text) == args


# The table of `encode_value`, row by row: what the guest's JSON.parse is given.
@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, None),
        (True, True),
        (False, False),
        ("é\u2028😀\0", "é\u2028😀\0"),
        (0, 0),
        (-7, -7),
        (1.5, 1.5),
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
        ([1, [2]], [1, [2]]),
        ((1, (2,)), [1, [2]]),
        ({1}, [1]),
        (frozenset({"a"}), ["a"]),
        (Pair(1, "b"), [1, "b"]),
        ({"a": 1}, {"a": 1}),
        (
            {2: "a", True: "b", False: "d", None: "c"},
            {"2": "a", "true": "b", "false": "d", "null": "c"},
        ),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Frozen(), {"a": 1}),
        (b"\0\xff", tagged(b"\0\xff")),
        (b"", tagged(b"")),
        (bytearray(b"ab"), tagged(b"ab")),
        (memoryview(b"ab"), tagged(b"ab")),
        (Point(1, Point(2)), {"x": 1, "inner": {"x": 2, "inner": None}}),
        (Record("n", b"r"), {"name": "n", "raw": tagged(b"r")}),
        (Model({"a": [1]}), {"a": [1]}),
        (Model(Model(1)), 1),
        (
            datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
            "2024-02-29T01:02:03+00:00",
        ),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (datetime.time(1, 2, 3, 4), "01:02:03.000004"),
        (decimal.Decimal("1.10"), "1.10"),
        (decimal.Decimal("NaN"), "NaN"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Shade.DARK, "dark"),
        ([Colour.RED, {"a": Level.HIGH}], ["red", {"a": 3}]),
    ],
    ids=repr,
)
def test_the_documented_table(value: object, seen: object) -> None:
    assert json.loads(encode_value(value)) == seen


@pytest.mark.parametrize("value", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, [MAX_SAFE_INTEGER]])
def test_safe_integers_cross(value: object) -> None:
    assert json.loads(encode_value(value)) == value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (2**53, "result"),
        (-(2**53), "result"),
        (10**40, "result"),
        ({"a": [0, 2**53]}, "result.a[1]"),
        ({"a": {"b": Point(2**60)}}, "result.a.b.x"),
        ([Record("n", b""), (2**53,)], "result[1][0]"),
    ],
)
def test_refuses_integers_that_javascript_rounds(value: object, path: str) -> None:
    with pytest.raises(ValueRefused) as caught:
        encode_value(value)
    assert str(caught.value).startswith(f"{path} is the integer ")
    assert "return it as a string" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "result is of type object, which has no form in JavaScript"),
        ({"a": [print]}, "result.a[0] is of type builtin_function_or_method"),
        (1j, "result is of type complex"),
        (Point, "result is of type type"),
        ({"a": {1.5: 2}}, "result.a has a key of type float: use strings"),
        ({(1, 2): 3}, "result has a key of type tuple: use strings"),
        ({b"a": 3}, "result has a key of type bytes: use strings"),
        (range(3), "result is of type range"),
        ((number for number in [1]), "result is of type generator"),
    ],
)
def test_refuses_other_types_by_path(value: object, message: str) -> None:
    with pytest.raises(ValueRefused) as caught:
        encode_value(value)
    assert str(caught.value).startswith(message)


def test_refuses_bytes_that_are_not_contiguous() -> None:
    # base64 copies a strided view; whichever way it goes, it must not be another error.
    assert json.loads(encode_value(memoryview(b"abcd")[::2])) == tagged(b"ac")


def in_lists(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def in_mappings(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def in_dataclasses(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = Point(0, value)
    return value


def in_models(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = Model(value)
    return value


NESTS = pytest.mark.parametrize("nest", [in_lists, in_mappings, in_dataclasses, in_models])


@NESTS
def test_nesting_up_to_the_bound_crosses(nest: Callable[[int], object]) -> None:
    encode_value(nest(MAX_DEPTH))


@NESTS
@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 3 * MAX_DEPTH, 20_000])
def test_refuses_deeper_nesting(nest: Callable[[int], object], depth: int) -> None:
    with pytest.raises(ValueRefused, match=f"nests deeper than {MAX_DEPTH} levels"):
        encode_value(nest(depth))


def test_refuses_cycles() -> None:
    items: list[object] = []
    items.append({"again": items})
    with pytest.raises(ValueRefused, match="part of a cycle"):
        encode_value(items)
    point = Point(1)
    point.inner = point
    with pytest.raises(ValueRefused, match="part of a cycle"):
        encode_value(point)


def test_shared_references_are_no_cycle() -> None:
    shared = {"a": 1}
    assert json.loads(encode_value([shared, shared])) == [shared, shared]


def test_lone_surrogates_leave_as_escapes() -> None:
    assert encode_value("\ud800") == b'"\\ud800"'
    assert json.loads(encode_value({"\udfff": ["é\ud83d"]})) == {"\udfff": ["é\ud83d"]}


def test_a_string_is_encoded_by_what_it_holds() -> None:
    assert json.loads(encode_value([Word("held")])) == ["held"]
    assert json.loads(encode_value({Word("held"): 1})) == {"held": 1}


def test_an_enum_member_as_key_is_its_value() -> None:
    assert json.loads(encode_value({Level.HIGH: 1})) == {"3": 1}
    assert json.loads(encode_value({Shade.DARK: 1})) == {"dark": 1}


@pytest.mark.parametrize(
    "value",
    [
        {TAG: "Uint8Array", "data": "AAAA"},
        {TAG: "Uint8Array", "data": "no base64"},
        {TAG: "ArrayBuffer", "data": 1},
        {TAG: "escaped", "value": {TAG: "escaped", "value": 1}},
        {TAG: "escaped", "value": [1]},
        {TAG: None},
        {TAG: {TAG: "Uint8Array", "data": "AAAA"}, "data": b"\1"},
        [{"a": {TAG: 1, "value": {TAG: 2}}}],
    ],
)
def test_data_that_looks_like_a_tag_is_wrapped(value: object) -> None:
    text = encode_value(value)
    assert b'"escaped"' in text
    assert decode_args(b"[" + text + b"]") == [value]


def test_data_that_does_not_look_like_a_tag_is_left_alone() -> None:
    assert encode_value({"data": "AAAA", "value": TAG}) == (b'{"data":"AAAA","value":"__codemode_binary_v1__"}')


@pytest.mark.parametrize("kind", ["Uint8Array", "ArrayBuffer", "ArrayBufferView"])
def test_every_binary_tag_decodes_to_bytes(kind: str) -> None:
    args = json.dumps([tagged(b"\0\1\xff", kind), {"in": [tagged(b"", kind)]}])
    assert decode_args(args) == [b"\0\1\xff", {"in": [b""]}]


def test_arguments_as_json_has_them() -> None:
    args = decode_args('[1, 1.5, -0.0, 1e21, "a", null, true, {"a": []}, "\\ud800"]')
    assert args == [1, 1.5, 0.0, 1e21, "a", None, True, {"a": []}, "\ud800"]
    assert [type(arg) for arg in args[:3]] == [int, float, float]


def test_raw_lone_surrogates_in_a_string_decode() -> None:
    assert decode_args('["\ud800"]') == ["\ud800"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[", "not JSON"),
        ("[NaN]", "not JSON"),
        ("[Infinity]", "not JSON"),
        ("\ufeff[1]", "not JSON"),
        ('["\\ud800", NaN]', "not JSON"),
        ("{}", "must be a JSON array"),
        ("1", "must be a JSON array"),
        ("null", "must be a JSON array"),
        ("[" * 100_000, "nests too deeply"),
        ("[" + "9" * 5000 + "]", "."),
        (json.dumps([{TAG: "Uint8Array", "data": "*"}]), "does not hold base64"),
        (json.dumps([{TAG: "Uint8Array", "data": "é"}]), "does not hold base64"),
        (json.dumps([[{"a": {TAG: "ArrayBuffer", "data": "AAA"}}]]), "does not hold base64"),
    ],
)
def test_refuses_broken_arguments(text: str, message: str) -> None:
    with pytest.raises(ValueRefused, match=message):
        decode_args(text)


def test_tags_in_deep_nesting_are_decoded_or_refused() -> None:
    for depth in (100, 400, 900, 100_000):
        text = "[" * depth + json.dumps(tagged(b"x")) + "]" * depth
        try:
            value: object = decode_args(text)
        except ValueRefused:
            continue
        while isinstance(value, list):
            (value,) = value
        assert value == b"x"


@given(text=st.binary(max_size=48) | st.text(max_size=48).map(str.encode))
def test_any_bytes_are_arguments_or_refused(text: bytes) -> None:
    try:
        assert isinstance(decode_args(text), list)
    except ValueRefused as error:
        assert str(error)


@given(value=VALUES)
def test_decode_json_reads_what_json_writes(value: object) -> None:
    plain = encode_value(value)
    assert decode_json(plain) == json.loads(plain)


@pytest.mark.parametrize("text", [b'{"x":1e9990}', b'{"a":"\\ud800","x":-1e9990}'])
def test_a_number_that_no_float_holds_is_refused(text: bytes) -> None:
    """By both decoders: the one for lone surrogates made an infinity of it."""
    with pytest.raises(ValueRefused):
        decode_json(text)
