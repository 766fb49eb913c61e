"""Faults that only the daemon has; drawn as in ``codemode_executor.errors``::

ExecutorError
├── Busy         BUSY        this token has as much going on as it may
└── Draining     DRAINING    the daemon is about to leave and takes no further run
"""

from __future__ import annotations

from ..errors import ExecutorError


class Busy(ExecutorError):
    """The token has as much going on as it may; nothing has run.

    Args:
        message: what there is, and the limit.

    Attributes:
        retry_after_s: when there is likely to be room; seconds.
    """

    code = "BUSY"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.retry_after_s = 1.0


class Draining(ExecutorError):
    """The daemon is about to leave; nothing has run."""

    code = "DRAINING"

    def __init__(self) -> None:
        super().__init__("the daemon is about to leave and takes no further run: send it elsewhere")
