"""The zygote that forks now, and those that only wait for their last workers."""

from __future__ import annotations

import asyncio
import time

from .wire import zygote as wire
from .zygote import Zygote


class Zygotes:
    """Forked processes share their address layout, so after a number of forks and some time a new zygote takes over.

    Args:
        setup: what a zygote makes of itself.
        max_forks: forks after which it is renewed.
        max_age_s: age after which it is renewed at its next fork.
    """

    def __init__(self, setup: wire.Setup, max_forks: int, max_age_s: float) -> None:
        self.started = 0
        self._setup = setup
        self._max_forks = max_forks
        self._max_age_s = max_age_s
        self._current: Zygote | None = None
        self._next: Zygote | None = None
        self._forks = 0
        self._born = 0.0
        self._retired: set[Zygote] = set()

    async def current(self) -> Zygote:
        """The zygote to fork from now.

        Raises:
            WorkerStartFailed: none can be started.
        """
        if self._current is None or self._current.gone:
            successor = self._next
            self._install(self._make() if successor is None or successor.gone else successor)
        elif self._forks >= self._max_forks or time.monotonic() - self._born > self._max_age_s:
            self._renew()
        self._forks += 1
        zygote = self._current
        if zygote is None:
            raise RuntimeError("a zygote was just installed")
        await zygote.started()
        return zygote

    async def close(self, timeout_s: float) -> None:
        """End all of them; their workers have to be gone already."""
        zygotes = self._all()
        await asyncio.gather(*(zygote.close(timeout_s) for zygote in zygotes))
        self._current = self._next = None
        self._retired.clear()

    def abandon(self) -> None:
        """Kill all of them without waiting for the event loop."""
        for zygote in self._all():
            zygote.abandon()

    def forget(self) -> None:
        """In a forked child: close what was inherited."""
        for zygote in self._all():
            zygote.forget()

    def _renew(self) -> None:
        """Replace before retire: the old one forks until the new one has loaded the engine."""
        if self._next is None or self._next.gone:
            self._next = self._make()
        if self._next.is_ready and self._current is not None:
            old = self._current
            self._retired.add(old)
            old.retire()
            self._install(self._next)

    def _install(self, zygote: Zygote) -> None:
        self._next = None
        self._current = zygote
        self._forks = 0
        self._born = time.monotonic()

    def _make(self) -> Zygote:
        self.started += 1
        return Zygote(self._setup, self._retired.discard)

    def _all(self) -> list[Zygote]:
        return [zygote for zygote in (self._current, self._next, *self._retired) if zygote is not None]
