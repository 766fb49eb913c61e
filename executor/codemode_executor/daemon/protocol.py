"""The daemon's end of one connection, without any input or output: frames in, messages to act on; messages out, bytes.

It knows which state the connection is in, and is the only place that does::

    IDLE ── run ──► PENDING ── accepted ──► RUNNING ── result | error | fault ──► IDLE
                       │                       └── result, retained ──► RETAINED ── over ──► IDLE
                       └── refused ──► IDLE

What a client sends out of turn is a ``Violation``, unless it may have crossed the end of its run on the way: that is
dropped. What the daemon itself would send out of turn is a fault of the daemon, ``OutOfTurn``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from ..wire import bridge as wire

#: Close codes of the protocol; the others are those of RFC 6455.
CLOSE_GOING_AWAY = 1001
CLOSE_TOO_LARGE = 1009
CLOSE_INTERNAL = 1011
CLOSE_VIOLATION = 4400
CLOSE_SLOW = 4408
CLOSE_FLOODED = 4429


class State(Enum):
    """What a connection does."""

    IDLE = "idle"
    PENDING = "pending"
    RUNNING = "running"
    RETAINED = "retained"


class Violation(Exception):
    """The client broke the protocol: the connection is to be closed with ``code`` and this text."""

    code = CLOSE_VIOLATION


class OutOfTurn(Exception):
    """The daemon was about to send a message that its own state does not allow."""


class ServerChannel:
    """One connection. Frames are given to ``receive`` in their order, messages to ``send`` as they are to leave."""

    def __init__(self) -> None:
        self.state = State.IDLE
        self._run = 0
        self._calls = 0
        self._open_calls: set[int] = set()
        self._unwanted: set[int] = set()
        self._invocations = 0
        self._open_invocations: set[int] = set()
        self._cancelled = False
        self._greeted = False

    @property
    def run(self) -> int:
        """Number of the run that goes on, or of the last one; 0 before the first."""
        return self._run

    @property
    def open_invocations(self) -> int:
        """Calls of functions that have not been answered."""
        return len(self._open_invocations)

    # --- from the client ----------------------------------------------------------------------------------------------

    def receive(self, frame: bytes) -> Iterator[tuple[wire.ToDaemon, bytes]]:
        """The messages of ``frame`` that are to be acted on, each with its payload, each acted on before the next.

        Raises:
            Violation: the frame is not readable, or a message is out of turn.
        """
        messages = wire.decode_frame(frame)
        while True:
            try:
                message, payload = next(messages)
            except StopIteration:
                return
            except wire.BadFrame as error:
                raise Violation(str(error)) from None
            if self._takes(message):
                yield message, payload

    def _takes(self, message: wire.ToDaemon) -> bool:
        if isinstance(message, wire.Ping):
            return True
        if isinstance(message, wire.Run):
            self._begin(message)
            return True
        if message.run > self._run:
            raise Violation(f"a message about run {message.run}, which has not been sent")
        if message.run < self._run or self.state is State.IDLE:
            return False  # it crossed the end of its run
        if isinstance(message, (wire.Answer, wire.AnswerError)):
            return self._is_answer(message.call)
        if isinstance(message, wire.Cancel):
            wanted = not self._cancelled
            self._cancelled = True
            return wanted
        if self.state is not State.RETAINED:
            raise Violation(f"a call of a function of run {message.run}, which is not retained")
        if isinstance(message, wire.Invoke):
            if message.invocation <= self._invocations:
                raise Violation(f"invocation {message.invocation} after {self._invocations}: numbers count up")
            self._invocations = message.invocation
            self._open_invocations.add(message.invocation)
        return True

    def _begin(self, message: wire.Run) -> None:
        if self.state is not State.IDLE:
            raise Violation(f"run {message.run} was sent while run {self._run} goes on")
        if message.run <= self._run:
            raise Violation(f"run {message.run} was sent after run {self._run}: numbers count up")
        self._run = message.run
        self.state = State.PENDING
        self._calls = self._invocations = 0
        self._open_calls.clear()
        self._unwanted.clear()
        self._open_invocations.clear()
        self._cancelled = False

    def _is_answer(self, call: int) -> bool:
        if call in self._open_calls:
            self._open_calls.discard(call)
            return True
        if call in self._unwanted:
            self._unwanted.discard(call)
            return False
        known = "was answered already" if call <= self._calls else "was not made"
        raise Violation(f"an answer to call {call} of run {self._run}, which {known}")

    # --- to the client ------------------------------------------------------------------------------------------------

    def next_call(self) -> int:
        """The number of the run's next call."""
        return self._calls + 1

    def send(self, message: wire.ToClient, payload: bytes = b"", form: bytes = b"") -> tuple[bytes, bytes]:
        """The bytes of a message in two parts, which must leave in the order of these calls.

        Raises:
            OutOfTurn: the state does not allow it.
        """
        if isinstance(message, wire.Hello) is self._greeted:
            raise OutOfTurn(f"{type(message).__name__} must {'not ' if self._greeted else ''}be the first message")
        self._greeted = True
        if not isinstance(message, (wire.Hello, wire.Draining, wire.Pong)):
            self._advance(message)
        return wire.encode_parts(message, payload, form)

    def _advance(self, message: wire.ToClient) -> None:
        allowed = _ALLOWED[type(message)]
        if getattr(message, "run", None) != self._run or self.state not in allowed:
            raise OutOfTurn(f"{type(message).__name__} while run {self._run} is {self.state.value}")
        match message:
            case wire.Accepted():
                self.state = State.RUNNING
            case wire.Call():
                if message.call != self._calls + 1:
                    raise OutOfTurn(f"call {message.call} after {self._calls}")
                self._calls = message.call
                self._open_calls.add(message.call)
            case wire.CancelCall():
                if message.call not in self._open_calls:
                    raise OutOfTurn(f"call {message.call} is not open")
                self._open_calls.discard(message.call)
                self._unwanted.add(message.call)
            case wire.Result(retained=True):
                self.state = State.RETAINED
            case wire.Invoked() | wire.InvokeFailed():
                if message.invocation not in self._open_invocations:
                    raise OutOfTurn(f"invocation {message.invocation} is not open")
                self._open_invocations.discard(message.invocation)
            case wire.Refused() | wire.Result() | wire.Failed() | wire.Fault() | wire.Over():
                self.state = State.IDLE
            case _:
                pass


_RUNS = (State.RUNNING, State.RETAINED)
_ALLOWED: dict[type, tuple[State, ...]] = {
    wire.Accepted: (State.PENDING,),
    wire.Refused: (State.PENDING,),
    wire.Call: _RUNS,
    wire.CancelCall: _RUNS,
    wire.Logs: _RUNS,
    wire.Result: (State.RUNNING,),
    wire.Failed: (State.RUNNING,),
    wire.Fault: (State.RUNNING,),
    wire.Invoked: (State.RETAINED,),
    wire.InvokeFailed: (State.RETAINED,),
    wire.Over: (State.RETAINED,),
}
