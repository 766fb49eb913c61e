"""Upstream's own code in plain Node on this executor: the tests beside this file, which are in JavaScript."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REGISTER = ROOT / "node_bridge" / "dist" / "register" / "index.js"
_LIMIT_S = 300


@pytest.fixture(scope="module")
def installed() -> None:
    """Fails where the bridge is not built; skips where npm reached no registry, as the side-by-side comparison does."""
    if not REGISTER.exists():
        pytest.fail("the bridge is not built: run `make setup`, or npm ci and npm run build in node_bridge")
    needed = [HERE, HERE / "ai7", ROOT / "tests" / "side_by_side"]
    missing = [folder for folder in needed if not (folder / "node_modules" / "@cloudflare").exists()]
    if missing:
        names = ", ".join(str(folder.relative_to(ROOT)) for folder in missing)
        pytest.skip(f"not installed: {names}; run `make setup` where npm reaches a registry")


@pytest.mark.timeout(_LIMIT_S + 30)
def test_hosts(installed: None) -> None:
    done = subprocess.run(
        ["node", "--test-reporter=tap", "--import", str(REGISTER), str(HERE / "hosts.test.mjs")],
        env={**os.environ, "CODEMODE_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    passed = [line for line in done.stdout.splitlines() if line.startswith("# pass ")]
    assert passed, done.stdout[-2000:]
    assert int(passed[0].removeprefix("# pass ")) > 30
