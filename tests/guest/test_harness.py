"""The harness bundle in V8, driven by scripted messages in the worker's place.

What counts is what was posted: the items that the worker would have seen, in their order.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from py_mini_racer import _dll

from codemode_executor.values import decode_result
from codemode_executor.values.result_codec import UNDEFINED
from codemode_executor.wire import messages as wire
from codemode_executor.wire.framing import FrameDecoder
from codemode_executor.worker import assets, channel
from codemode_executor.worker.channel import (
    CallItem,
    CancelTimerItem,
    FailureItem,
    Item,
    ResultItem,
    TakeItem,
    TimerItem,
)
from codemode_executor.worker.isolate import Engine, Isolate, Kind, Reply
from codemode_executor.worker.logs import LogReader
from codemode_executor.worker.outbox import Outbox
from codemode_executor.worker.platform import Platform
from codemode_executor.worker.program import Reading, Script
from codemode_executor.worker.run import GuestRun

GUARD_S = 10.0
TAG = "__codemode_binary_v1__"
NOTICE = wire.LEVELS.index("notice")
OK, FAILED, DUE, END, CONFIGURE = range(5)
# Longer than the buffer of the channel.
LONG = 20_000


class Log(NamedTuple):
    """A line that the program logged."""

    level: int
    text: str


Said = Item | Log
T = TypeVar("T", bound=Said)


@pytest.fixture(scope="module")
def engine() -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        # Another test of this process may have initialised V8; its flags do not matter here.
        patch.setattr(_dll, "init_mini_racer", partial(_dll.init_mini_racer, ignore_duplicate_init=True))
        return Engine(["--single-threaded"])


class Guest:
    """A harness in an isolate of its own, and the worker's reading of what it says.

    ``items`` are in the order in which the worker has them; what the harness should never do is
    in there as the exception or the reply that says so.
    """

    def __init__(self, engine: Engine, *, take: bool = True) -> None:
        self.items: queue.SimpleQueue[Said | Exception | Reply] = queue.SimpleQueue()
        self.on_call: Callable[[CallItem], None] | None = None
        self._take = take
        self._takes = 0
        self._held: Item | None = None
        self._lock = threading.Lock()
        # The harness may post while it is being attached; that says nothing.
        self._logs: LogReader | None = None
        self.isolate = Isolate(engine)
        self.isolate.load(assets.load("harness.js"))
        self._buffer = self.isolate.attach(self._posted)
        self._logs = LogReader(self._buffer)
        self.isolate.on_failed_delivery(self.items.put)

    def _posted(self) -> None:
        if self._logs is None:
            return
        try:
            with self._lock:
                self._put_logs(self._logs)
                self._logs.rewind()
            size = int.from_bytes(self._buffer[:4], "little")
            self._sort(channel.parse_units(bytes(self._buffer[4 : 4 + 2 * size])))
        except Exception as error:
            self.items.put(error)

    def look_at_logs(self) -> None:
        """What was logged and not posted, as the worker looks at it from time to time."""
        assert self._logs is not None
        with self._lock:
            self._put_logs(self._logs)

    def _put_logs(self, logs: LogReader) -> None:
        for level, text in logs.read():
            self.items.put(Log(level, text))

    def _sort(self, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, TakeItem) and self._take:
                self._takes += 1
                self.isolate.ask(None, functools.partial(self._taken, item))
            elif isinstance(item, CallItem) and self.on_call is not None:
                self.on_call(item)
            elif isinstance(item, (ResultItem, FailureItem)) and self._takes:
                self._held = item  # what was said before it is still to be taken
            else:
                self.items.put(item)

    def _taken(self, take: TakeItem, reply: Reply) -> None:
        try:
            assert reply.kind == Kind.STRING, reply
            self._takes -= 1
            self._sort(channel.parse_fetched(take, reply.text))
            if self._held is not None and not self._takes:
                self.items.put(self._held)
        except Exception as error:
            self.items.put(error)

    # --- what the worker sends --------------------------------------------------------------------

    def deliver(self, *items: Mapping[str, object]) -> None:
        self.isolate.deliver(json.dumps(items).encode())

    def configure(self, **changes: object) -> None:
        self.deliver(
            {
                "kind": CONFIGURE,
                "providers": [{"name": "tools", "hasThen": False}],
                "env": {},
                "logBytes": 1 << 20,
                "logLines": 1000,
                "argumentBytes": 1 << 20,
                "resultBytes": 1 << 20,
                "callsInFlight": 1000,
                "seed": [1, 2, 3, 4],
                "chunks": False,
                **changes,
            }
        )

    def run(self, program: str, **changes: object) -> None:
        """Start ``program``, a function, the way a worker does."""
        self.configure(**changes)
        self.isolate.evaluate(Script(Reading(True, body=program), ["tools"]).source, self._started)

    def _started(self, reply: Reply) -> None:
        if reply.kind >= Kind.EXCEPTION:
            self.items.put(reply)

    def answer(self, call: CallItem, value: object) -> None:
        self.deliver({"kind": OK, "id": call.call, "value": value})

    def echo(self) -> list[CallItem]:
        """Answer every call with its first argument, from now on."""
        calls: list[CallItem] = []

        def answer(call: CallItem) -> None:
            calls.append(call)
            args = json.loads(bytes(call.args))
            value = json.dumps(args[0] if args else None).encode()
            self.isolate.deliver(b'[{"kind":0,"id":%d,"value":%b}]' % (call.call, value))

        self.on_call = answer
        return calls

    # --- what the worker sees ---------------------------------------------------------------------

    def next(self, kind: type[T]) -> T:
        item = self.items.get(timeout=GUARD_S)
        assert isinstance(item, kind), item
        return item

    def next_of_any_kind(self) -> Said:
        item = self.items.get(timeout=GUARD_S)
        assert isinstance(item, Said), item
        return item

    def until_the_end(self) -> tuple[list[Said], ResultItem | FailureItem]:
        items: list[Said] = []
        while True:
            item = self.items.get(timeout=GUARD_S)
            assert isinstance(item, Said), item
            if isinstance(item, (ResultItem, FailureItem)):
                return items, item
            items.append(item)

    def result(self) -> object:
        """What the program answered; the rest of what it said is dropped."""
        _, end = self.until_the_end()
        assert isinstance(end, ResultItem), end
        return "undefined" if end.form == UNDEFINED else decode_result(end.form, bytes(end.value))

    def failure(self) -> FailureItem:
        _, end = self.until_the_end()
        assert isinstance(end, FailureItem), end
        return end

    def settled(self) -> None:
        """Everything posted so far is done, and nothing was said that was not read."""
        done: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        # The second round comes after the microtasks of the first.
        for _ in range(2):
            self.isolate.ask(b"[]", done.put)
            done.get(timeout=GUARD_S)
        assert self.items.empty(), self.items.get()

    def free(self) -> None:
        self.isolate.free()


@pytest.fixture
def guest(engine: Engine) -> Iterator[Guest]:
    guest = Guest(engine)
    yield guest
    guest.free()


# --- the plain way --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("async () => 1", 1),
        ("() => ({ a: [null, true, 'é\\ud800'], b: undefined })", {"a": [None, True, "é\ud800"], "b": None}),
        ("async () => {}", "undefined"),
        ("async () => [undefined]", [None]),
        ("async () => Object.create(null, { a: { value: 1, enumerable: true } })", {"a": 1}),
        ('async () => JSON.parse(\'{"__proto__": {"toJSON": 1}}\')', {"__proto__": {"toJSON": 1}}),
        ("async () => ({ toJSON: 1 })", {"toJSON": 1}),
        ("async () => 'x'.repeat(100000)", "x" * 100_000),
        ("async () => ({ then: 1 })", {"then": 1}),
        ("() => new Promise((resolve) => resolve({ then(done) { done(2) } }))", 2),
        ("async () => tools", {}),
    ],
)
def test_results(guest: Guest, program: str, result: object) -> None:
    guest.run(program)
    assert guest.result() == result
    guest.settled()


@pytest.mark.parametrize(
    ("program", "name", "message"),
    [
        ("async () => { throw new TypeError('t') }", "TypeError", "t"),
        ("() => { throw new Error('at once') }", "Error", "at once"),
        ("async () => { throw 'text' }", "", "text"),
        ("async () => { throw '' }", "", "An empty string was thrown"),
        ("async () => { throw null }", "", "null"),
        ("async () => { throw undefined }", "", "undefined"),
        ("async () => { throw 1n }", "", "1"),
        ("async () => { throw Symbol('s') }", "", "Symbol(s)"),
        ("async () => { throw new Error('') }", "Error", "Error"),
        ("async () => { throw { code: 3 } }", "", '{"code":3}'),
        ("async () => { throw {} }", "", "[object Object]"),
        ("async () => { throw { message: { a: 1 } } }", "", '{"a":1}'),
        ("async () => { throw { message: 'a\\ud800', name: 'N' } }", "N", "a\ufffd"),
        ("async () => { throw { get message() { throw 1 }, name: 'N' } }", "N", "N"),
        (
            "async () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy }",
            "",
            "[value that cannot be printed]",
        ),
        ("async () => { throw Object.create(null) }", "", "[value that cannot be printed]"),
        ("() => Promise.reject(new Error('rejected'))", "Error", "rejected"),
        ("() => ({ then() { throw new Error('in then') } })", "Error", "in then"),
        ("async () => Symbol('s')", "Error", "The result cannot be returned: result is a symbol"),
        ("async () => ({ a: [() => 1] })", "Error", "The result cannot be returned: result.a[0] is a function"),
        ("async () => [Promise.resolve()]", "Error", "The result cannot be returned: result[0] is a pending Promise"),
        ("async () => ({ get a() { throw new RangeError('g') } })", "RangeError", "g"),
        (
            "async () => { let a = []; for (let n = 0; n < 501; n++) a = [a]; return a }",
            "Error",
            "The result cannot be returned: result[0][0]",
        ),
    ],
)
def test_failures_are_never_without_words(guest: Guest, program: str, name: str, message: str) -> None:
    guest.run(program)
    failure = guest.failure()
    assert failure.name == name
    assert failure.message.startswith(message)
    guest.settled()


def test_the_guest_finds_no_name_of_the_harness(guest: Guest) -> None:
    guest.run(
        "async () => [typeof __start__, typeof port, typeof bundle, typeof post,"
        " Object.getOwnPropertyNames(globalThis).filter((name) => /^_/.test(name))]"
    )
    assert guest.result() == ["undefined"] * 4 + [[]]


def test_what_the_harness_adds_to_the_globals_is_pinned(engine: Engine, guest: Guest) -> None:
    names = "JSON.stringify(Object.getOwnPropertyNames(globalThis))"
    bare = Isolate(engine)
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    try:
        bare.evaluate(names.encode(), replies.put)
        before = set(json.loads(replies.get(timeout=GUARD_S).text))
    finally:
        bare.free()
    guest.run("async () => Object.getOwnPropertyNames(globalThis)")
    after = guest.result()
    assert isinstance(after, list)
    assert set(after) - before == {"setTimeout", "setInterval", "clearTimeout", "clearInterval", "self", "global"}


def test_there_is_no_web_assembly(guest: Guest) -> None:
    # Code that a guest compiles is a way around the interpreter's checks: design, section 6.
    guest.run("async () => typeof WebAssembly === 'undefined' || WebAssembly.instantiate === undefined")
    assert guest.result() is True


# --- tool calls -----------------------------------------------------------------------------------


def test_a_call_and_its_answer(guest: Guest) -> None:
    guest.run("async () => { const a = await tools['issues.list'](1, { b: 2 }); return [a, a.c] }")
    call = guest.next(CallItem)
    assert (call.provider, call.tool, call.args) == ("tools", "issues.list", b'[1,{"b":2}]')
    guest.answer(call, {"c": 3})
    assert guest.result() == [{"c": 3}, 3]


def test_an_answer_without_a_value_is_undefined(guest: Guest) -> None:
    guest.run("async () => typeof await tools.t()")
    guest.deliver({"kind": OK, "id": guest.next(CallItem).call})
    assert guest.result() == "undefined"


def test_a_failing_tool_throws_an_error_with_its_additions(guest: Guest) -> None:
    guest.run(
        "async () => { try { await tools.t() } catch (e) {"
        " return [e instanceof Error, e.message, e.name, e.code, [...e.details], e.cause, Object.keys(e)] } }"
    )
    guest.deliver(
        {
            "kind": FAILED,
            "id": guest.next(CallItem).call,
            "message": "no",
            "name": "Refused",
            "code": 4,
            "details": {TAG: "Uint8Array", "data": "AQI="},
            "cause": "because",
        }
    )
    assert guest.result() == [True, "no", "Refused", 4, [1, 2], "because", ["code", "details"]]


def test_calls_of_one_turn_leave_in_one_message_and_in_order(guest: Guest) -> None:
    guest.run("async () => Promise.all([1, 2, 3].map((n) => tools.t(n)))")
    calls = [guest.next(CallItem) for _ in range(3)]
    assert [call.args for call in calls] == [b"[1]", b"[2]", b"[3]"]
    # Answers may come together and in any order.
    guest.deliver(*({"kind": OK, "id": call.call, "value": call.call * 10} for call in calls[::-1]))
    assert guest.result() == [call.call * 10 for call in calls]


def test_answers_to_no_call_are_ignored(guest: Guest) -> None:
    guest.run("async () => await tools.t()")
    call = guest.next(CallItem)
    for stray in (call.call + 1, -1, 1.5, 10**9, "0", None, "__proto__", [call.call], True):
        guest.deliver({"kind": OK, "id": stray, "value": "stray"})
        guest.deliver({"kind": FAILED, "id": stray, "message": "stray"})
        guest.deliver({"kind": DUE, "id": stray})
    guest.deliver({"kind": OK, "value": "stray"}, {"kind": OK, "id": call.call, "value": "real"})
    assert guest.result() == "real"
    guest.settled()


def test_only_the_first_answer_counts(guest: Guest) -> None:
    guest.run("async () => { const a = await tools.t(); await tools.u(); return a }")
    call = guest.next(CallItem)
    guest.answer(call, "first")
    guest.answer(call, "second")
    guest.deliver({"kind": FAILED, "id": call.call, "message": "third"})
    guest.answer(guest.next(CallItem), None)
    assert guest.result() == "first"


def test_late_answers_are_ignored(guest: Guest) -> None:
    guest.run("async () => { tools.t().then(() => console.log('late')); return 1 }")
    call = guest.next(CallItem)
    assert guest.result() == 1
    guest.answer(call, 2)
    guest.deliver({"kind": FAILED, "id": call.call, "message": "no"})
    guest.settled()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"{}",
        b"null",
        b"[1",
        b"[null]",
        b"[1]",
        b'["text"]',
        b'[{"kind":0,"id":0,"value":}]',
        b"\xff",
    ],
)
def test_a_message_that_is_none_breaks_nothing(guest: Guest, text: bytes) -> None:
    guest.run("async () => await tools.t()")
    call = guest.next(CallItem)
    guest.isolate.deliver(text)
    guest.answer(call, "after")
    items: list[object] = []
    while not isinstance(item := guest.items.get(timeout=GUARD_S), ResultItem):
        items.append(item)
    assert item.value == b'"after"'
    # It is either nothing or reported; it is no other outcome.
    assert all(isinstance(item, Reply) and item.kind == Kind.EXCEPTION for item in items), items


@pytest.mark.parametrize(
    "value",
    [
        {TAG: "Uint8Array", "data": "***"},
        {TAG: "ArrayBuffer", "data": "A"},
        {TAG: "escaped", "value": None},
        {TAG: "escaped", "value": "text"},
        [{"a": {TAG: "Uint8Array", "data": "é"}}],
    ],
    ids=json.dumps,
)
def test_a_result_with_a_broken_tag_concerns_its_call_alone(guest: Guest, value: object) -> None:
    # A dispatching host writes results itself, and its bytes are not looked at on the way.
    guest.run(
        "async () => (await Promise.allSettled([tools.a(), tools.b()])).map(({ status, value }) =>"
        " status === 'fulfilled' ? value : status)"
    )
    first, second = guest.next(CallItem), guest.next(CallItem)
    guest.deliver(
        {"kind": OK, "id": first.call, "value": value},
        {"kind": OK, "id": second.call, "value": "intact"},
    )
    settled = guest.result()
    assert isinstance(settled, list)
    assert settled[1] == "intact"


def test_calls_beyond_the_number_in_flight_wait_in_order(guest: Guest) -> None:
    guest.run("async () => Promise.all([0, 1, 2, 3, 4].map((n) => tools.t(n)))", callsInFlight=2)
    open_calls = [guest.next(CallItem), guest.next(CallItem)]
    order: list[bytes] = []
    guest.settled()
    while open_calls:
        call = open_calls.pop(0)
        order.append(call.args)
        if len(order) == 1:
            guest.deliver({"kind": OK, "id": call.call, "value": 0})
        else:
            # A failure makes room as well.
            guest.deliver({"kind": OK, "id": call.call, "value": len(order) - 1})
        if len(order) <= 3:
            open_calls.append(guest.next(CallItem))
    assert order == [b"[%d]" % n for n in range(5)]
    assert guest.result() == [0, 1, 2, 3, 4]


def test_a_failed_call_makes_room(guest: Guest) -> None:
    guest.run(
        "async () => { const a = tools.a().catch((e) => e.message); const b = tools.b(); return [await a, await b] }",
        callsInFlight=1,
    )
    guest.deliver({"kind": FAILED, "id": guest.next(CallItem).call, "message": "no"})
    guest.answer(guest.next(CallItem), "yes")
    assert guest.result() == ["no", "yes"]


def test_arguments_beyond_the_bound_throw_at_the_call_and_send_nothing(guest: Guest) -> None:
    guest.run(
        "async () => { try { await tools.t('x'.repeat(200)) } catch (e) { return e.message } }",
        argumentBytes=100,
    )
    assert guest.result() == (
        "The arguments of tools.t are 204 characters long; the limit is 100 bytes (Limits.argument_bytes)"
    )


def test_arguments_that_cannot_be_encoded_throw_at_the_call(guest: Guest) -> None:
    guest.run(
        "async () => { const a = []; a.push(a); const errors = [];"
        " for (const arg of [a, 1n, { toJSON() { throw new Error('own') } }])"
        " await tools.t(arg).catch((e) => errors.push(e.constructor.name));"
        " return errors }"
    )
    assert guest.result() == ["TypeError", "TypeError", "Error"]


def test_a_result_beyond_the_bound_names_both_sizes(guest: Guest) -> None:
    guest.run("async () => 'x'.repeat(99)", resultBytes=100)
    failure = guest.failure()
    assert failure.kind == wire.OUTCOME_RESULT_SIZE
    assert "101 characters" in failure.message
    assert "100 bytes (Limits.result_bytes)" in failure.message


def test_then_is_a_tool_only_if_it_is_declared(guest: Guest) -> None:
    guest.run("async () => await tools", providers=[{"name": "tools", "hasThen": True}])
    assert guest.next(CallItem).tool == "then"


def test_own_properties_of_a_namespace_come_first(guest: Guest) -> None:
    guest.run("async () => { tools.own = 1; return [tools.own, typeof tools.constructor, tools[Symbol.iterator]] }")
    assert guest.result() == [1, "function", None]


# --- the end of a run -----------------------------------------------------------------------------


def test_the_end_comes_while_the_program_waits(guest: Guest) -> None:
    guest.run("async () => { console.log('first'); console.log('last'); await tools.never() }")
    assert guest.next(Log).text == "first"
    assert guest.next(Log).text == "last"
    guest.next(CallItem)
    guest.deliver({"kind": END, "code": wire.OUTCOME_TIMEOUT, "message": "Execution timed out"})
    failure = guest.next(FailureItem)
    assert failure == FailureItem(wire.OUTCOME_TIMEOUT, "", "Execution timed out", "")
    guest.settled()


def test_the_end_comes_once(guest: Guest) -> None:
    guest.run("async () => { await tools.never() }")
    call = guest.next(CallItem)
    for code in (wire.OUTCOME_CANCELLED, wire.OUTCOME_TIMEOUT):
        guest.deliver({"kind": END, "code": code, "message": "the end"})
    guest.answer(call, 1)
    assert guest.next(FailureItem).kind == wire.OUTCOME_CANCELLED
    guest.settled()


def test_the_end_may_come_twice_in_one_message(guest: Guest) -> None:
    guest.run("async () => { await tools.never() }")
    guest.next(CallItem)
    end: dict[str, object] = {"kind": END, "code": wire.OUTCOME_CANCELLED, "message": "the end"}
    guest.deliver(end, end)
    guest.next(FailureItem)
    guest.settled()


def test_an_end_after_the_answer_has_no_effect(guest: Guest) -> None:
    guest.run("async () => 1")
    assert guest.result() == 1
    guest.deliver({"kind": END, "code": wire.OUTCOME_TIMEOUT, "message": "late"})
    guest.settled()


def test_an_end_before_the_program_starts_keeps_it_from_saying_anything(guest: Guest) -> None:
    guest.configure()
    guest.deliver({"kind": END, "code": wire.OUTCOME_TIMEOUT, "message": "early"})
    assert guest.next(FailureItem).message == "early"
    script = Script(Reading(True, body="async () => { console.log('on'); return 1 }"), ["tools"])
    guest.isolate.evaluate(script.source, lambda _: None)
    guest.settled()


def test_nothing_after_the_end_has_an_effect(guest: Guest) -> None:
    guest.run(
        "async () => { (async () => { for (let i = 0; i < 50; i++) await 0; for (;;) {"
        " console.log('after'); tools.t(); setTimeout(() => {}); if (Math.random() < 0.1) break; await 0 } })();"
        " return 'the answer' }"
    )
    assert guest.result() == "the answer"
    guest.settled()


def test_nothing_of_a_program_that_was_ended_is_heard_of(guest: Guest) -> None:
    guest.run(
        "async () => { try { await tools.t() } finally { console.log('finally'); tools.u(); setTimeout(() => {}) } }"
    )
    call = guest.next(CallItem)
    guest.deliver(
        {"kind": END, "code": wire.OUTCOME_CANCELLED, "message": "cancelled"},
        {"kind": OK, "id": call.call, "value": 1},
    )
    assert guest.next(FailureItem).message == "cancelled"
    guest.settled()


# --- logs -----------------------------------------------------------------------------------------


def test_levels_and_formats(guest: Guest) -> None:
    guest.run(
        "async () => { console.log('a', 1, null, [1, 2], {}); console.warn('w'); console.error('e');"
        " console.info('i'); console.debug('d'); console.trace('t'); console.dir('r'); console.table('b');"
        " console.log(); console.log('a\\ud800'); console.log(Symbol('s'), Object.create(null));"
        " console.assert(true, 'x'); console.assert(false, 'y'); console.group('g'); console.time('t');"
        " console.log(1) }"
    )
    items, _ = guest.until_the_end()
    assert [(wire.LEVELS[item.level], item.text) for item in items if isinstance(item, Log)] == [
        ("log", "a 1 null 1,2 [object Object]"),
        ("warn", "w"),
        ("error", "e"),
        ("info", "i"),
        ("debug", "d"),
        ("trace", "t"),
        ("dir", "r"),
        ("table", "b"),
        ("log", ""),
        ("log", "a\ufffd"),
        ("log", "Symbol(s) [value that cannot be printed]"),
        ("assert", "Assertion failed y"),
        ("log", "1"),
    ]


def test_the_first_line_can_be_read_although_the_program_never_yields(guest: Guest) -> None:
    guest.run("() => { console.log('before the loop'); while (true) {} }")
    until = time.monotonic() + GUARD_S
    while guest.items.empty() and time.monotonic() < until:
        guest.look_at_logs()
    assert guest.next(Log).text == "before the loop"


def test_later_lines_can_be_read_although_the_program_never_yields(guest: Guest) -> None:
    guest.run("() => { for (let i = 0; i < 5000; i++) console.log(i); while (true) {} }", logLines=10**6)
    lines: list[str] = []
    until = time.monotonic() + GUARD_S
    while len(lines) < 5000 and time.monotonic() < until:
        guest.look_at_logs()
        while not guest.items.empty():
            lines.append(guest.next(Log).text)
        time.sleep(0.001)  # the isolate's thread has work to do in Python too
    assert lines == [str(number) for number in range(5000)]


def test_lines_are_read_while_they_are_written(guest: Guest) -> None:
    # Of every length, so that they end anywhere in the memory, in pieces too.
    guest.run(
        "() => { for (let i = 0; i < 3000; i++) console.log(String(i % 10).repeat(i * 13 % 40000)); return 1 }",
        logLines=10**6,
        logBytes=1 << 30,
    )
    lines: list[Said] = []
    while True:
        guest.look_at_logs()
        item = guest.items.get(timeout=GUARD_S)
        if isinstance(item, ResultItem):
            break
        assert isinstance(item, Log), item
        lines.append(item)
    assert [item.text for item in lines if isinstance(item, Log)] == [
        str(i % 10) * (i * 13 % 40_000) for i in range(3000)
    ]


def test_lines_of_one_turn_leave_when_it_ends(guest: Guest) -> None:
    guest.run("async () => { console.log(1); console.log(2); await tools.t() }")
    assert [guest.next(Log).text for _ in range(2)] == ["1", "2"]
    guest.next(CallItem)


def test_lines_and_calls_keep_their_order(guest: Guest) -> None:
    calls = guest.echo()
    guest.run(
        "async () => { for (let i = 0; i < 30; i++) { console.log('a' + i); await tools.t(i); console.log('b' + i) } }"
    )
    items, _ = guest.until_the_end()
    texts = [item.text for item in items if isinstance(item, Log)]
    assert texts == [f"{when}{i}" for i in range(30) for when in "ab"]
    assert [call.args for call in calls] == [b"[%d]" % i for i in range(30)]


def test_the_number_of_lines_is_bounded_and_said(guest: Guest) -> None:
    guest.run("async () => { for (let i = 0; i < 10; i++) console.log(i); return 1 }", logLines=3)
    items, end = guest.until_the_end()
    lines = [(item.level, item.text) for item in items if isinstance(item, Log)]
    assert lines[:3] == [(0, "0"), (0, "1"), (0, "2")]
    assert [level for level, _ in lines[3:]] == [NOTICE]
    assert lines[3][1].startswith("Further log output was dropped: the limit is 3 lines")
    assert end == ResultItem(1, b"1")


def test_the_size_of_lines_is_bounded_and_the_last_one_cut(guest: Guest) -> None:
    guest.run("async () => { console.log('abcdef'); console.log('ghijkl'); console.log('m') }", logBytes=10)
    items, _ = guest.until_the_end()
    lines = [(item.level, item.text) for item in items if isinstance(item, Log)]
    assert lines[:2] == [(0, "abcdef"), (0, "ghij")]
    assert [level for level, _ in lines[2:]] == [NOTICE]


@pytest.mark.parametrize("pairs", [10, LONG])
def test_a_line_cut_within_a_pair_moves_nothing(guest: Guest, pairs: int) -> None:
    # The bound falls within the bytes of a character.
    guest.run(
        f"async () => {{ console.log('😀'.repeat({pairs})); tools.after('é'); return 'end' }}",
        logBytes=4 * pairs - 1,
    )
    items, end = guest.until_the_end()
    line, notice = (item for item in items if isinstance(item, Log))
    assert line.text == "😀" * (pairs - 1)
    assert (notice.level, notice.text[:31]) == (NOTICE, "Further log output was dropped:")
    (call,) = (item for item in items if isinstance(item, CallItem))
    assert (call.provider, call.tool, call.args) == ("tools", "after", '["é"]'.encode())
    assert end == ResultItem(1, b'"end"')


# --- long messages --------------------------------------------------------------------------------


def test_long_messages_are_taken_in_order(guest: Guest) -> None:
    calls = guest.echo()
    guest.run(
        f"async () => {{ const all = []; for (let i = 0; i < 5; i++)"
        f" all.push((await tools.t(String(i).repeat({LONG}))).slice(0, 2)); return all }}"
    )
    assert guest.result() == ["00", "11", "22", "33", "44"]
    assert [len(call.args) for call in calls] == [LONG + 4] * 5


def test_long_messages_of_one_turn_are_taken_in_order(guest: Guest) -> None:
    calls = guest.echo()
    guest.run(
        f"async () => (await Promise.all([0, 1, 2, 3, 4].map((i) => tools.t(String(i).repeat({2 * LONG})))))"
        ".map((text) => text[0])"
    )
    assert guest.result() == ["0", "1", "2", "3", "4"]
    assert [call.args[2:3] for call in calls] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_long_result_is_taken_after_the_end(guest: Guest) -> None:
    guest.run(f"async () => 'é😀'.repeat({LONG})")
    assert guest.result() == "é😀" * LONG


def test_a_long_message_waits_until_it_is_taken(engine: Engine) -> None:
    guest = Guest(engine, take=False)
    try:
        guest.run(
            f"async () => {{ tools.a('a'.repeat({LONG})); await tools.t(); tools.b('b'.repeat({LONG})); return 1 }}"
        )
        announced = guest.next(TakeItem)
        texts: queue.SimpleQueue[Reply] = queue.SimpleQueue()

        def take(announced: TakeItem) -> list[Item]:
            guest.isolate.ask(None, texts.put)
            reply = texts.get(timeout=GUARD_S)
            assert reply.kind == Kind.STRING, reply
            return channel.parse_fetched(announced, reply.text)

        first = take(announced)
        calls = [item for item in first if isinstance(item, CallItem)]
        if len(calls) == 1:
            calls.append(guest.next(CallItem))
        assert [(call.tool, len(call.args)) for call in calls] == [("a", LONG + 4), ("t", 2)]
        guest.answer(calls[1], None)
        (late, *rest) = take(guest.next(TakeItem))
        assert isinstance(late, CallItem)
        assert (late.tool, len(late.args)) == ("b", LONG + 4)
        assert (rest or [guest.next(ResultItem)]) == [ResultItem(1, b"1")]
        # One more than there were is an error of the worker's, and nothing else.
        guest.isolate.ask(None, texts.put)
        assert texts.get(timeout=GUARD_S).kind == Kind.EXCEPTION
    finally:
        guest.free()


@pytest.mark.parametrize("size", [8000, 8150, 8160, 8170, 8180, 8185, 8190, 8192, 8200, 32_700, 32_800])
def test_sizes_around_the_bounds_of_the_buffer(guest: Guest, size: int) -> None:
    guest.run(f"async () => {{ tools.a('s'); tools.t('é'.repeat({size})); tools.b('z'); return 'r' }}")
    items, end = guest.until_the_end()
    calls = [(item.tool, len(json.loads(bytes(item.args))[0])) for item in items if isinstance(item, CallItem)]
    assert sorted(calls) == [("a", 1), ("b", 1), ("t", size)]
    assert end == ResultItem(1, b'"r"')


def by_worker(engine: Engine, program: str) -> list[wire.ToSupervisor]:
    """What the supervisor is sent for ``program``, with the worker's own reading of the channel."""
    near, far = socket.socketpair()
    far.settimeout(GUARD_S)
    wake = os.eventfd(0)
    run: GuestRun | None = None
    isolate = Isolate(engine)
    try:
        isolate.load(assets.load("harness.js"))
        buffer = isolate.attach(lambda: None if run is None else run.on_post())
        mib = 1 << 20
        message = wire.Run(
            1,
            program,
            [wire.ProviderSpec("tools", False)],
            b"{}",
            wire.RunLimits(60.0, mib, mib, mib, 1000, 1000, 1000),
        )
        run = GuestRun(message, isolate, buffer, Platform(), Outbox(near, wake), lambda: None)
        run.start(Reading(True, body=program))
        decoder = FrameDecoder(64 * mib)
        messages: list[wire.ToSupervisor] = []
        while not any(isinstance(message, wire.Outcome) for message in messages):
            messages += map(wire.decode_to_supervisor, decoder.feed(far.recv(1 << 16)))
        return messages
    finally:
        isolate.free()
        near.close()
        far.close()
        os.close(wake)


