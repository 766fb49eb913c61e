"""The engine that the executors of an event loop share: nobody has to close it, and it ends with the loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Generator
from contextlib import contextmanager

from codemode_executor import IsolateExecutor, Limits

# The longest that the engine carries. Every run brings a deadline of its own.
LONGEST_S = 2_147_483.0

_shared: dict[asyncio.AbstractEventLoop, SharedEngine] = {}


class SharedEngine:
    """An engine and who uses it. It ends with its loop, or when its last user is closed."""

    def __init__(self) -> None:
        self.engine = IsolateExecutor(limits=Limits(timeout_s=LONGEST_S))
        self.users: weakref.WeakSet[object] = weakref.WeakSet()


class _Use:
    """Somebody who uses the engine for a moment."""


def shared_engine(user: object) -> IsolateExecutor:
    """The engine of the running event loop, which ``user`` uses from now on."""
    for loop in tuple(_shared):
        if loop.is_closed():  # its processes have ended with it
            _shared.pop(loop, None)
    loop = asyncio.get_running_loop()
    shared = _shared.get(loop)
    if shared is None:
        shared = _shared[loop] = SharedEngine()
    shared.users.add(user)
    return shared.engine


@contextmanager
def used_for_a_moment() -> Generator[IsolateExecutor]:
    """The engine of the running event loop, for somebody who is no executor."""
    use = _Use()
    try:
        yield shared_engine(use)
    finally:
        shared = _shared.get(asyncio.get_running_loop())
        if shared is not None:
            shared.users.discard(use)


async def release(user: object) -> None:
    """``user`` is closed. The running loop's engine ends if nobody else uses it."""
    loop = asyncio.get_running_loop()
    shared = _shared.get(loop)
    if shared is None or user not in shared.users:
        return
    shared.users.discard(user)
    if not shared.users:
        _shared.pop(loop, None)
        await shared.engine.aclose()
