"""The package in Node and in workerd, against real daemons: the tests beside this file that are in JavaScript."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    done = subprocess.run(
        ["node", "--test", "--test-timeout=120000", str(HERE / suite)],
        env={**os.environ, "CODEMODE_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert "# pass 0\n" not in done.stdout
