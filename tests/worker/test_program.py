"""Positions of the script that V8 runs, taken back to the program that was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_mini_racer import JSPromise, MiniRacer

from codemode_executor.worker.program import (
    SOURCE_NAME,
    Reading,
    ReadingCache,
    Script,
    decode_reading,
)

# What the harness does with the function that the script hands it: see executor/guest/src/harness/index.js.
START = """
globalThis.__start__ = (wrapper) => {
  globalThis.program = Reflect.apply(wrapper, undefined, [{ a: 'of a', b: 'of b' }])
}
"""


@pytest.fixture(scope="module")
def v8() -> Iterator[MiniRacer]:
    with MiniRacer() as context:
        context.eval(START)
        yield context


def stack_of(v8: MiniRacer, script: Script) -> str:
    """The stack of what the program throws."""
    v8.eval(script.source.decode())
    promise = v8.eval("(async () => { try { await program(); return '' } catch (e) { return e.stack } })()")
    assert isinstance(promise, JSPromise)
    return str(promise.get(timeout=10))


def shift_of(script: Script) -> int:
    """How much stands before the program on its first line."""
    return script.source.decode().index("<body>")


# --- the script -----------------------------------------------------------------------------------


def test_the_program_stands_on_its_own_lines() -> None:
    source = Script(Reading(True, body="line 1\nline 2\nline 3"), []).source.decode()
    lines = source.split("\n")
    assert lines[0].endswith("line 1")
    assert lines[1:3] == ["line 2", "line 3"]
    assert lines[-1] == f"//# sourceURL={SOURCE_NAME}"


@pytest.mark.parametrize("body", ["async () => [a, b]", "async () => [a, b] // c", "async () => [a, b]\n"])
def test_the_namespaces_are_constants_of_the_programs_scope(v8: MiniRacer, body: str) -> None:
    v8.eval(Script(Reading(True, body=body), ["a", "b"]).source.decode())
    promise = v8.eval("program().then(JSON.stringify)")
    assert isinstance(promise, JSPromise)
    assert promise.get(timeout=10) == '["of a","of b"]'


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("async () => { try { a = 1; return 'assigned' } catch (e) { return e.name } }", "TypeError"),
        ("async () => { try { undeclared = 1; return 'sloppy' } catch (e) { return e.name } }", "ReferenceError"),
        ("async () => typeof globalThis.a", "undefined"),
        ("async () => String([this, arguments.length, arguments[0]])", ",0,"),
    ],
)
def test_the_program_is_strict_and_finds_nothing_else(v8: MiniRacer, body: str, answer: str) -> None:
    v8.eval(Script(Reading(True, body=body), ["a"]).source.decode())
    promise = v8.eval("program()")
    assert isinstance(promise, JSPromise)
    assert promise.get(timeout=10) == answer


def test_open_and_close_surround_the_body(v8: MiniRacer) -> None:
    script = Script(Reading(True, open="async()=>{", body="const x = a;\nreturn x", close="\n}"), ["a"])
    v8.eval(script.source.decode())
    promise = v8.eval("program()")
    assert isinstance(promise, JSPromise)
    assert promise.get(timeout=10) == "of a"


def test_a_lone_surrogate_in_the_text_does_not_stop_it() -> None:
    assert b"'?'" in Script(Reading(True, body="'\ud800'"), []).source


# --- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("namespaces", [[], ["a"], ["billing", "crm"]])
@pytest.mark.parametrize("opening", ["", "async()=>{"])
def test_the_first_line_is_shifted_and_the_others_are_not(namespaces: list[str], opening: str) -> None:
    script = Script(Reading(True, open=opening, body="<body>\nxy"), namespaces)
    shift = shift_of(script)
    assert script.position(1, shift + 1) == (1, 1)
    assert script.position(1, shift + 6) == (1, 6)
    assert script.position(2, 1) == (2, 1)
    assert script.position(2, 2) == (2, 2)


def test_what_stands_before_and_after_the_program_is_not_in_it() -> None:
    script = Script(Reading(True, body="<body>\nxy", close="\n}"), ["a"])
    shift = shift_of(script)
    assert script.position(1, 1) is None
    assert script.position(1, shift) is None
    for line in (0, -1, 3, 4, 5, 10**9):
        assert script.position(line, 1) is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\u2029"])
def test_lines_end_where_v8_ends_them(v8: MiniRacer, end: str) -> None:
    body = end.join(["async () => {", "1;", "  null.x }"])
    script = Script(Reading(True, body=body), [])
    assert script.stack(stack_of(v8, script)).split("\n")[0] == "    at line 3, column 8"


def test_edits_of_a_line_move_what_comes_after_them() -> None:
    # 7 were inserted before column 8 of line 2, 3 more before column 14.
    edits = [(2, 8, 7), (2, 14, 3)]
    script = Script(Reading(True, body="<body>\nreturn x + yyy.z\n", edits=edits), [])
    assert script.position(2, 8) == (2, 1)
    assert script.position(2, 13) == (2, 6)
    assert script.position(2, 14) == (2, 4)
    assert script.position(2, 16) == (2, 6)
    assert script.position(3, 8) == (3, 8)


def test_edits_of_the_first_line_count_from_the_program() -> None:
    script = Script(Reading(True, body="<body> more", edits=[(1, 4, 3)]), ["a"])
    shift = shift_of(script)
    assert script.position(1, shift + 4) == (1, 1)
    assert script.position(1, shift + 3) == (1, 3)


@given(
    body=st.text("ab\n\r\u2028 ", max_size=30),
    edits=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(0, 20)), max_size=4),
    line=st.integers(-1, 10),
    column=st.integers(-1, 400),
)
def test_a_position_is_in_the_program_or_none(
    body: str, edits: list[tuple[int, int, int]], line: int, column: int
) -> None:
    position = Script(Reading(True, body=body, edits=edits), ["a"]).position(line, column)
    if position is not None:
        assert position[0] == line
        assert position[1] >= 1


# --- stacks ---------------------------------------------------------------------------------------


def frames(script: Script, *lines: str) -> list[str]:
    text = script.stack("\n".join(["Error: message", *lines]))
    return text.split("\n") if text else []


SCRIPT = Script(Reading(True, body="\n" * 9), [])


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("    at program.js:3:7", "    at line 3, column 7"),
        ("    at f (program.js:3:7)", "    at f (line 3, column 7)"),
        ("    at async f (program.js:3:7)", "    at async f (line 3, column 7)"),
        ("    at async program.js:3:7", "    at async line 3, column 7"),
        ("    at new Order (program.js:3:7)", "    at new Order (line 3, column 7)"),
        ("    at Order.total (program.js:3:7)", "    at Order.total (line 3, column 7)"),
        ("    at Object.get [as x] (program.js:3:7)", "    at Object.get [as x] (line 3, column 7)"),
        ("    at async Promise.all (index 0)", None),
        ("    at Array.map (<anonymous>)", None),
        ("    at port (<anonymous>:3:7)", None),
        ("    at f (harness.js:3:7)", None),
        ("    at f (other/program.js:3:7)", None),
        ("    at f (programXjs:3:7)", None),
        ("    at programXjs:3:7", None),
        ("    at f (program.js:0:7)", None),
        ("    at f (program.js:11:1)", None),
        ("    at f (program.js:3:0)", None),
        ("    at f (program.js:9999999999:1)", None),
        ("at program.js:3:7", None),
        ("    at program.js:3:7 and more", None),
    ],
)
def test_frames(line: str, frame: str | None) -> None:
    assert frames(SCRIPT, line) == ([] if frame is None else [frame])


def test_a_stack_keeps_the_programs_frames_in_their_order() -> None:
    assert frames(
        SCRIPT,
        "    at inner (program.js:2:1)",
        "    at Array.map (<anonymous>)",
        "    at outer (program.js:4:5)",
        "    at run (<anonymous>:10:2)",
    ) == ["    at inner (line 2, column 1)", "    at outer (line 4, column 5)"]


def test_a_stack_is_bounded() -> None:
    assert len(frames(SCRIPT, *["    at f (program.js:2:1)"] * 1000)) == 50


@pytest.mark.parametrize("stack", ["", "Error", "\n" * 1000, " " * 16_384, " at" * 5000, "    at " + "x (" * 5000])
def test_no_stack_is_none_and_soon(stack: str) -> None:
    assert SCRIPT.stack(stack) == ""


def test_frames_of_v8(v8: MiniRacer) -> None:
    body = "\n".join(
        [
            "async () => {",
            "  const inner = async () => {",
            "    await undefined;",
            "    throw new Error('deep')",
            "  };",
            "  await (async () => { await inner() })()",
            "}",
        ]
    )
    script = Script(Reading(True, body=body), ["a"])
    assert script.stack(stack_of(v8, script)).split("\n") == [
        "    at inner (line 4, column 11)",
        "    at async line 6, column 24",
        "    at async line 6, column 3",
    ]


def test_the_first_column_of_v8_is_the_programs(v8: MiniRacer) -> None:
    script = Script(Reading(True, open="async()=>{", body="null.x", close="}"), ["a", "b"])
    assert script.stack(stack_of(v8, script)).startswith("    at line 1, column 6")


# --- what V8 would not compile --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            "program.js:3: SyntaxError: Unexpected token '}'\n}\n^\n\nSyntaxError: Unexpected token '}'\n",
            ("SyntaxError", "Unexpected token '}' (line 3)"),
        ),
        (
            "<anonymous>:1: SyntaxError: Invalid regular expression: /(/: Unterminated group\n/(/",
            ("SyntaxError", "Invalid regular expression: /(/: Unterminated group (line 1)"),
        ),
        ("<anonymous>:2: RangeError: x", ("RangeError", "x (line 2)")),
        ("program.js:99: SyntaxError: end", ("SyntaxError", "end (line 10)")),
        ("", ("SyntaxError", "the program cannot be compiled")),
        ("something else", ("SyntaxError", "the program cannot be compiled")),
        ("program.js:9999999999: SyntaxError: x", ("SyntaxError", "the program cannot be compiled")),
    ],
)
def test_reports_of_v8(text: str, report: tuple[str, str]) -> None:
    assert SCRIPT.syntax_error(text) == report


def test_a_report_is_bounded_and_leaves_the_source_out() -> None:
    _, message = SCRIPT.syntax_error("a:1: SyntaxError: " + "x" * 10_000 + "\nsource of the program")
    assert len(message) < 600
    assert "source" not in message


# --- readings -------------------------------------------------------------------------------------


def test_a_reading_is_the_readers_answer() -> None:
    assert decode_reading(
        b'{"ok":true,"open":"o","body":"b","close":"c","edits":[[1,2,3]],"normalized":"n","identifiers":[]}'
    ) == Reading(True, "o", "b", "c", [(1, 2, 3)], "n")
    assert decode_reading(b'{"ok":false,"name":"SyntaxError","message":"m","line":1,"column":2}') == Reading(
        False, name="SyntaxError", message="m", line=1, column=2
    )


@pytest.mark.parametrize("answer", [b"", b"{}", b"null", b'{"ok":1}', b'{"ok":true,"edits":[[1,2]]}'])
def test_anything_else_is_refused(answer: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_reading(answer)


@given(answer=st.binary(max_size=40) | st.text(max_size=20).map(lambda text: json.dumps({"ok": text}).encode()))
def test_any_bytes_are_a_reading_or_an_error_of_msgspec(answer: bytes) -> None:
    try:
        decode_reading(answer)
    except msgspec.MsgspecError:
        pass


def reading(body: str) -> Reading:
    return Reading(True, body=body)


def test_the_cache_gives_what_was_put() -> None:
    cache = ReadingCache()
    assert cache.get("a") is None
    cache.put("a", reading("of a"))
    cache.put("b", reading("of b"))
    assert cache.get("a") == reading("of a")
    assert cache.get("b") == reading("of b")
    assert cache.get("") is None


def test_the_cache_forgets_what_was_not_asked_for_longest() -> None:
    cache = ReadingCache(max_entries=2)
    for text in ("a", "b"):
        cache.put(text, reading(text))
    assert cache.get("a") is not None
    cache.put("c", reading("c"))
    assert [cache.get(text) is not None for text in ("a", "b", "c")] == [True, False, True]


def test_the_cache_is_bounded_by_its_text() -> None:
    cache = ReadingCache(max_entries=100, max_chars=40)
    texts = [str(number) * 10 for number in range(6)]
    for text in texts:
        cache.put(text, reading(text))
    assert [cache.get(text) is not None for text in texts] == [False, False, True, True, True, True]


def test_the_cache_takes_no_text_that_would_empty_it() -> None:
    cache = ReadingCache(max_chars=40)
    cache.put("small", reading("small"))
    cache.put("x" * 11, reading("large"))
    assert cache.get("x" * 11) is None
    assert cache.get("small") is not None
    cache.put("x" * 10, reading("fits"))
    assert cache.get("x" * 10) is not None


def test_the_same_text_twice_is_counted_once() -> None:
    cache = ReadingCache(max_entries=10, max_chars=40)
    for _ in range(20):
        cache.put("x" * 10, reading("x"))
    for other in ("a" * 10, "b" * 10, "c" * 10):
        cache.put(other, reading(other))
    assert cache.get("x" * 10) is not None


@given(texts=st.lists(st.text("ab", max_size=12), max_size=40))
def test_the_cache_never_gives_another_texts_reading(texts: list[str]) -> None:
    cache = ReadingCache(max_entries=3, max_chars=30)
    for text in texts:
        found = cache.get(text)
        assert found is None or found == reading(text)
        cache.put(text, reading(text))
