"""The package in Node and in workerd, against real daemons: the tests beside this file that are in JavaScript."""

from __future__ import annotations

from pathlib import Path

import pytest

from node_suites import passes

HERE = Path(__file__).parent
_SUITES = sorted(path.name for path in HERE.glob("*.test.mjs"))
_LIMIT_S = 300


def test_every_suite_is_known() -> None:
    assert _SUITES == ["daemon.test.mjs", "embedded.test.mjs", "workerd.test.mjs"]


@pytest.mark.timeout(_LIMIT_S + 30)
@pytest.mark.parametrize("suite", _SUITES)
def test_suite(suite: str, built: None, request: pytest.FixtureRequest) -> None:
    if suite == "workerd.test.mjs":
        request.getfixturevalue("with_upstream")
    passes(HERE / suite, _LIMIT_S, "--test", "--test-timeout=120000")
