"""The result as the harness writes it, in Python."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.values import ValueRefused, decode_result

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None), max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(value=JSON_VALUES, ascii_only=st.booleans())
def test_round_trip(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert decode_result(1, text) == value


def test_undefined_is_none() -> None:
    assert decode_result(0, b"") is None
    assert decode_result(1, b"null") is None


def test_minus_zero_keeps_its_sign() -> None:
    value = decode_result(1, b"-0.0")
    assert isinstance(value, float)
    assert math.copysign(1, value) == -1


def test_escaped_lone_surrogates_survive() -> None:
    assert decode_result(1, b'["\\ud800","\\udc00\\ud800"]') == ["\ud800", "\udc00\ud800"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1,]",
        b"undefined",
        b"'a'",
        b"1 2",
        b'"\xff"',
        b"\xff\xfe",
        b'{"a":1',
        b"NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b"\xef\xbb\xbf[1]",
        "[1]".encode("utf-16"),
    ],
)
def test_refuses_what_is_not_json(text: bytes) -> None:
    with pytest.raises(ValueRefused, match="not JSON"):
        decode_result(1, text)


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 99_999 + b'"\\ud800"'])
def test_refuses_what_nests_too_deeply(text: bytes) -> None:
    with pytest.raises(ValueRefused, match="nests too deeply"):
        decode_result(1, text)


@given(text=st.binary(max_size=64))
def test_any_bytes_are_a_value_or_refused(text: bytes) -> None:
    try:
        decode_result(1, text)
    except ValueRefused as error:
        assert str(error)
