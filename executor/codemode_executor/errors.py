"""Faults of the machinery.

A program that fails is an outcome: ``execute`` returns it in the envelope. What is drawn here *raises*::

    ExecutorError                code
    ├── BadRequest               BAD_REQUEST            the arguments of a call are unusable
    ├── ExecutorClosed           CLOSED                 the executor was closed, or its event loop ended
    ├── HardeningUnavailable     HARDENING_UNAVAILABLE  a required layer of the jail is not to be had
    ├── WorkerCrashed            WORKER_CRASHED         the run's worker process died
    └── WorkerStartFailed        WORKER_START_FAILED    no worker process can be started

Every error has a stable ``code`` and says what went wrong and what to change.
"""

from __future__ import annotations

from typing import ClassVar


class ExecutorError(Exception):
    """Base of every fault of the machinery.

    Attributes:
        code: stable upper-case identifier, made for programs.
    """

    code: ClassVar[str] = "EXECUTOR_ERROR"


class BadRequest(ExecutorError):
    """The arguments of a call are unusable; nothing has run."""

    code = "BAD_REQUEST"


class ExecutorClosed(ExecutorError):
    """The executor is closed, or was closed while the run was in flight."""

    code = "CLOSED"


class HardeningUnavailable(ExecutorError):
    """A layer of the jail that ``hardening="required"`` asks for is not to be had on this machine."""

    code = "HARDENING_UNAVAILABLE"


class WorkerStartFailed(ExecutorError):
    """A worker process could not be started; the message carries the reason it gave."""

    code = "WORKER_START_FAILED"


class WorkerCrashed(ExecutorError):
    """The worker process of this run died for a reason that is not one of the run's bounds.

    Attributes:
        exit_status: what the operating system said: an exit status, or the negated signal number; ``None`` if unknown.
        stderr: the last lines that the process wrote to its standard error, for operators. Never show them to a model.
        logs: the log lines that had arrived by then.
    """

    code = "WORKER_CRASHED"

    def __init__(
        self,
        message: str,
        *,
        exit_status: int | None = None,
        stderr: str = "",
        logs: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.exit_status = exit_status
        self.stderr = stderr
        self.logs = logs
