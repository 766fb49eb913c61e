"""The contract with mini-racer's private C interface. An upgrade of the library must meet it.

V8 can be initialised once per process: what needs its own flags runs in a process of its own.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import queue
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from py_mini_racer import _dll

from codemode_executor.worker import isolate as module
from codemode_executor.worker.isolate import (
    SUPPORTED_VERSION,
    Engine,
    EngineError,
    Isolate,
    Kind,
    Reply,
)
from codemode_executor.worker.program import Reading, Script

ROOT = Path(__file__).parents[2]
GUARD_S = 10.0

# In the harness's place: attach, answer with what came in, or do something.
PORT = b"""(() => {
  'use strict'
  return function port() {
    if (typeof this === 'function') {
      globalThis.post = this
      globalThis.bytes = new Uint8Array(16)
      return bytes.buffer
    }
    if (this === null) return 'null came'
    if (String(this) === 'throw') throw new TypeError('thrown by the port')
    globalThis.last = String(this)
    return 'got ' + this
  }
})()"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        # Another test of this process may have initialised V8; its flags do not matter here.
        patch.setattr(_dll, "init_mini_racer", partial(_dll.init_mini_racer, ignore_duplicate_init=True))
        return Engine(["--single-threaded"])


def freed(isolate: Isolate) -> bool:
    """Free it from a helper thread, as the worker does; whether that came to an end."""
    thread = threading.Thread(target=isolate.free, daemon=True)
    thread.start()
    thread.join(GUARD_S)
    return not thread.is_alive()


class Guest:
    """An isolate with the port above, and its answers."""

    def __init__(self, engine: Engine) -> None:
        self.isolate = Isolate(engine)
        self.replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self.posts: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.threads: list[int] = []
        self.isolate.load(PORT)
        self.buffer = self.isolate.attach(lambda: self.posts.put(threading.get_ident()))

    def done(self, reply: Reply) -> None:
        self.threads.append(threading.get_ident())
        self.replies.put(reply)

    def evaluate(self, source: str) -> Reply:
        self.isolate.evaluate(source.encode(), self.done)
        return self.replies.get(timeout=GUARD_S)

    def ask(self, text: bytes | None) -> Reply:
        self.isolate.ask(text, self.done)
        return self.replies.get(timeout=GUARD_S)

    def start(self, source: str) -> None:
        """Run ``source``, which posts when it has begun and may never end."""
        self.isolate.evaluate(source.encode(), self.done)
        self.posts.get(timeout=GUARD_S)


@pytest.fixture
def guest(engine: Engine) -> Iterator[Guest]:
    guest = Guest(engine)
    yield guest
    assert freed(guest.isolate)


@pytest.fixture(autouse=True)
def no_isolate_is_left(engine: Engine) -> Iterator[None]:
    before = engine.dll.mr_context_count()
    yield
    assert engine.dll.mr_context_count() == before


# --- the library ----------------------------------------------------------------------------------


def test_the_installed_version_is_the_supported_one() -> None:
    assert importlib.metadata.version("mini-racer") == SUPPORTED_VERSION
    assert f'"mini-racer=={SUPPORTED_VERSION}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_another_version_is_refused_by_both_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        assert name == "mini-racer"
        return "0.15.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(EngineError) as caught:
        Engine([])
    assert "mini-racer 0.15.0 is installed" in str(caught.value)
    assert f"mini-racer=={SUPPORTED_VERSION}" in str(caught.value)


def test_a_second_engine_in_one_process_is_refused(engine: Engine) -> None:
    assert engine.version
    with pytest.raises(EngineError, match="V8 was already initialised"):
        Engine([])


