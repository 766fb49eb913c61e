"""Bounds: what is accepted, what is refused and in which words, and that a run only tightens."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.errors import BadRequest
from codemode_executor.limits import MIB, Limits

DEFAULTS = {
    "timeout_s": 60.0,
    "cpu_s": None,
    "memory_mb": 128,
    "program_bytes": MIB,
    "module_bytes": 8 * MIB,
    "argument_bytes": 32 * MIB,
    "tool_result_bytes": 32 * MIB,
    "result_bytes": 32 * MIB,
    "log_bytes": 8 * MIB,
    "log_lines": 100_000,
    "tool_calls": 100_000,
    "tool_calls_in_flight": 1_000,
}
MAXIMA = {
    "timeout_s": 2_147_483.0,
    "cpu_s": 2_147_483.0,
    "memory_mb": 4096,
    "program_bytes": 64 * MIB,
    "module_bytes": 64 * MIB,
    "argument_bytes": 512 * MIB,
    "tool_result_bytes": 512 * MIB,
    "result_bytes": 512 * MIB,
    "log_bytes": 512 * MIB,
    "log_lines": 10_000_000,
    "tool_calls": 100_000_000,
    "tool_calls_in_flight": 100_000,
}
SECONDS = {"timeout_s", "cpu_s"}
EVERY = pytest.mark.parametrize("name", DEFAULTS)
COUNTS = pytest.mark.parametrize("name", [name for name in DEFAULTS if name not in SECONDS])


def limits(**values: object) -> Limits:
    return Limits(**values)  # pyright: ignore[reportArgumentType]


def refusal(**values: object) -> str:
    with pytest.raises(BadRequest) as caught:
        limits(**values)
    return str(caught.value)


def test_the_defaults_are_the_documented_ones() -> None:
    assert msgspec.structs.asdict(Limits()) == DEFAULTS


def test_every_bound_is_documented() -> None:
    documented = re.findall(r"^ {8}(\w+):", Limits.__doc__ or "", re.MULTILINE)
    assert [name for name in documented if name != "BadRequest"] == list(DEFAULTS)


@EVERY
def test_the_largest_value_is_accepted_and_no_more(name: str) -> None:
    top = MAXIMA[name]
    assert getattr(limits(**{name: top}), name) == top
    over = math.nextafter(top, math.inf) if name in SECONDS else top + 1
    assert refusal(**{name: over}) == (f"Limits.{name} is {over!r}; the largest value that is carried is {top!r}")


@EVERY
def test_the_smallest_value_is_accepted_and_no_less(name: str) -> None:
    low: float = 16 if name == "memory_mb" else 5e-324 if name in SECONDS else 1
    assert getattr(limits(**{name: low}), name) == low
    below = 15 if name == "memory_mb" else 0
    assert f"Limits.{name}" in refusal(**{name: below})


@EVERY
@pytest.mark.parametrize("value", [0, -1, -(10**9)])
def test_refuses_what_is_not_positive(name: str, value: int) -> None:
    assert refusal(**{name: value}) == (f"Limits.{name} must be greater than 0 and finite, not {value!r}")


@pytest.mark.parametrize("name", sorted(SECONDS))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_refuses_seconds_that_are_not_finite(name: str, value: float) -> None:
    assert refusal(**{name: value}) == (f"Limits.{name} must be greater than 0 and finite, not {value!r}")


@EVERY
def test_refuses_integers_of_any_size(name: str) -> None:
    assert refusal(**{name: 10**400}).startswith(f"Limits.{name} ")
    assert refusal(**{name: -(10**400)}).startswith(f"Limits.{name} ")


@EVERY
@pytest.mark.parametrize("value", [True, False, "1", b"1", [1], 1j])
def test_refuses_other_types(name: str, value: object) -> None:
    kind = "number of seconds" if name in SECONDS else "whole number"
    assert refusal(**{name: value}) == f"Limits.{name} must be a {kind}, not {value!r}"


@COUNTS
def test_counts_are_whole(name: str) -> None:
    assert refusal(**{name: 64.0}) == f"Limits.{name} must be a whole number, not 64.0"


@EVERY
def test_only_processor_time_may_be_unbounded(name: str) -> None:
    if name == "cpu_s":
        assert Limits(cpu_s=None).cpu_s is None
    else:
        assert "not None" in refusal(**{name: None})


def test_limits_are_frozen_keyword_only_and_have_no_other_names() -> None:
    with pytest.raises(AttributeError):
        Limits().timeout_s = 1  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        Limits(1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        limits(timeout_ms=1)


def any_limits() -> st.SearchStrategy[Limits]:
    fields: dict[str, st.SearchStrategy[object]] = {}
    for name, top in MAXIMA.items():
        low = 16 if name == "memory_mb" else 1
        value = st.floats(0.001, top) if name in SECONDS else st.integers(low, int(top))
        fields[name] = st.none() | value if name == "cpu_s" else value
    return st.builds(Limits, **fields)


@given(mine=any_limits(), run=any_limits())
def test_tightening_takes_the_lower_bound_of_each(mine: Limits, run: Limits) -> None:
    both = mine.tightened(run)
    for name in DEFAULTS:
        bounds = [bound for bound in (getattr(mine, name), getattr(run, name)) if bound is not None]
        assert getattr(both, name) == min(bounds, default=None)


@given(mine=any_limits())
def test_tightening_by_itself_changes_nothing(mine: Limits) -> None:
    assert mine.tightened(mine) == mine
