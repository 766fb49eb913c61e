"""Faults of the machinery.

A program that fails is an outcome: ``execute`` returns it in the envelope. What is drawn here *raises*::

    ExecutorError                code
    ├── BadRequest               BAD_REQUEST            the arguments of a call are unusable
    ├── ExecutorClosed           CLOSED                 the executor was closed, or its event loop ended
    ├── HandleCallFailed         HANDLE_CALL_FAILED     a function that a program returned threw when it was called
    ├── HandleDisposed           HANDLE_DISPOSED        the handle of a function is not alive any more
    ├── HardeningUnavailable     HARDENING_UNAVAILABLE  a required layer of the jail is not to be had
    ├── NestingLimit             NESTING_LIMIT          a run was started from a tool of a run of a tool of …
    ├── QueueFull                QUEUE_FULL             too many runs wait for a worker already
    ├── QueueTimeout             QUEUE_TIMEOUT          the run waited too long for a worker
    ├── RetainedLimit            RETAINED_LIMIT         too many runs are retained already
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


class HandleCallFailed(ExecutorError):
    """A function that a program returned was called, and threw.

    Attributes:
        name: ``name`` of what it threw, for example ``TypeError``; empty if it has none.
        stack: its stack in the program's own lines; empty if there is none.
    """

    code = "HANDLE_CALL_FAILED"

    def __init__(self, message: str, name: str = "", stack: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.stack = stack

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.name, self.stack)


class HandleDisposed(ExecutorError):
    """The handle of a function is not alive any more: it was disposed, or its isolate ended."""

    code = "HANDLE_DISPOSED"


class HardeningUnavailable(ExecutorError):
    """A layer of the jail that ``hardening="required"`` asks for is not to be had on this machine."""

    code = "HARDENING_UNAVAILABLE"


class NestingLimit(ExecutorError):
    """Runs started from inside tool calls are nested too deeply.

    Attributes:
        depth: the depth that was asked for.
        limit: the deepest that is admitted.
    """

    code = "NESTING_LIMIT"

    def __init__(self, depth: int, limit: int) -> None:
        super().__init__(
            f"a run was started from inside a tool call at depth {depth}; the limit is {limit}:"
            " a tool that starts runs must not be callable from those runs"
        )
        self.depth = depth
        self.limit = limit

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.depth, self.limit)


class QueueFull(ExecutorError):
    """The run was not accepted: as many runs as may wait are waiting. Nothing has run.

    Attributes:
        queue_length: runs that wait.
        retry_after_s: when there is likely to be room; seconds.
    """

    code = "QUEUE_FULL"

    def __init__(self, queue_length: int, retry_after_s: float) -> None:
        super().__init__(
            f"{queue_length} runs are waiting for a worker, which is the limit (max_queue);"
            f" there is likely to be room in {retry_after_s:.1f} s"
        )
        self.queue_length = queue_length
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.queue_length, self.retry_after_s)


class QueueTimeout(ExecutorError):
    """The run waited for a worker as long as it may. Nothing has run.

    Attributes:
        waited_s: how long it waited; seconds.
        queue_length: runs that still wait.
        retry_after_s: when there is likely to be room; seconds.
    """

    code = "QUEUE_TIMEOUT"

    def __init__(self, waited_s: float, queue_length: int, retry_after_s: float) -> None:
        super().__init__(
            f"the run waited {waited_s:.1f} s for a worker, which is the limit (queue_timeout_s);"
            f" {queue_length} runs still wait, try again in {retry_after_s:.1f} s"
        )
        self.waited_s = waited_s
        self.queue_length = queue_length
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.waited_s, self.queue_length, self.retry_after_s)


class WorkerStartFailed(ExecutorError):
    """A worker process could not be started; the message carries the reason it gave."""

    code = "WORKER_START_FAILED"


class RetainedLimit(ExecutorError):
    """Too many runs are retained already; nothing has run.

    Attributes:
        limit: how many may be.
    """

    code = "RETAINED_LIMIT"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} runs are retained already, and the limit is {limit} (max_retained): dispose some")
        self.limit = limit

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.limit,)


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
