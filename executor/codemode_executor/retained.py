"""What is left of a run whose result holds functions: handles that the host can call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self

from .errors import BadRequest, HandleDisposed
from .values import ValueRefused, decode_result
from .values.clone_codec import encode_clone


class RetainedRun(Protocol):
    """What a handle needs of its run."""

    def invoke(self, handle: int, args: bytes, timeout_s: float | None) -> Awaitable[tuple[int, bytes]]: ...
    def release(self, handle: int) -> None: ...
    def dispose(self) -> None: ...
    @property
    def disposed(self) -> str: ...
    def argument_bytes(self) -> int: ...
    async def over(self) -> None: ...


class Handle:
    """A function of the program. Calling it runs it in the program's isolate.

    Not made by hand: ``execute(…, retain_handles=True)`` puts one in the place of every function of a result.
    """

    __slots__ = ("_number", "_released", "_run")

    def __init__(self, run: RetainedRun, number: int) -> None:
        self._run = run
        self._number = number
        self._released = False

    async def __call__(self, *args: object, timeout_s: float | None = None) -> Any:
        """Call the function.

        Args:
            args: its arguments; values cross as by structured clone (``datetime``, sets, big integers, NaN).
            timeout_s: seconds until the call, and with it everything that was retained, is ended; ``None`` for the
                run's ``Limits.timeout_s``.

        Returns:
            What it returns, awaited, as a result of ``execute``: functions in it are handles too.

        Raises:
            BadRequest: an argument has no form in JavaScript, or all are beyond ``Limits.argument_bytes``.
            HandleCallFailed: the function threw.
            HandleDisposed: the handle is not alive any more; the message says why.
        """
        if self._released:
            raise HandleDisposed("the handle was disposed")
        if timeout_s is not None and (isinstance(timeout_s, bool) or not 0 < timeout_s <= 1e6):
            raise BadRequest(f"timeout_s must be a number of seconds greater than 0, not {timeout_s!r}")
        try:
            form, text = encode_clone(list(args))
        except ValueRefused as error:
            raise BadRequest(f"the arguments cannot be encoded: {error}") from error
        limit = self._run.argument_bytes()
        if len(text) > limit:
            raise BadRequest(
                f"the arguments are {len(text)} bytes long; the limit is {limit} bytes (Limits.argument_bytes)"
            )
        answer = await self._run.invoke(self._number, b"%d%b" % (form, text), timeout_s)
        return decode_with_handles(self._run, *answer)

    def dispose(self) -> None:
        """The function is not needed any more; the others of its run stay. Once is enough."""
        if not self._released:
            self._released = True
            self._run.release(self._number)

    def __repr__(self) -> str:
        state = self._run.disposed or ("disposed" if self._released else "alive")
        return f"<Handle {self._number}: {state}>"


class Retained:
    """The isolate of a run that has answered and goes on, because its answer holds functions.

    Use it as an async context manager, or ``dispose`` it. One that nobody uses for a while is disposed by the executor.
    """

    def __init__(self, run: RetainedRun) -> None:
        self._run = run

    @property
    def alive(self) -> bool:
        """Its handles can be called."""
        return not self._run.disposed

    async def dispose(self) -> None:
        """End the isolate. Handles are dead from now on; calls in flight raise ``HandleDisposed``. Once is enough."""
        self._run.dispose()
        await self._run.over()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.dispose()


def decode_with_handles(run: RetainedRun, form: int, value: bytes) -> object:
    """A result whose functions are handles of ``run``.

    Raises:
        ValueRefused: it is no result.
    """
    handles: dict[int, Handle] = {}

    def handle(number: int) -> Handle:
        return handles.setdefault(number, Handle(run, number))

    return decode_result(form, value, handle)


class Invocations:
    """The calls of one retained run that are in flight, and its idle life.

    Args:
        loop: the event loop.
        idle_s: seconds without a call after which ``on_idle`` is called.
        on_idle: ends the run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, idle_s: float, on_idle: Callable[[], None]) -> None:
        self._loop = loop
        self._idle_s = idle_s
        self._on_idle = on_idle
        self._next = 0
        self._waiting: dict[int, tuple[asyncio.Future[tuple[int, bytes]], asyncio.TimerHandle]] = {}
        self._idle: asyncio.TimerHandle | None = None
        self._rest()

    def begin(self, timeout_s: float, on_overdue: Callable[[], None]) -> tuple[int, asyncio.Future[tuple[int, bytes]]]:
        """A call leaves: its number, and the future of its answer."""
        self._stop_idle()
        self._next += 1
        future: asyncio.Future[tuple[int, bytes]] = self._loop.create_future()
        self._waiting[self._next] = (future, self._loop.call_later(timeout_s, on_overdue))
        return self._next, future

    def settle(self, number: int, answer: tuple[int, bytes] | Exception) -> bool:
        """A call was answered. False if it was not made."""
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            return False
        future, timer = waiting
        timer.cancel()
        if not future.done():
            if isinstance(answer, Exception):
                future.set_exception(answer)
                future.exception()  # a cancelled caller does not collect it
            else:
                future.set_result(answer)
        if not self._waiting:
            self._rest()
        return True

    def end(self, reason: str) -> None:
        """Nothing is answered any more."""
        self._stop_idle()
        for number in tuple(self._waiting):
            self.settle(number, HandleDisposed(reason))
        self._stop_idle()

    def _rest(self) -> None:
        self._idle = self._loop.call_later(self._idle_s, self._on_idle)

    def _stop_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
