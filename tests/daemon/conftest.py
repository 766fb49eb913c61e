"""A daemon in this process, on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from codemode_executor import Limits
from codemode_executor.daemon.server import Daemon
from codemode_executor.daemon.settings import Settings
from daemon.client import OTHER_TOKEN, TOKEN

TOKENS = [("first", TOKEN), ("second", OTHER_TOKEN)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon() -> AsyncIterator[Daemon]:
    """The module's daemon."""
    settings = Settings(port=0, min_workers=1, max_workers=4, limits=Limits(timeout_s=20, memory_mb=128), drain_s=5)
    async with Daemon(settings, TOKENS) as instance:
        yield instance
