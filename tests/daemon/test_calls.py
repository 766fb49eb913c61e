"""The calls of a run between an engine and a client that are both written out."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable

import pytest

from codemode_executor import Limits
from codemode_executor.daemon.accounts import Account
from codemode_executor.daemon.calls import RemoteCalls
from codemode_executor.daemon.service import Parent
from codemode_executor.daemon.table import remote_table
from codemode_executor.tool_failure import ToolFailure
from codemode_executor.tool_threads import ToolThreads
from codemode_executor.wire import bridge as wire
from codemode_executor.wire.messages import Call

DECLARED = wire.Run(run=7, code="1", providers=[wire.ProviderDeclaration(name="t", tools=["x", "a.b"])])


class Engine:
    """The run that calls: keeps its answers, and how often they left together."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.answers: list[tuple[int, bytes | str | None]] = []
        self.sent = 0
        self.slow: asyncio.Event | None = None
        self.held = False

    def answer_call(self, call: int, answer: bytes | ToolFailure | None) -> None:
        self.answers.append((call, answer.message if isinstance(answer, ToolFailure) else answer))

    def send_answers(self) -> None:
        self.sent += 1

    def room(self) -> Awaitable[object] | None:
        return None if self.slow is None else self.slow.wait()

    def hold(self) -> None:
        self.held = True

    def go_on(self) -> None:
        self.held = False


class Client:
    """The connection: keeps what the client is told, and what its reading waits for."""

    def __init__(self) -> None:
        self.told: list[tuple[wire.ToClient, bytes]] = []
        self.flushed = 0
        self.holds: list[asyncio.Future[object]] = []
        self._calls = 0

    def next_call(self) -> int:
        self._calls += 1
        return self._calls

    def put(self, message: wire.ToClient, payload: bytes = b"", *, held: bool = False) -> None:
        self.told.append((message, payload))

    def flush(self) -> None:
        self.flushed += 1

    def hold_until(self, room: Awaitable[object]) -> None:
        self.holds.append(asyncio.ensure_future(room))


def calls_of(client: Client, declared: wire.Run = DECLARED, limits: Limits | None = None) -> RemoteCalls:
    parent = Parent(Account("test", "0123456789abcdef"), 0)
    table = remote_table(declared, ToolThreads(1))
    return RemoteCalls(client, declared, table, limits or Limits(), parent, lambda: None)


def call(number: int, tool: str = "x", args: bytes = b"[]", provider: str = "t") -> Call:
    return Call(number, provider, tool, args)


async def test_calls_of_one_turn_leave_together_and_so_do_their_answers() -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client)
    calls.serve(engine, [call(11), call(12, "a_b"), call(13, "none"), call(14, args=b"{}")])
    assert [(m.call, m.tool) for m, _ in client.told if isinstance(m, wire.Call)] == [(1, "x"), (2, "a.b")]
    assert [number for number, _ in engine.answers] == [13, 14], "what cannot be called is answered here"
    assert (client.flushed, engine.sent) == (1, 1)
    calls.answer(wire.Answer(run=7, call=2), b"2")
    calls.answer(wire.AnswerError(run=7, call=1, message="no"), b"")
    calls.answer(wire.Answer(run=7, call=1), b"late")
    calls.flush()
    assert engine.answers[2:] == [(12, b"2"), (11, "no")]
    assert engine.sent == 2


async def test_what_nobody_wants_any_more_is_cancelled_once() -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client)
    calls.serve(engine, [call(1), call(2), call(3)])
    calls.cancel(2)
    calls.cancel(2)
    calls.answer(wire.Answer(run=7, call=1), b"1")
    calls.cancel_all()
    calls.cancel_all()
    assert [m.call for m, _ in client.told if isinstance(m, wire.CancelCall)] == [2, 3]
    calls.answer(wire.Answer(run=7, call=2), b"2")
    assert engine.answers == [(1, b"1")]


async def test_nothing_is_said_of_calls_that_their_run_has_ended() -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client)
    calls.serve(engine, [call(1)])
    calls.end()
    calls.cancel_all()
    calls.answer(wire.Answer(run=7, call=1), b"1")
    assert (len(client.told), engine.answers) == (1, [])


async def test_the_client_is_held_once_while_the_worker_is_slow() -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client)
    calls.serve(engine, [call(1), call(2), call(3)])
    engine.slow = asyncio.Event()
    calls.answer(wire.Answer(run=7, call=1), b"1")
    calls.answer(wire.Answer(run=7, call=2), b"2")
    assert len(client.holds) == 1
    engine.slow.set()
    await client.holds[0]
    calls.answer(wire.Answer(run=7, call=3), b"3")
    assert len(client.holds) == 2
    await client.holds[1]
    assert [number for number, _ in engine.answers] == [1, 2, 3]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b'"' + b"x" * 1001 + b'"', "the result of t.x is 1003 bytes long; the limit is 1000 bytes"),
        (b"{", "the result of t.x is not JSON"),
        (b'"\xff"', "the result of t.x is not UTF-8"),
        (b"[" * 300_000, "the result of t.x is not JSON"),
        (b'"\xff' + b"x" * 300_000, "the result of t.x is not UTF-8"),
    ],
)
async def test_answers_that_cannot_cross_are_failures(answer: bytes, text: str) -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client, limits=Limits(tool_result_bytes=1000))
    calls.serve(engine, [call(1)])
    calls.answer(wire.Answer(run=7, call=1), answer)
    for hold in client.holds:  # long ones are looked at beside the event loop
        await hold
    ((number, message),) = engine.answers
    assert number == 1
    assert isinstance(message, str)
    assert message.startswith(text)


async def test_a_long_answer_that_is_looked_at_is_dropped_with_its_run() -> None:
    engine, client = Engine(), Client()
    calls = calls_of(client)
    calls.serve(engine, [call(1)])
    calls.answer(wire.Answer(run=7, call=1), b"[" * 300_000)
    calls.end()
    (hold,) = client.holds
    with pytest.raises(asyncio.CancelledError):
        await hold
    assert engine.answers == []
