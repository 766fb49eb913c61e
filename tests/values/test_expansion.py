"""The size of a result that is written out, known before it is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.values.expansion import written_size

VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text("abc", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=30,
)


@given(VALUES)
def test_it_is_about_as_large_as_json(value: Any) -> None:
    size = written_size(value)
    assert size is not None
    assert len(json.dumps(value, separators=(",", ":"))) <= 3 * size
    assert size <= 20 * len(json.dumps(value)) + 20


def test_what_is_shared_counts_as_often_as_it_is_written() -> None:
    value: list[object] = ["x"]
    for _ in range(200):
        value = [value, value]
    size = written_size(value)
    assert size is not None
    assert size > 2**200


def test_what_holds_itself_cannot_be_written() -> None:
    value: list[object] = []
    value.append({"a": [value]})
    assert written_size(value) is None


def test_the_command_line_says_so_instead_of_writing_it() -> None:
    code = b"async () => { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return a }"
    ran = subprocess.run(
        [sys.executable, "-m", "codemode_executor", "run", "-"], input=code, capture_output=True, check=False
    )
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"].startswith("the result cannot be written as JSON: it takes")
