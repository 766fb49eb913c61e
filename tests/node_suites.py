"""Suites of JavaScript tests that pytest runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_PASSED = re.compile(r"^# pass (\d+)$", re.MULTILINE)


def passes(suite: Path, limit_s: float, *options: str) -> int:
    """Run a file of ``node:test`` with the interpreter of this process for what it starts; all of it must pass.

    Args:
        suite: it.
        limit_s: seconds that it may take.
        options: of Node, before the file.

    Returns:
        How many tests have passed; at least one.
    """
    done = subprocess.run(
        ["node", "--test-reporter=tap", *options, str(suite)],
        env={**os.environ, "CODEMODE_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    passed = [int(number) for number in _PASSED.findall(done.stdout)]
    assert passed, done.stdout[-2000:]
    assert passed[-1] > 0, f"no test has run: {done.stdout[-2000:]}"
    return passed[-1]
