"""The two sides, started once, and the report at the end of the run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from npm_packages import out_of_reach
from side_by_side import report
from side_by_side.compare import Finding
from side_by_side.corpus import HERE
from side_by_side.ours import Ours
from side_by_side.upstream import Upstream

FINDINGS = pytest.StashKey[list[Finding]]()
SKIPPED = pytest.StashKey[str]()
CRASHES = pytest.StashKey[int]()

_NEEDED = {
    HERE / "node_modules" / "miniflare": "npm ci in tests/side_by_side",
    HERE / "dist" / "host.mjs": "npm run build in tests/side_by_side",
    HERE.parents[1] / "node_bridge" / "dist" / "values" / "result.js": "npm ci and npm run build in node_bridge",
}


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FINDINGS] = []


@pytest.fixture(scope="session")
def findings(request: pytest.FixtureRequest) -> list[Finding]:
    return request.config.stash[FINDINGS]


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest) -> None:
    """Skips where npm cannot reach a registry; fails where only the set-up is missing."""
    if not out_of_reach(_NEEDED):
        return
    reason = "SIDE BY SIDE WAS NOT COMPARED: npm reaches no registry, so upstream is not here"
    request.config.stash[SKIPPED] = reason
    pytest.skip(reason)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream(installed: None, request: pytest.FixtureRequest) -> AsyncIterator[Upstream]:
    instance = Upstream()
    yield instance
    instance.close()
    # Each module has an upstream of its own.
    request.config.stash[CRASHES] = request.config.stash.get(CRASHES, 0) + instance.crashes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ours(installed: None) -> AsyncIterator[Ours]:
    async with await Ours.start() as instance:
        yield instance


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reason = config.stash.get(SKIPPED, None)
    if reason is not None:
        terminalreporter.section("side by side", bold=True, red=True)
        terminalreporter.write_line(reason, bold=True, red=True)
    found = config.stash[FINDINGS]
    if not found:
        return
    terminalreporter.section("side by side with upstream 0.5.6")
    terminalreporter.write(report.render(found, details=False))
    crashes = config.stash.get(CRASHES, 0)
    if crashes:
        terminalreporter.write_line(f"workerd went down {crashes} times for reasons of its own and was asked again")
    # Programs and results may hold lone surrogates.
    (HERE / "report.txt").write_text(report.render(found, details=True), errors="backslashreplace")
