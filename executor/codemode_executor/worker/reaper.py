"""Frees isolates on a thread of its own: a program that V8 cannot end must not hold up the main loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from .isolate import Isolate


class Reaper:
    """Args:
    done: called on the reaper's thread with every isolate that is gone.
    """

    def __init__(self, done: Callable[[Isolate], None]) -> None:
        self._done = done
        self._queue: queue.SimpleQueue[Isolate] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="reaper", daemon=True).start()

    def free(self, isolate: Isolate) -> None:
        """End whatever runs in ``isolate`` and free it; returns at once."""
        self._queue.put(isolate)

    def _work(self) -> None:
        while True:
            isolate = self._queue.get()
            isolate.free()
            self._done(isolate)