def test_every_function_that_is_used_exists_with_its_signature(engine: Engine) -> None:
    source = Path(module.__file__).read_text("utf-8")
    used = set(re.findall(r"dll\.(mr_\w+)\(", source))
    value, context, number, size = _dll.RawValueHandle, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t
    signatures: dict[str, tuple[list[object], object]] = {
        "mr_alloc_int_val": ([context, ctypes.c_int64, ctypes.c_uint8], value),
        "mr_alloc_string_val": ([context, ctypes.c_char_p, number, ctypes.c_uint8], value),
        "mr_call_function": ([context, value, value, value, number], number),
        "mr_eval": ([context, value, number], number),
        "mr_free_context": ([context], ctypes.c_int),
        "mr_free_value": ([context, value], ctypes.c_int),
        "mr_hard_memory_limit_reached": ([context], ctypes.c_bool),
        "mr_init_context": ([_dll.MR_CALLBACK], context),
        "mr_make_js_callback": ([context, number], value),
        "mr_set_hard_memory_limit": ([context, size], ctypes.c_int),
        "mr_v8_is_using_sandbox": ([], ctypes.c_bool),
        "mr_v8_version": ([], ctypes.c_char_p),
    }
    assert used == set(signatures)
    found = {name: getattr(engine.dll, name) for name in signatures}
    assert {name: (list(f.argtypes or ()), f.restype) for name, f in found.items()} == signatures


def test_the_value_structure_is_laid_out_as_it_is_read() -> None:
    value, union = _dll._RawValue, _dll._RawValueUnion
    assert ctypes.sizeof(value) == 17
    assert (value.value.offset, value.len.offset, value.type.offset) == (0, 8, 16)
    assert (value.value.size, value.len.size, value.type.size) == (8, 8, 1)
    assert ctypes.sizeof(union) == 8
    fields = dict(union._fields_)
    assert fields["value_ptr"] is ctypes.c_void_p
    assert fields["bytes_val"] is ctypes.POINTER(ctypes.c_char)
    assert _dll.MR_CALLBACK._restype_ is None
    assert list(_dll.MR_CALLBACK._argtypes_) == [ctypes.c_uint64, _dll.RawValueHandle]


def test_the_engine_says_what_it_is(engine: Engine) -> None:
    assert re.fullmatch(r"14\.4\.\d+\.\d+", engine.version)
    assert engine.sandboxed is True


# --- values ---------------------------------------------------------------------------------------

SAMPLES = {
    Kind.NULL: "null",
    Kind.BOOL: "true",
    Kind.INTEGER: "1",
    Kind.DOUBLE: "1.5",
    Kind.STRING: "'text'",
    Kind.ARRAY: "[]",
    Kind.UNDEFINED: "undefined",
    Kind.FUNCTION: "() => 1",
    Kind.ARRAY_BUFFER: "new ArrayBuffer(3)",
    Kind.PROMISE: "Promise.resolve(1)",
    Kind.EXCEPTION: "throw new Error('x')",
    Kind.PARSE_EXCEPTION: "1 +* 2",
}


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.name)
def test_every_kind_by_a_sample(guest: Guest, kind: Kind) -> None:
    assert guest.evaluate(SAMPLES[kind]).kind == kind


def test_kinds_without_a_sample_are_those_of_ended_isolates() -> None:
    # OUT_OF_MEMORY and TERMINATED have tests of their own below.
    assert set(Kind) - set(SAMPLES) == {Kind.OUT_OF_MEMORY, Kind.TERMINATED}
    assert all((kind >= Kind.EXCEPTION) == (kind.value >= 200) for kind in Kind)


@pytest.mark.parametrize("source", ["({})", "1n", "Symbol('x')", "new Date(0)", "new Proxy({}, {})"])
def test_other_values_are_no_failure_and_no_text(guest: Guest, source: str) -> None:
    reply = guest.evaluate(source)
    assert reply.kind not in set(Kind)
    assert reply.kind < Kind.EXCEPTION
    assert reply.text == b""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("''", b""),
        ("'a\\0b'", b"a\0b"),
        ("'\\u00e9\\u{1f600}'", "é😀".encode()),
        # V8 gives a lone surrogate as three bytes: `channel.parse_utf8` counts on it.
        ("'a\\ud800b'", b"a\xed\xa0\x80b"),
        ("'x'.repeat(3 << 20)", b"x" * (3 << 20)),
    ],
)
def test_strings_leave_as_utf_8(guest: Guest, source: str, text: bytes) -> None:
    assert guest.evaluate(source) == (Kind.STRING, text)


