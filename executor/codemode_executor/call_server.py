"""A run's tool calls where somebody else serves them: each is handed over, and answered later, without a task."""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Sequence
from typing import Protocol

from .tool_failure import ToolFailure
from .wire.messages import Call


class CalledRun(Protocol):
    """What whoever serves calls sees of the run that makes them."""

    @property
    def context(self) -> contextvars.Context:
        """In which its calls are served: runs that are started there are nested in it."""
        ...

    def answer_call(self, call: int, answer: bytes | ToolFailure | None) -> None:
        """Answer a call: JSON, ``None`` for undefined, or why it failed. One that nobody waits for is left alone.

        It leaves with ``send_answers``, in the same turn of the event loop.
        """
        ...

    def send_answers(self) -> None:
        """Send what was answered, together."""
        ...

    def room(self) -> Awaitable[object] | None:
        """``None``, or what settles when further answers may be given: the worker is slow to read those before."""
        ...

    def hold(self) -> None:
        """Read nothing from the worker until ``go_on``: whoever is told of what it does is slow. Once is enough."""
        ...

    def go_on(self) -> None:
        """Undo ``hold``. Once is enough."""
        ...


class CallServer(Protocol):
    """Serves the calls of one run. What it is told, it is told on the event loop, and none of it may block."""

    def serve(self, run: CalledRun, calls: Sequence[Call]) -> None:
        """The program has called. Their sizes, names and number are within the run's bounds."""
        ...

    def cancel(self, call: int) -> None:
        """Nobody wants the answer to this call any more."""
        ...

    def cancel_all(self) -> None:
        """Nobody wants any answer any more."""
        ...
