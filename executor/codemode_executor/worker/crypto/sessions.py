"""Digests and ciphers that a program feeds piece by piece."""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import Generic, TypeVar

from .params import refusal

#: How many may be open. The one that was not used for the longest time gives way: a program that leaves ciphers without
#: finishing them has forgotten them.
MAX_OPEN = 1000

Kind = TypeVar("Kind")


class Sessions(Generic[Kind]):
    """What is open in this run, by handle."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, Kind] = OrderedDict()
        self._handles = count(1)

    def add(self, session: Kind) -> int:
        handle = next(self._handles)
        self._open[handle] = session
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return handle

    def get(self, handle: int) -> Kind:
        session = self._open.get(handle)
        if session is None:
            raise refusal(f"more than {MAX_OPEN} digests and ciphers are open, and this one was the oldest", "Error")
        self._open.move_to_end(handle)
        return session

    def take(self, handle: int) -> Kind:
        """Remove it from here and return it."""
        session = self.get(handle)
        del self._open[handle]
        return session

    def clear(self) -> None:
        self._open.clear()