@pytest.mark.parametrize("text", [b"", b"a\0b", "é😀\u2028".encode(), b"x" * (3 << 20)])
def test_strings_enter_as_utf_8(guest: Guest, text: bytes) -> None:
    assert guest.ask(text) == (Kind.STRING, b"got " + text)


def test_null_enters_as_null(guest: Guest) -> None:
    assert guest.ask(None) == (Kind.STRING, b"null came")


# --- exceptions -----------------------------------------------------------------------------------


def test_an_exception_is_its_place_and_its_text(guest: Guest) -> None:
    reply = guest.evaluate("\n throw new RangeError('out')\n//# sourceURL=program.js")
    assert reply.text.startswith(b"program.js:2: RangeError: out\n")


@pytest.mark.parametrize(
    ("body", "report"),
    [
        ("async () => {\n  let a; let a\n}", "Identifier 'a' has already been declared (line 2)"),
        ("async () => {\n\n  1 = 2\n}", "Invalid left-hand side in assignment (line 3)"),
        ("async () => /(/", "Invalid regular expression: /(/: Unterminated group (line 1)"),
        ("async () => '\\u{110000}'", "Undefined Unicode code-point (line 1)"),
        ("async () => {\r\u2028 x y }", "Unexpected identifier 'y' (line 3)"),
    ],
)
def test_what_v8_would_not_compile_is_read_from_its_report(guest: Guest, body: str, report: str) -> None:
    script = Script(Reading(True, body=body), ["a"])
    reply = guest.evaluate(script.source.decode())
    assert reply.kind == Kind.PARSE_EXCEPTION
    assert script.syntax_error(reply.text.decode()) == ("SyntaxError", report)


# --- set-up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"1", "gave a value of type 3 instead of FUNCTION"),
        (b"'some text'", "gave a value of type 5 instead of FUNCTION: some text"),
        (b"throw new Error('broken bundle')", "instead of FUNCTION: .*broken bundle"),
        (b"1 +* 2", "instead of FUNCTION: .*SyntaxError"),
    ],
)
def test_a_bundle_that_is_no_function_is_refused(engine: Engine, source: bytes, message: str) -> None:
    isolate = Isolate(engine)
    try:
        with pytest.raises(EngineError, match=message):
            isolate.load(source)
    finally:
        assert freed(isolate)


def test_a_bundle_that_does_not_end_is_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BOOT_TIMEOUT_S", 0.2)
    isolate = Isolate(engine)
    try:
        with pytest.raises(EngineError, match=r"did not answer within 0\.2 s"):
            isolate.load(b"while (true) {}")
    finally:
        assert freed(isolate)


def test_a_port_that_does_not_give_a_buffer_is_refused(engine: Engine) -> None:
    isolate = Isolate(engine)
    try:
        isolate.load(b"(function () { return 1 })")
        with pytest.raises(EngineError, match="instead of ARRAY_BUFFER"):
            isolate.attach(lambda: None)
    finally:
        assert freed(isolate)


def test_the_buffer_is_shared_and_read_while_the_guest_is_in_post(engine: Engine) -> None:
    seen: list[bytes] = []
    isolate = Isolate(engine)
    try:
        isolate.load(PORT)
        buffer = isolate.attach(lambda: seen.append(bytes(buffer[:2])))
        assert (len(buffer), buffer.format) == (16, "B")
        replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        isolate.evaluate(
            b"for (let i = 1; i < 4; i++) { bytes[0] = i; bytes[1] = 2 * i; post() } bytes[0] = 9", replies.put
        )
        replies.get(timeout=GUARD_S)
        assert seen == [b"\1\2", b"\2\4", b"\3\6"]
        assert buffer[0] == 9
        buffer[3] = 7
        isolate.evaluate(b"String(bytes[3])", replies.put)
        assert replies.get(timeout=GUARD_S).text == b"7"
    finally:
        assert freed(isolate)