def test_the_worker_keeps_short_and_long_lines_in_their_order(engine: Engine) -> None:
    messages = by_worker(
        engine,
        "async () => { for (let i = 0; i < 8; i++) {"
        f" console.log(i + (i % 2 ? '' : ' '.repeat({LONG}))); await undefined; await undefined }} return 1 }}",
    )
    lines = [text for message in messages if isinstance(message, wire.Logs) for _, text in message.lines]
    assert [text.strip() for text in lines] == [str(number) for number in range(8)]


def test_the_worker_keeps_short_and_long_calls_in_their_order(engine: Engine) -> None:
    messages = by_worker(
        engine,
        f"async () => {{ tools.first('x'.repeat({LONG})); await undefined; await undefined;"
        " tools.second(); return 1 }",
    )
    calls = [call.tool for message in messages if isinstance(message, wire.Calls) for call in message.calls]
    assert calls == ["first", "second"]


def test_the_worker_reads_no_memory_of_an_isolate_that_is_gone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    distrusted: list[Exception] = []
    monkeypatch.setattr(GuestRun, "_distrust", lambda _, error: distrusted.append(error))
    near, far = socket.socketpair()
    far.settimeout(GUARD_S)
    wake = os.eventfd(0)
    isolate = Isolate(engine)
    # In place of the shared memory, so that what becomes of it afterwards is known.
    memory = bytearray(1 << 16)
    try:
        isolate.load(assets.load("harness.js"))
        isolate.attach(lambda: None)
        limits = wire.RunLimits(60.0, 1 << 20, 1 << 20, 1 << 20, 1000, 1000, 1000)
        program = "async () => { await tools.never() }"
        message = wire.Run(7, program, [wire.ProviderSpec("tools", False)], b"{}", limits)
        run = GuestRun(message, isolate, memoryview(memory), Platform(), Outbox(near, wake), lambda: None)
        run.start(Reading(True, body=program))
        run.stop(wire.OUTCOME_TIMEOUT, "Execution timed out")
        isolate.free()
        memory[:] = b"\xff" * len(memory)  # V8 gives it to the next isolate
        run.stopped()
        (outcome,) = map(wire.decode_to_supervisor, FrameDecoder(1 << 20).feed(far.recv(1 << 16)))
    finally:
        isolate.free()
        near.close()
        far.close()
        os.close(wake)
    assert distrusted == []
    assert isinstance(outcome, wire.Outcome)
    assert (outcome.run, outcome.kind) == (7, wire.OUTCOME_TIMEOUT)


