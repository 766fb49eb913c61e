"""The host, started once for all cases."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hosts.workerd.cases import HERE
from hosts.workerd.host import Host
from npm_packages import out_of_reach

_CRASHES = pytest.StashKey[list[str]]()
_NEEDED = {
    HERE / "node_modules" / "miniflare": "npm ci --ignore-scripts in tests/hosts/workerd",
    HERE / "dist" / "host.mjs": "npm run build in tests/hosts/workerd",
}


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips where npm cannot reach a registry; fails where only the set-up is missing."""
    if out_of_reach(_NEEDED):
        pytest.skip("HOSTS IN WORKERD WERE NOT TESTED: npm reaches no registry, so upstream is not here")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(installed: None, request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    instance = Host()
    yield instance
    request.config.stash[_CRASHES] = instance.crashes
    await instance.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for reason in config.stash.get(_CRASHES, []):
        terminalreporter.write_line(f"hosts in workerd: started again and asked again: {reason[:2000]}")
