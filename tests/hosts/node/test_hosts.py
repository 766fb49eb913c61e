"""Upstream's own code in plain Node on this executor: the tests beside this file, which are in JavaScript."""

from __future__ import annotations

from pathlib import Path

import pytest

from node_suites import passes
from npm_packages import out_of_reach

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REGISTER = ROOT / "node_bridge" / "dist" / "register" / "index.js"
_NEEDED = {
    REGISTER: "npm ci and npm run build in node_bridge",
    HERE / "node_modules" / "@cloudflare": "npm ci --ignore-scripts in tests/hosts/node",
    HERE / "ai7" / "node_modules" / "@cloudflare": "npm ci --ignore-scripts in tests/hosts/node/ai7",
    ROOT / "tests" / "side_by_side" / "node_modules" / "@cloudflare": "npm ci in tests/side_by_side",
}
_LIMIT_S = 300


@pytest.fixture(scope="module")
def installed() -> None:
    """Skips where npm cannot reach a registry; fails where only the set-up is missing."""
    if out_of_reach(_NEEDED):
        pytest.skip("HOSTS IN NODE WERE NOT TESTED: npm reaches no registry, so upstream is not here")


@pytest.mark.timeout(_LIMIT_S + 30)
def test_hosts(installed: None) -> None:
    assert passes(HERE / "hosts.test.mjs", _LIMIT_S, "--import", str(REGISTER)) > 30
