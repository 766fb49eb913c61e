"""What the tests of the bridge need: the built package, and upstream beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from side_by_side.corpus import HERE
from side_by_side.upstream import Upstream

BRIDGE = HERE.parents[1] / "node_bridge"


@pytest.fixture(scope="session")
def built() -> None:
    """Fails where the package is not built."""
    if not (BRIDGE / "dist" / "node" / "index.js").exists():
        pytest.fail("the bridge is not built: run `make setup`, or npm ci and npm run build in node_bridge")


@pytest.fixture(scope="session")
def with_upstream(built: None) -> None:
    """Skips where upstream is not installed: the tests of the side-by-side comparison say so loudly."""
    if not (HERE / "node_modules" / "miniflare").exists() or not (HERE / "dist" / "host.mjs").exists():
        pytest.skip("upstream is not installed: see the report of tests/side_by_side")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream(with_upstream: None) -> AsyncIterator[Upstream]:
    instance = Upstream()
    yield instance
    instance.close()
