"""Lone surrogates become U+FFFD, and nothing else changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.values.text import well_formed


@given(st.text(st.characters(exclude_categories=())))
def test_what_comes_out_is_utf_8_and_as_long_as_what_went_in(text: str) -> None:
    clean = well_formed(text)
    assert len(clean) == len(text)
    assert clean.encode().decode() == clean


@given(st.text())
def test_a_text_without_them_stays_as_it_is(text: str) -> None:
    assert well_formed(text) == text


def test_both_halves_are_replaced() -> None:
    assert well_formed("a\ud800b\udfff") == "a\ufffdb\ufffd"
