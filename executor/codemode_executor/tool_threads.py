"""Threads for tools that are plain functions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import cast

from .contract import Tool
from .threads import in_thread


class ToolThreads:
    """Threads for tools that are plain functions. Daemons: one that never returns holds nothing open.

    Args:
        maximum: threads at the same time; further calls wait.
    """

    def __init__(self, maximum: int = 64) -> None:
        self._slots = asyncio.Semaphore(maximum)
        #: How many of them one run may hold: the others are for other runs.
        self.share = max(min(maximum, 4), maximum // 4)

    async def invoke(self, function: Tool, args: list[object], share: asyncio.Semaphore) -> object:
        """Call ``function`` where it belongs, in a copy of the caller's context, and await what it gives."""
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
            return await function(*args)
        await share.acquire()
        try:
            await self._slots.acquire()
        except BaseException:
            share.release()
            raise

        def release() -> None:  # only at the thread's end: an abandoned call still has its thread
            self._slots.release()
            share.release()

        result: object = await in_thread(function, *args, on_end=release)
        return await cast(Awaitable[object], result) if inspect.isawaitable(result) else result