@pytest.mark.parametrize(
    "program",
    [
        "async () => { throw new Error('x'.repeat(3 << 20)) }",
        "async () => { throw { name: 'n'.repeat(3 << 20), message: 'm', stack: 's'.repeat(3 << 20) } }",
        "async () => { throw 'x'.repeat(3 << 20) }",
        # Put together with anything else it would be longer than a string can be.
        "async () => { throw { message: 'x'.repeat(2 ** 29 - 24) } }",
        "async () => { throw { name: 'E', message: 'm', stack: 'x'.repeat(2 ** 29 - 24) } }",
    ],
)
def test_what_is_said_of_a_failure_is_bounded(guest: Guest, program: str) -> None:
    guest.run(program)
    failure = guest.failure()
    assert failure.message
    # A megabyte is more than any message needs; a frame to the supervisor has a bound of its own.
    assert len(failure.name) + len(failure.message) + len(failure.stack) <= 1 << 20


# --- timers ---------------------------------------------------------------------------------------


def test_a_timer_is_a_request_and_its_callback_an_answer(guest: Guest) -> None:
    guest.run("async () => new Promise((done) => setTimeout((a, b) => done([a, b]), 20.7, 'a', 2))")
    timer = guest.next(TimerItem)
    assert timer.delay_ms == 20
    guest.deliver({"kind": DUE, "id": timer.timer})
    assert guest.result() == ["a", 2]


