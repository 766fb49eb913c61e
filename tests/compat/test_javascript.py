"""JavaScript's texts, beside JavaScript's own."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_compat import javascript as js
from codemode_compat import sanitize_tool_name
from compat.functions import Functions
from compat.schemas import NUMBERS, VALUES

SIDE_BY_SIDE = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SIDE_BY_SIDE
@given(number=NUMBERS)
def test_numbers(upstream: Functions, number: float) -> None:
    assert js.number_text(number) == upstream("numberText", text=json.dumps(number))


@pytest.mark.parametrize(
    ("number", "text"),
    [(-0.0, "0"), (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (10**400, "Infinity"), (True, "1")],
)
def test_numbers_that_json_cannot_write(number: float, text: str) -> None:
    assert js.number_text(number) == text


@SIDE_BY_SIDE
@given(value=VALUES)
def test_json(upstream: Functions, value: object) -> None:
    assert js.stringify(value) == upstream("stringify", text=json.dumps(value))


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\ud83d\ude00", "😀", "\u2028\x7f", '"\\\b\x01'])
def test_surrogates_and_escapes(upstream: Functions, text: str) -> None:
    assert js.quote(text) == upstream("stringify", text=json.dumps(text))
    assert js.quoted_length(text) == js.length(js.quote(text))


@pytest.mark.parametrize("value", [object(), b"", {"a": {1}}])
def test_what_is_no_json(value: object) -> None:
    with pytest.raises(js.NotJSON):
        js.stringify(value)


def test_a_character_is_not_cut_in_half() -> None:
    assert [js.head("a😀b", units) for units in range(5)] == ["", "a", "a", "a😀", "a😀b"]
    assert js.head("a\ud800b", 2) == "a\ud800"


@SIDE_BY_SIDE
@given(name=st.text(max_size=20) | st.text(alphabet="a-. $_9\u00a0\ufeffclass", max_size=8))
def test_names(upstream: Functions, name: str) -> None:
    assert sanitize_tool_name(name) == upstream("sanitizeToolName", name=name)
