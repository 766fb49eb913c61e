"""Results within a budget: what upstream's functions make of them."""

from __future__ import annotations

import datetime
import json
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from codemode_compat import javascript as js
from codemode_compat import truncate_response, truncate_result
from codemode_executor import BadRequest
from compat.functions import Functions

SIDE_BY_SIDE = settings(
    deadline=None,
    max_examples=500,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
BASIC = st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)
WORDS = st.text(BASIC, max_size=40) | st.builds(lambda n: "x" * n, st.integers(0, 3000)) | st.just('"\n\\' * 30)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, width=64) | WORDS
)
KEYS = st.text(BASIC, max_size=12).filter(lambda key: key != "__proto__") | st.sampled_from(
    ["10", "2", "--- TRUNCATED ---"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(KEYS, inner, max_size=8)
        | st.builds(lambda item, n: [item] * n, inner, st.integers(0, 40))
    ),
    max_leaves=25,
)
BUDGETS = st.integers(0, 3000)


@SIDE_BY_SIDE
@given(value=VALUES, budget=BUDGETS)
def test_a_result_is_cut_as_upstream_cuts_it(upstream: Functions, value: Any, budget: int) -> None:
    text = _written(value)
    ours = truncate_result(value, max_chars=budget)
    theirs = upstream("truncateResult", text=text, options={"maxChars": budget})
    if ours is value:
        assert theirs == js.stringify(value)
    else:
        assert js.stringify(ours) == theirs


def _written(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        assume(False)
        raise


@SIDE_BY_SIDE
@given(value=st.recursive(st.text(max_size=60) | st.integers(-5, 5), lambda inner: st.lists(inner, max_size=9)))
def test_a_cut_result_is_whole_text_within_the_budget(value: Any) -> None:
    ours = truncate_result({"v": value}, max_chars=60)
    assert js.length(js.stringify(ours)) <= 60
    if not _lone(value):
        js.stringify(ours).encode()
        assert "\\ud" not in js.stringify(ours)


def _lone(value: object) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, list) and any(map(_lone, cast("list[object]", value)))


@SIDE_BY_SIDE
@given(
    text=st.text(BASIC, max_size=300) | WORDS,
    options=st.fixed_dictionaries({}, optional={"maxChars": BUDGETS, "maxTokens": st.integers(0, 2000)}),
)
def test_a_text_is_cut_as_upstream_cuts_it(upstream: Functions, text: str, options: dict[str, int]) -> None:
    ours = truncate_response(text, max_chars=options.get("maxChars"), max_tokens=options.get("maxTokens"))
    assert ours == upstream("truncateResponse", text=text, options=options)


def test_the_usual_budget() -> None:
    assert truncate_response("x" * 24_000) == "x" * 24_000
    assert truncate_response("x" * 24_001) == "x" * 24_000 + (
        "\n\n--- TRUNCATED ---\nResponse was ~6,001 tokens (limit: 6,000). Narrow the request to reduce response size."
    )
    rows = [{"i": i, "d": "x" * 50} for i in range(2000)]
    cut = truncate_result({"rows": rows})
    assert len(json.dumps(cut, separators=(",", ":"))) <= 24_000
    assert cut["rows"][0] == rows[0]
    assert cut["rows"][-1].startswith("--- TRUNCATED --- 1,")


def test_what_fits_is_the_very_value() -> None:
    value = {"a": [1, {"b": (2, 3)}]}
    assert truncate_result(value) is value


def test_what_cannot_be_written_is_the_very_value() -> None:
    cyclic: list[object] = ["x" * 100]
    cyclic.append(cyclic)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (cyclic, [2**60, "x" * 100], ["x" * 100, object()], deep):
        assert truncate_result(value, max_chars=50) is value


def test_values_that_json_has_no_word_for_count_as_tools_return_them() -> None:
    noon = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    cut = truncate_result([noon, float("nan"), "x" * 100], max_chars=100)
    assert cut == ["2026-03-01T12:00:00+00:00", None, "x" * 35 + " --- TRUNCATED --- 100 chars"]


def test_a_key_that_upstream_loses() -> None:
    assert truncate_result({"__proto__": 1, "t": "x" * 100}, max_chars=60)["__proto__"] == 1


@pytest.mark.parametrize("bad", [-1, 1.5, True, "5"])
def test_an_unusable_budget_is_refused(bad: Any) -> None:
    with pytest.raises(BadRequest, match=r"^max_chars must be a whole number, 0 or more, not "):
        truncate_result([1], max_chars=bad)
    with pytest.raises(BadRequest, match=r"^max_tokens must be a whole number, 0 or more, not "):
        truncate_response("x", max_tokens=bad)


def test_text_is_text() -> None:
    with pytest.raises(BadRequest, match="text must be a string, not bytes"):
        truncate_response(b"x")  # pyright: ignore[reportArgumentType]
