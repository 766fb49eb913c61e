"""The daemon's end of a connection without input or output: turns, crossings, violations."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codemode_executor import Limits, Usage
from codemode_executor.daemon.protocol import OutOfTurn, ServerChannel, State, Violation
from codemode_executor.wire import bridge as wire

HELLO = wire.Hello(version="1", protocol=1, limits=Limits(), max_message_bytes=1, heartbeat_s=1, retained_idle_s=1)


def channel(state: State = State.IDLE) -> ServerChannel:
    """A connection on which run 5 is in ``state``; running ones have made the calls 1 and 2."""
    made = ServerChannel()
    made.send(HELLO)
    if state is State.IDLE:
        return made
    receive(made, wire.Run(run=5, code=""))
    if state is State.PENDING:
        return made
    made.send(wire.Accepted(run=5, token="t"))
    for call in (1, 2):
        made.send(wire.Call(run=5, call=call, kind="tool", provider="p", tool="t"))
    if state is State.RETAINED:
        made.send(wire.Result(run=5, usage=Usage(), retained=True))
    assert made.state is state
    return made


def receive(made: ServerChannel, *messages: wire.ToDaemon) -> list[wire.ToDaemon]:
    frame = wire.join_messages(wire.encode_message(message) for message in messages)
    return [message for message, _ in made.receive(frame)]


@pytest.mark.parametrize(
    ("state", "message", "text"),
    [
        (State.PENDING, wire.Run(run=6, code=""), "while run 5 goes on"),
        (State.RUNNING, wire.Run(run=6, code=""), "while run 5 goes on"),
        (State.RETAINED, wire.Run(run=6, code=""), "while run 5 goes on"),
        (State.IDLE, wire.Cancel(run=1), "has not been sent"),
        (State.RUNNING, wire.Cancel(run=6), "has not been sent"),
        (State.PENDING, wire.Answer(run=5, call=1), "was not made"),
        (State.RUNNING, wire.Answer(run=5, call=3), "was not made"),
        (State.RUNNING, wire.AnswerError(run=5, call=9), "was not made"),
        (State.PENDING, wire.Invoke(run=5, invocation=1, handle=0), "not retained"),
        (State.RUNNING, wire.Invoke(run=5, invocation=1, handle=0), "not retained"),
        (State.RUNNING, wire.Release(run=5, handles=[1]), "not retained"),
    ],
)
def test_out_of_turn(state: State, message: wire.ToDaemon, text: str) -> None:
    with pytest.raises(Violation, match=text):
        receive(channel(state), message)


def test_run_numbers_count_up() -> None:
    made = channel(State.PENDING)
    made.send(wire.Refused(run=5, code="BUSY", message="m"))
    with pytest.raises(Violation, match="count up"):
        receive(made, wire.Run(run=5, code=""))
    assert receive(made, wire.Run(run=6, code="")) == [wire.Run(run=6, code="")]


@pytest.mark.parametrize("second", [wire.Answer(run=5, call=1), wire.AnswerError(run=5, call=1)])
def test_a_call_is_answered_once(second: wire.ToDaemon) -> None:
    made = channel(State.RUNNING)
    assert len(receive(made, wire.Answer(run=5, call=1))) == 1
    with pytest.raises(Violation, match="answered already"):
        receive(made, second)


def test_an_answer_that_nobody_wants_is_dropped_once() -> None:
    made = channel(State.RUNNING)
    made.send(wire.CancelCall(run=5, call=2))
    assert receive(made, wire.Answer(run=5, call=2)) == []
    with pytest.raises(Violation, match="answered already"):
        receive(made, wire.Answer(run=5, call=2))


def test_what_crossed_the_end_is_dropped() -> None:
    made = channel(State.RUNNING)
    made.send(wire.Failed(run=5, message="m", usage=Usage()))
    late: list[wire.ToDaemon] = [
        wire.Answer(run=5, call=1),
        wire.AnswerError(run=5, call=2),
        wire.Cancel(run=5),
        wire.Invoke(run=5, invocation=1, handle=0),
        wire.Release(run=5, handles=[]),
        wire.Cancel(run=2),
    ]
    assert receive(made, *late) == []
    assert receive(made, wire.Run(run=6, code=""), *late) == [wire.Run(run=6, code="")]


def test_a_run_is_cancelled_once() -> None:
    made = channel(State.RUNNING)
    assert receive(made, wire.Cancel(run=5), wire.Cancel(run=5)) == [wire.Cancel(run=5)]


def test_invocations_count_up() -> None:
    made = channel(State.RETAINED)
    call = wire.Invoke(run=5, invocation=3, handle=0)
    assert receive(made, call) == [call]
    for number in (3, 2):
        with pytest.raises(Violation, match="count up"):
            receive(made, wire.Invoke(run=5, invocation=number, handle=0))
    assert made.open_invocations == 1
    made.send(wire.Invoked(run=5, invocation=3))
    assert made.open_invocations == 0


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (State.IDLE, HELLO),
        (State.IDLE, wire.Accepted(run=5, token="t")),
        (State.PENDING, wire.Call(run=5, call=1, kind="tool", provider="p", tool="t")),
        (State.PENDING, wire.Result(run=5, usage=Usage())),
        (State.PENDING, wire.Accepted(run=4, token="t")),
        (State.RUNNING, wire.Refused(run=5, code="c", message="m")),
        (State.RUNNING, wire.Call(run=5, call=2, kind="tool", provider="p", tool="t")),
        (State.RUNNING, wire.CancelCall(run=5, call=3)),
        (State.RUNNING, wire.Over(run=5, message="m")),
        (State.RETAINED, wire.Result(run=5, usage=Usage())),
        (State.RETAINED, wire.Fault(run=5, code="c", message="m")),
        (State.RETAINED, wire.Invoked(run=5, invocation=1)),
    ],
)
def test_the_daemon_says_nothing_out_of_turn(state: State, message: wire.ToClient) -> None:
    made = channel(state)
    with pytest.raises(OutOfTurn):
        made.send(message)
    assert made.state is state


def test_hello_comes_first() -> None:
    with pytest.raises(OutOfTurn):
        ServerChannel().send(wire.Pong(n=1))


class AnyClient(RuleBasedStateMachine):
    """Whatever a client sends, in whatever state: it is acted on in its turn, dropped, or a violation, and a call is
    answered at most once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.channel = channel()
        self.over = False
        self.answered: set[tuple[int, int]] = set()
        self.started: set[int] = set()
        self.calls = 0

    def feed(self, message: wire.ToDaemon) -> None:
        try:
            taken = receive(self.channel, message)
        except Violation:
            self.over = True
            return
        for item in taken:
            if isinstance(item, wire.Run):
                assert item.run not in self.started
                self.started.add(item.run)
                self.calls = 0
            if isinstance(item, (wire.Answer, wire.AnswerError)):
                assert item.run == self.channel.run
                assert item.call <= self.calls
                assert (item.run, item.call) not in self.answered
                self.answered.add((item.run, item.call))

    @precondition(lambda self: not self.over)
    @rule(number=st.integers(1, 6))
    def run(self, number: int) -> None:
        self.feed(wire.Run(run=number, code=""))

    @precondition(lambda self: not self.over)
    @rule(number=st.integers(1, 6), call=st.integers(1, 4), failed=st.booleans())
    def answer(self, number: int, call: int, failed: bool) -> None:
        kind = wire.AnswerError if failed else wire.Answer
        self.feed(kind(run=number, call=call))

    @precondition(lambda self: not self.over)
    @rule(number=st.integers(1, 6), invocation=st.integers(1, 4))
    def invoke(self, number: int, invocation: int) -> None:
        self.feed(wire.Invoke(run=number, invocation=invocation, handle=0))

    @precondition(lambda self: not self.over)
    @rule(number=st.integers(1, 6))
    def cancel(self, number: int) -> None:
        self.feed(wire.Cancel(run=number))

    @precondition(lambda self: self.over)
    @rule()
    def closed(self) -> None:
        """Nothing is read any more."""

    @precondition(lambda self: self.channel.state is State.PENDING)
    @rule(accept=st.booleans())
    def decide(self, accept: bool) -> None:
        number = self.channel.run
        self.channel.send(
            wire.Accepted(run=number, token="t") if accept else wire.Refused(run=number, code="c", message="m")
        )

    @precondition(lambda self: self.channel.state in (State.RUNNING, State.RETAINED))
    @rule()
    def call(self) -> None:
        self.calls = self.channel.next_call()
        self.channel.send(wire.Call(run=self.channel.run, call=self.calls, kind="tool", provider="p", tool="t"))

    @precondition(lambda self: self.channel.state is State.RUNNING)
    @rule(retained=st.booleans())
    def end(self, retained: bool) -> None:
        self.channel.send(wire.Result(run=self.channel.run, usage=Usage(), retained=retained))

    @precondition(lambda self: self.channel.state is State.RETAINED)
    @rule()
    def dispose(self) -> None:
        self.channel.send(wire.Over(run=self.channel.run, message="m"))

    @invariant()
    def one_run_at_a_time(self) -> None:
        assert self.channel.run == max(self.started, default=0)


AnyClient.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnyClient = AnyClient.TestCase