@pytest.mark.parametrize(
    ("delay", "ms"),
    [("", 0), ("0", 0), ("-5", 0), ("NaN", 0), ("'7'", 7), ("1e10", 0), ("2147483647", 2147483647), ("{}", 0)],
)
def test_delays(guest: Guest, delay: str, ms: int) -> None:
    guest.run(f"async () => {{ setTimeout(() => {{}}, {delay or 'undefined'}); await tools.never() }}")
    assert guest.next(TimerItem).delay_ms == ms


def test_a_timer_fires_once_and_an_interval_until_it_is_cleared(guest: Guest) -> None:
    guest.run(
        "async () => new Promise((done) => { let n = 0; setTimeout(() => n += 100, 1);"
        " const id = setInterval(() => { if (++n >= 102) { clearInterval(id); done(n) } }, 0) })"
    )
    once, often = guest.next(TimerItem), guest.next(TimerItem)
    assert often.delay_ms == 1
    for _ in range(3):
        guest.deliver({"kind": DUE, "id": once.timer})
    for _ in range(2):
        guest.deliver({"kind": DUE, "id": often.timer})
        again = guest.next(TimerItem)
        assert (again.timer, again.delay_ms) == (often.timer, often.delay_ms)
    assert guest.next(CancelTimerItem).timer == often.timer
    assert guest.result() == 102