# --- threads --------------------------------------------------------------------------------------


def test_answers_come_on_the_isolates_own_thread(engine: Engine, guest: Guest) -> None:
    other = Guest(engine)
    try:
        for one in (guest, other):
            one.evaluate("post()")
            one.ask(b"x")
            assert one.posts.get(timeout=GUARD_S) == one.threads[0]
        assert len(set(guest.threads)) == len(set(other.threads)) == 1
        assert len({threading.get_ident(), guest.threads[0], other.threads[0]}) == 3
    finally:
        assert freed(other.isolate)


def test_work_is_done_in_the_order_of_posting(guest: Guest) -> None:
    guest.isolate.evaluate(b"globalThis.order = []", guest.done)
    for number in range(50):
        guest.isolate.evaluate(b"order.push(%d)" % number, guest.done)
    for _ in range(51):
        guest.replies.get(timeout=GUARD_S)
    assert guest.evaluate("order.join()").text == b",".join(b"%d" % n for n in range(50))


def test_work_may_be_posted_from_within_an_answer(guest: Guest) -> None:
    guest.isolate.evaluate(b"1", lambda _: guest.isolate.ask(b"again", guest.done))
    assert guest.replies.get(timeout=GUARD_S).text == b"got again"


def test_nothing_but_free_waits_for_a_guest_that_loops(guest: Guest) -> None:
    guest.start("post(); while (true) {}")
    answered = threading.Event()

    def work() -> None:
        for _ in range(100):
            guest.isolate.deliver(b"x")
            guest.isolate.ask(b"x", guest.done)
            guest.isolate.evaluate(b"1", guest.done)
            assert not guest.isolate.memory_limit_reached()
        answered.set()

    threading.Thread(target=work, daemon=True).start()
    assert answered.wait(GUARD_S)
    assert guest.replies.empty()


# --- deliveries -----------------------------------------------------------------------------------


def test_a_delivery_has_no_answer(guest: Guest) -> None:
    guest.isolate.on_failed_delivery(guest.done)
    guest.isolate.deliver("é😀".encode())
    assert guest.evaluate("last").text == "é😀".encode()
    assert guest.replies.empty()


def test_a_delivery_that_fails_is_reported(guest: Guest) -> None:
    guest.isolate.on_failed_delivery(guest.done)
    guest.isolate.deliver(b"throw")
    reply = guest.replies.get(timeout=GUARD_S)
    assert reply.kind == Kind.EXCEPTION
    assert b"thrown by the port" in reply.text
    assert guest.ask(b"after").text == b"got after"


def test_values_do_not_pile_up(engine: Engine, guest: Guest) -> None:
    count: Callable[[], int] = lambda: engine.dll.mr_value_count(guest.isolate._context)  # noqa: E731
    guest.evaluate("1")
    before = count()
    for number in range(200):
        guest.isolate.deliver(b"%d" % number)
        guest.ask(b"x")
        guest.ask(None)
        guest.evaluate("post(); ({})")
    guest.evaluate("throw 1")
    guest.evaluate("1")
    assert count() <= before + 1


# --- the end --------------------------------------------------------------------------------------

ENDLESS = {
    "a loop": "post(); while (true) {}",
    "a loop after an await": "(async () => { await 0; post(); while (true) {} })()",
    "a microtask storm": "(async () => { post(); while (true) await 0 })()",
    "a regular expression": "post(); /(a+)+$/.test('a'.repeat(60) + 'b')",
    "Atomics.wait": "post(); Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
    "a loop in finally": "post(); try { while (true) {} } finally { while (true) {} }",
    "a loop in a getter": "post(); ({ get x() { while (true) {} } }).x",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS.keys())
