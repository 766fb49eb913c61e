"""Names of tools against upstream's, and names of providers against what V8 takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_mini_racer import JSEvalException, MiniRacer

from codemode_executor.values import sanitize_tool_name
from codemode_executor.values.names import is_identifier, is_reserved_word

# What upstream 0.5.6's `sanitizeToolName` returned for each.
UPSTREAM = [
    json.loads(line) for line in Path(__file__).with_name("names_by_upstream.jsonl").read_text("utf-8").splitlines()
]

WORDS = sorted(
    {
        *"arguments as async await break case catch class const continue debugger default".split(),
        *"delete do else enum eval export extends false finally for from function get if".split(),
        *"implements import in instanceof interface let meta new null of package private".split(),
        *"protected public return set static super switch target this throw true try typeof".split(),
        *"using var void while with yield undefined NaN Infinity abstract boolean byte".split(),
        *"globalThis constructor then int goto native volatile".split(),
    }
)


@pytest.mark.parametrize("case", UPSTREAM, ids=[ascii(case["name"]) for case in UPSTREAM])
def test_sanitizes_as_upstream_does(case: dict[str, str]) -> None:
    assert sanitize_tool_name(case["name"]) == case["sanitized"]


def test_the_table_of_upstream_is_not_one_sided() -> None:
    assert len(UPSTREAM) >= 60
    changed = [case for case in UPSTREAM if case["name"] != case["sanitized"]]
    assert 20 < len(changed) < len(UPSTREAM)


@given(name=st.text())
def test_what_is_sanitized_is_an_identifier_and_stays_as_it_is(name: str) -> None:
    sanitized = sanitize_tool_name(name)
    assert re.fullmatch(r"[a-zA-Z_$][a-zA-Z0-9_$]*", sanitized)
    assert not is_reserved_word(sanitized)
    assert sanitize_tool_name(sanitized) == sanitized


@pytest.mark.parametrize("name", ["a", "A1", "_", "$", "billing", "a" * 256])
def test_identifiers(name: str) -> None:
    assert is_identifier(name)


@pytest.mark.parametrize(
    "name",
    ["", "1a", "a-b", "a b", "a\n", "\na", "é", "a\u0301", "名", "a" * 257, "a.b", "a;b", None, 3],
    ids=ascii,
)
def test_not_identifiers(name: object) -> None:
    assert not is_identifier(name)


def test_reserved_words_are_those_that_a_strict_const_refuses() -> None:
    verdicts: dict[str, bool] = {}
    with MiniRacer() as context:
        for word in WORDS:
            # The async function makes `await` what it is in a program.
            try:
                context.eval(f"(async function () {{ 'use strict'; const {word} = 1 }})")
            except JSEvalException:
                verdicts[word] = True
            else:
                verdicts[word] = False
    assert {word: is_reserved_word(word) for word in WORDS} == verdicts