def test_a_cleared_timer_does_not_fire(guest: Guest) -> None:
    guest.run(
        "async () => { const id = setTimeout(() => console.log('fired'), 5); clearTimeout(id); clearTimeout(id);"
        " clearTimeout(99); clearTimeout(); await tools.t(); return 1 }"
    )
    timer = guest.next(TimerItem)
    assert guest.next(CancelTimerItem).timer == timer.timer
    call = guest.next(CallItem)
    guest.deliver({"kind": DUE, "id": timer.timer})
    guest.answer(call, None)
    assert guest.next(ResultItem).value == b"1"


def test_what_a_timer_throws_is_logged_and_ends_nothing(guest: Guest) -> None:
    guest.run("async () => { setTimeout(() => { throw new Error('in the timer') }); await tools.t(); return 1 }")
    timer = guest.next(TimerItem)
    call = guest.next(CallItem)
    guest.deliver({"kind": DUE, "id": timer.timer}, {"kind": OK, "id": call.call})
    log = guest.next(Log)
    assert (log.level, log.text) == (wire.LEVELS.index("uncaught"), "in the timer")
    assert guest.next(ResultItem).value == b"1"


# --- tampering ------------------------------------------------------------------------------------

# Every property of every builtin object that a program can reach and change.
TARGETS = """
  const { defineProperty, getOwnPropertyDescriptor, ownKeys, getPrototypeOf, deleteProperty } = Reflect
  const seen = new Set([console, tools]), targets = []
  const walk = (object, path) => {
    if ((typeof object !== 'object' && typeof object !== 'function') || object === null || seen.has(object)) return
    seen.add(object)
    walk(getPrototypeOf(object), path + '.__proto__')
    for (const key of ownKeys(object)) {
      const old = getOwnPropertyDescriptor(object, key)
      const name = path + '.' + String(key)
      if (old.configurable || old.writable) targets.push({ object, key, old, name })
      walk(old.value, name)
      walk(old.get, name + '<get>')
      walk(old.set, name + '<set>')
    }
  }
  walk(globalThis, 'globalThis')
  for (const hidden of [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    ''.matchAll(/x/g), async () => {}, function* () {}, async function* () {}, new Uint8Array(), Promise.resolve(),
    (function* () {})(), (async function* () {})(), Error.prototype, new Intl.Segmenter().segment('')])
    walk(getPrototypeOf(hidden), 'hidden ' + Object.prototype.toString.call(hidden))
  const evil = new Error('tampered')
  const bad = () => { throw evil }
  const tampers = {
    value: ({ object, key, old }) => old.configurable
      ? defineProperty(object, key, { value: bad, writable: true, configurable: true, enumerable: old.enumerable })
      : defineProperty(object, key, { value: bad }),
    accessor: ({ object, key, old }) => old.configurable
      && defineProperty(object, key, { get: bad, set: bad, configurable: true, enumerable: old.enumerable }),
    removed: ({ object, key, old }) => old.configurable && deleteProperty(object, key),
  }
  const restore = ({ object, key, old }) => defineProperty(object, key, old)
"""
# What a program does with the host, by functions it has had from the start.
USES = """
  const { log } = console, { echo } = tools
"""