def test_free_ends(engine: Engine, source: str) -> None:
    guest = Guest(engine)
    guest.start(source)
    assert freed(guest.isolate)


def test_what_free_ends_is_reported_as_terminated_or_not_at_all(engine: Engine) -> None:
    guest = Guest(engine)
    guest.start("post(); while (true) {}")
    assert freed(guest.isolate)
    while not guest.replies.empty():
        assert guest.replies.get().kind == Kind.TERMINATED


def test_a_freed_isolate_drops_everything(engine: Engine) -> None:
    guest = Guest(engine)
    assert freed(guest.isolate)
    guest.isolate.free()
    guest.isolate.deliver(b"x")
    guest.isolate.ask(b"x", guest.done)
    guest.isolate.evaluate(b"1", guest.done)
    assert not guest.isolate.memory_limit_reached()
    assert guest.replies.empty()


def test_isolates_share_nothing(engine: Engine, guest: Guest) -> None:
    guest.evaluate("globalThis.mark = 1; Array.prototype.push = null")
    other = Guest(engine)
    try:
        assert other.evaluate("typeof mark + typeof [].push").text == b"undefinedfunction"
    finally:
        assert freed(other.isolate)


# --- flags, in processes of their own -------------------------------------------------------------

PRELUDE = """
    import os, queue, sys, time
    from codemode_executor.worker.isolate import Engine, EngineError, Isolate, Kind
    engine = Engine(["--single-threaded", "--disallow-code-generation-from-strings", "--max-heap-size=128"])
    replies = queue.SimpleQueue()
    def evaluate(isolate, source):
        isolate.evaluate(source, replies.put)
        return replies.get(timeout=30)
"""


def run_alone(body: str) -> list[str]:
    """Output lines of a script in a process of its own."""
    # Left by os._exit, as a worker leaves.
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(body) + "\nsys.stdout.flush()\nos._exit(0)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_hard_limit_ends_what_runs_and_raises_its_flag() -> None:
    assert run_alone(
        """
        isolate = Isolate(engine, 64 << 20)
        print(isolate.memory_limit_reached())
        reply = evaluate(isolate, b"const a = []; while (true) a.push(new Array(1000).fill(1))")
        print(Kind(reply.kind).name, isolate.memory_limit_reached())
        isolate.free()
        # After an await nothing is notified: only the flag tells.
        isolate = Isolate(engine, 64 << 20)
        source = b"(async () => { await 0; const a = []; while (true) a.push(new Array(1000).fill(1)) })()"
        isolate.evaluate(source, lambda reply: None)
        until = time.monotonic() + 30
        while not isolate.memory_limit_reached() and time.monotonic() < until:
            time.sleep(0.01)
        print(isolate.memory_limit_reached())
        isolate.free()
        # The limit is the isolate's own.
        isolate = Isolate(engine, 64 << 20)
        print(Kind(evaluate(isolate, b"'alive'").kind).name, isolate.memory_limit_reached())
        isolate.free()
        """
    ) == ["False", "OUT_OF_MEMORY True", "True", "STRING False"]


def test_flags_hold_and_the_host_evaluates_nevertheless() -> None:
    assert run_alone(
        """
        isolate = Isolate(engine)
        print(evaluate(isolate, b"1").kind)
        for source in (b"eval('1')", b"new Function('1')", b"(async () => {}).constructor('1')"):
            reply = evaluate(isolate, source)
            print(reply.kind, b"Code generation from strings disallowed" in reply.text)
        isolate.free()
        try:
            Engine(["--single-threaded"])
        except EngineError as error:
            print(error)
        """
    ) == [
        "3",
        "200 True",
        "200 True",
        "200 True",
        "V8 was already initialised in this process, with other flags",
    ]