def test_tampering_with_one_property_at_a_time_loses_nothing(guest: Guest) -> None:
    calls = guest.echo()
    guest.run(
        f"""async () => {{
          {TARGETS} {USES}
          const names = [], odd = []
          for (let t = 0; t < targets.length; t++) for (const how of ['value', 'accessor', 'removed']) {{
            const target = targets[t], n = names.length
            names[n] = target.name + ' ' + how
            let done = false
            try {{ done = tampers[how](target) }} catch {{}} // the length of an array takes no function
            if (!done) {{ names.length = n; continue }}
            let found
            try {{
              log(n, 'l')
              const answer = await echo({{ n, bytes: new U8(2) }})
              found = answer.n === n && answer.bytes[1] === 0 ? 'right' : 'wrong'
            }} catch (error) {{ found = error === evil ? 'own' : error }}
            restore(target)
            if (found !== 'right') odd[odd.length] = [names[n], String(found)]
          }}
          return {{ names, odd, all: targets.length }}
        }}""".replace("async () => {", "async () => { const U8 = Uint8Array", 1),
        logLines=10**6,
        logBytes=1 << 30,
        resultBytes=1 << 30,
    )
    items, end = guest.until_the_end()
    assert isinstance(end, ResultItem), end
    answer = json.loads(bytes(end.value))
    names = answer["names"]
    # It has to have got around: globals, prototypes, iterators, getters.
    assert answer["all"] > 800
    assert len(names) > 2 * answer["all"]
    # Where the program was hurt, it was by its own doing; nothing else was.
    wrong = [entry for entry in answer["odd"] if entry[1] != "own"]
    assert wrong == []
    # Only what an `await` of the program itself looks at may hurt it.
    assert {name for name, _ in answer["odd"]} <= {
        "globalThis.Promise.prototype.constructor accessor",
        "globalThis.Promise.prototype.constructor value",
        "globalThis.Promise.prototype.then value",
        "globalThis.Promise.prototype.then accessor",
    }
    # Every line and every call has arrived, each as it was.
    assert [item.text for item in items if isinstance(item, Log)] == [f"{n} l" for n in range(len(names))]
    expected = [[{"n": n, "bytes": {TAG: "Uint8Array", "data": "AAA="}}] for n in range(len(names))]
    assert [json.loads(bytes(call.args)) for call in calls] == expected


@pytest.mark.parametrize("spared", [[], ["globalThis.Promise.prototype.constructor"]])
@pytest.mark.parametrize("how", ["value", "accessor", "removed"])
def test_tampering_with_everything_at_once_loses_nothing(guest: Guest, how: str, spared: list[str]) -> None:
    calls = guest.echo()
    guest.run(
        f"""async () => {{
          {TARGETS} {USES}
          const spared = {json.dumps(spared)}
          const chosen = targets.filter(({{ name }}) => !spared.includes(name))
          const tamper = tampers.{how}, timer = setTimeout
          for (let i = 0; i < chosen.length; i++) try {{ tamper(chosen[i]) }} catch {{}}
          log('tampered', 1)
          timer(() => {{ throw evil }}, 5)
          let answer
          try {{ answer = (await echo({{ a: 1 }})).a }} catch (error) {{
            if (error !== evil) throw error
            answer = 'own'
          }}
          log('after')
          return {{ answer, list: [1, 'x', {{ b: null }}] }}
        }}"""
    )
    items, end = guest.until_the_end()
    assert [item.text for item in items if isinstance(item, Log)] == ["tampered 1", "after"]
    assert [item.delay_ms for item in items if isinstance(item, TimerItem)] == [5]
    assert [json.loads(bytes(call.args)) for call in calls] == [[{"a": 1}]]
    if isinstance(end, FailureItem):
        assert not spared
        # Without a constructor and a `then`, a promise is an object like any other.
        assert (end.kind, end.message) == (wire.OUTCOME_THROWN, "tampered") or (
            how == "removed" and end.kind == wire.OUTCOME_ANSWER and "Promise" in end.message
        )
    else:
        answer = json.loads(bytes(end.value))
        assert answer["list"] == [1, "x", {"b": None}]
        assert answer["answer"] == 1 or (answer["answer"] == "own" and not spared)


ADDED = [
    *("toJSON", "then", "get", "set", "value", "writable", "enumerable", "configurable", "kind", "id"),
    *("text", "next", "name", "message", "stack", "env", "ctx", "provider", "tool", "args", "resolve"),
    *("reject", "delay", "repeat", "callback", "data", "details", "cause", "code", "hasThen", "0", "1"),
    *("tools", "length", "has", "apply", "raw", "type", "bytes", TAG, "escaped", "__start__", "size"),
]


@pytest.mark.parametrize("where", ["Object.prototype", "Array.prototype"])
@pytest.mark.parametrize("name", ADDED)
def test_properties_added_to_prototypes_lose_nothing(guest: Guest, where: str, name: str) -> None:
    calls = guest.echo()
    guest.run(
        f"""async () => {{
          {USES}
          const timer = setTimeout, bytes = new Uint8Array([1])
          const evil = new Error('tampered')
          const bad = () => {{ throw evil }}
          const descriptor = {{ __proto__: null, get: bad, set: bad, configurable: true }}
          Reflect.defineProperty({where}, {json.dumps(name)}, descriptor)
          log('tampered', 1)
          timer(() => {{}}, 5)
          let answer
          try {{ answer = (await echo({{ a: [1], bytes }})).a[0] }} catch (error) {{
            if (error !== evil) throw error
            answer = 'own'
          }}
          return [answer, 'end']
        }}"""
    )
    items, end = guest.until_the_end()
    assert [item.text for item in items if isinstance(item, Log)] == ["tampered 1"]
    assert [item.delay_ms for item in items if isinstance(item, TimerItem)] == [5]
    # The call may have failed before it left, by the program's own getter.
    assert [json.loads(bytes(call.args)) for call in calls] in (
        [],
        [[{"a": [1], "bytes": {TAG: "Uint8Array", "data": "AQ=="}}]],
    )
    if isinstance(end, FailureItem):
        assert (end.kind, end.message) == (wire.OUTCOME_THROWN, "tampered")
    else:
        assert json.loads(bytes(end.value)) in ([1, "end"], ["own", "end"])
        assert calls or json.loads(bytes(end.value))[0] == "own"


@pytest.mark.parametrize("to_json", ["() => 'rewritten'", "() => ({})", "() => undefined", "() => null", "() => [9]"])
def test_array_to_json_does_not_rewrite_the_list_of_arguments(guest: Guest, to_json: str) -> None:
    calls = guest.echo()
    guest.run(f"async () => {{ Array.prototype.toJSON = {to_json}; await tools.echo(1, {{ a: 2 }}); return [3] }}")
    _, end = guest.until_the_end()
    assert [json.loads(bytes(call.args)) for call in calls] == [[1, {"a": 2}]]
    assert end == ResultItem(1, b"[3]")


@pytest.mark.parametrize(
    "tamper",
    [
        "Promise = class { constructor() { throw 1 } }",
        "JSON = null",
        "Array.prototype.push = Function.prototype.call = Function.prototype.apply = null",
        "console.log = null",
        "console = null",
        "Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = 0",
        "Object.prototype.error = 'x'; Object.prototype.message = 'y'",
        "String = Map = Set = Proxy = TypeError = Error = null",
        "Object.defineProperty(Promise, Symbol.species, { value: null });"
        " Promise.resolve = Promise.prototype.then = null",
        "Object.defineProperty(Promise, Symbol.hasInstance, { value: () => { throw 1 } })",
        "globalThis.__start__ = () => { throw 1 }; globalThis.setTimeout = null",
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(globalThis)",
        "Object.prototype.__defineSetter__('kind', () => { throw 1 })",
    ],
)
def test_common_redefinitions_hurt_only_the_program(guest: Guest, tamper: str) -> None:
    calls = guest.echo()
    guest.run(f"async () => {{ {USES} {tamper}; log('on'); const answer = await echo({{ a: 'b' }}); return [answer] }}")
    items, end = guest.until_the_end()
    assert [item.text for item in items if isinstance(item, Log)] == ["on"]
    assert [call.args for call in calls] == [b'[{"a":"b"}]']
    assert end == ResultItem(1, b'[{"a":"b"}]')


@pytest.mark.parametrize("padding", range(0, 24, 3))
def test_the_end_of_the_stack_loses_no_message(guest: Guest, padding: int) -> None:
    # Each depth tries to speak with a little more stack left than the one before; a line that is
    # refused is the program's error, but what was accepted earlier must arrive.
    calls = guest.echo()
    names = "".join(f", p{n}" for n in range(padding))
    guest.run(
        f"""async () => {{
          const early = tools.echo('early')
          const spoken = []
          const dive = (n{names}) => {{
            try {{ dive(n + 1{names.replace("p", "n + ")}) }} catch {{}}
            try {{ if (spoken.length < 40) {{ console.log(n); spoken.push(n) }} }} catch {{}}
          }}
          dive(0)
          return [await early, await tools.echo('late'), spoken]
        }}"""
    )
    items, end = guest.until_the_end()
    assert isinstance(end, ResultItem), end
    early, late, spoken = json.loads(bytes(end.value))
    assert (early, late) == ("early", "late")
    assert [call.args for call in calls] == [b'["early"]', b'["late"]']
    # A line may be there although its console.log threw, but none that was accepted is missing.
    lines = [int(item.text) for item in items if isinstance(item, Log)]
    assert [n for n in lines if n in set(spoken)] == spoken


@pytest.mark.parametrize("padding", range(0, 24, 3))
def test_the_end_of_the_stack_leaks_no_call_in_flight(guest: Guest, padding: int) -> None:
    guest.echo()
    names = "".join(f", p{n}" for n in range(padding))
    guest.run(
        f"""async () => {{
          let waiting = []
          const dive = (n{names}) => {{
            try {{ dive(n + 1{names.replace("p", "n + ")}) }} catch {{}}
            try {{ if (waiting.length < 40) waiting.push(tools.echo(n)) }} catch {{}}
          }}
          dive(0)
          await Promise.allSettled(waiting)
          return await tools.echo('late')
        }}""",
        callsInFlight=2,
    )
    assert guest.result() == "late"


@pytest.mark.parametrize("padding", range(0, 24, 3))
def test_the_end_of_the_stack_joins_no_lines(guest: Guest, padding: int) -> None:
    # A long line leaves in pieces; one that is broken off must not go on in another.
    names = "".join(f", p{n}" for n in range(padding))
    guest.run(
        f"""async () => {{
          let spoken = 0
          const dive = (n{names}) => {{
            try {{ dive(n + 1{names.replace("p", "n + ")}) }} catch {{}}
            try {{ if (spoken < 12) {{ console.log(String(n % 10).repeat({LONG})); spoken++ }} }} catch {{}}
          }}
          dive(0)
          console.log('last')
          return spoken
        }}"""
    )
    items, end = guest.until_the_end()
    assert end == ResultItem(1, b"12")
    texts = [item.text for item in items if isinstance(item, Log)]
    assert texts[-1] == "last"
    assert [len(set(text)) for text in texts[:-1]] == [1] * (len(texts) - 1)


def test_the_bundle_leaves_no_global_but_the_platforms(engine: Engine) -> None:
    isolate = Isolate(engine)
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    names = b"JSON.stringify(Reflect.ownKeys(globalThis).map(String))"
    try:
        isolate.evaluate(names, replies.put)
        before = replies.get(timeout=GUARD_S).text
        isolate.load(assets.load("harness.js"))
        isolate.evaluate(names, replies.put)
        platform = ["clearInterval", "clearTimeout", "global", "self", "setInterval", "setTimeout"]
        assert sorted(json.loads(replies.get(timeout=GUARD_S).text)) == sorted({*json.loads(before), *platform})
    finally:
        isolate.free()


def test_the_bundle_is_built_from_the_sources_that_are_here() -> None:
    # A stale bundle would make every test of this file speak of another harness.
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("hatch_build", root / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    first_line, _, _ = assets.load("harness.js").partition(b"\n")
    assert hook.source_digest(root / "executor/guest").encode() in first_line
