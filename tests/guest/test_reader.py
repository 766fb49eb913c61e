"""The reader bundle, run where it runs in a worker: in a bare V8.

What it says of a text is compared with what V8 then does with the text, not with itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py_mini_racer import JSEvalException, JSPromise, MiniRacer

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "executor/codemode_executor/worker/assets/reader.js"
# Programs with the string that upstream 0.5.6's `normalizeCode` returned for each.
UPSTREAM = [
    json.loads(line)
    for line in Path(__file__).with_name("normalized_by_upstream.jsonl").read_text("utf-8").splitlines()
]
LINE_BREAK = re.compile("\r\n|[\n\r\u2028\u2029]")
FENCE_LINE = re.compile(r"\A\s*```(js|javascript|typescript|ts|tsx|jsx)?\s*?\n")
PREFIX = 'function(){"use strict";return('


@dataclass(frozen=True)
class Reader:
    """A reader in an isolate, and a second isolate for what it accepts."""

    context: MiniRacer
    guest: MiniRacer

    def read(self, text: str) -> dict[str, Any]:
        answer = self.context.eval(f"read({json.dumps(text)})")
        assert isinstance(answer, str)
        return json.loads(answer)

    def accept(self, text: str) -> dict[str, Any]:
        answer = self.read(text)
        assert answer["ok"], answer["message"]
        return answer

    def run(self, text: str) -> object:
        """What the program answers, as JSON would have it."""
        wrapped = wrap(self.accept(text))
        promise = self.guest.eval(
            f"(async () => JSON.stringify([await (0,{wrapped})()()]))().then(text => text, error => `threw ${{error}}`)"
        )
        assert isinstance(promise, JSPromise)
        outcome = promise.get(timeout=10)
        assert isinstance(outcome, str)
        assert not outcome.startswith("threw"), outcome
        return json.loads(outcome)[0]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with MiniRacer() as context, MiniRacer() as guest:
        context.eval(f"globalThis.read = {BUNDLE.read_text('ascii')}")
        guest.eval("globalThis.count = 0; globalThis.evil = () => { count += 1 };")
        yield Reader(context, guest)


def wrap(answer: dict[str, Any]) -> str:
    return f"{PREFIX}{answer['open']}{answer['body']}{answer['close']}\n)}}"


def what_ran_outside(guest: MiniRacer, wrapped: str, inner: str | None) -> str | None:
    """How the text left its function, or ``None`` if it did not.

    V8 must see one function literal that is the whole text, and calling it must do nothing but
    return the program's function, whose source is ``inner`` (where it is given).
    """
    verdict = guest.eval(
        f"""
        (() => {{
            count = 0;
            let outer;
            try {{ outer = (0, eval)({json.dumps(f"(0,{wrapped})")}) }}
            catch (error) {{
                // An early error that only V8 knows: nothing has run.
                return error instanceof SyntaxError ? null : "threw " + error;
            }}
            if (count !== 0) return "ran while it was defined";
            if (typeof outer !== "function") return "is no function";
            if (outer.toString() !== {json.dumps(wrapped)}) return "is more than one function";
            const program = outer();
            if (count !== 0) return "ran without being called";
            if (typeof program !== "function") return "has no function for its program";
            const inner = {json.dumps(inner)};
            if (inner === null || program.toString() === inner) return null;
            return "is not the program's function";
        }})()
        """
    )
    assert verdict is None or isinstance(verdict, str)
    return verdict


@pytest.mark.parametrize("case", UPSTREAM, ids=[case["id"] for case in UPSTREAM])
def test_normalizes_as_upstream_does(reader: Reader, case: dict[str, str]) -> None:
    answer = reader.accept(case["code"])
    assert answer["normalized"] == case["normalized"]
    inner = answer["open"] + answer["body"] + answer["close"] if answer["open"] else None
    assert what_ran_outside(reader.guest, wrap(answer), inner) is None


@pytest.mark.parametrize("case", UPSTREAM, ids=[case["id"] for case in UPSTREAM])
def test_edits_lead_back_to_the_programs_own_lines(reader: Reader, case: dict[str, str]) -> None:
    answer = reader.accept(case["code"])
    lines = LINE_BREAK.split(answer["body"])
    for line, column, inserted in reversed(answer["edits"]):
        text = lines[line - 1]
        lines[line - 1] = text[: column - 1 - inserted] + text[column - 1 :]
    program = case["code"]
    program = FENCE_LINE.sub("", program, count=1)
    own = LINE_BREAK.split(program)
    for number, line in enumerate(lines):
        # What is left out (`export default`, the mark of a magic comment) is blank instead.
        assert len(line) <= len(own[number])
        assert all(char in (" ", own[number][at]) for at, char in enumerate(line)), line
    assert "".join(lines).strip() or not answer["identifiers"]


# Upstream's string does not run, or what it runs is not what was meant.
@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("async () => { return 1; };", 1),
        ("async () => 1;;", 1),
        ("(async () => 1) // c\n;", 1),
        ("'use strict';\nasync () => 1", 1),
        ("async function total(l) { return l.length }\nasync () => total([1, 2])", 2),
        ("async () => 1; async () => 2", 2),
        ("const a = 1;\n(async () => a);;", 1),
        ("const a = 3;\n(function () { return a })", 3),
        ("function () { return 4 }", 4),
        ("// c\nasync function () { return await 5 };\n// d", 5),
        ("export default async () => 6;;", 6),
        ("export default { a: 7, get() { return 1 } }", {"a": 7}),
        ("export default function () { return 8 };", 8),
        ("```js\nasync () => 9;\n```", 9),
        ("return 10", 10),
        ("function f() { return 1 }\nfunction f() { return 11 }\nreturn f()", 11),
    ],
)
def test_runs_what_was_meant(reader: Reader, program: str, result: object) -> None:
    assert reader.run(program) == result


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("async function main() { return 1 }\n// c", 1),
        ("const a = 1;\nif (a) { return 'yes' }\n'no'", "yes"),
        ("const a = [1, 2];\n\na // c\n.length // d\n;", 2),
        ("a\n/ 2 / 4\nvar a = 1", None),
        ("var a = 16\na\n/ 2 / 4", 2),
        ("1\n//# sourceURL=elsewhere.js\n+ 1", 2),
        ("export default ((1, 2));", 2),
        ("if (false) return 1;\n2", None),
        ("", None),
    ],
)
def test_answers_what_upstream_answers(reader: Reader, program: str, result: object) -> None:
    assert reader.run(program) == result


def test_positions_in_the_program_can_be_recovered(reader: Reader) -> None:
    program = "const a = null;\n  a.b;"
    answer = reader.accept(program)
    frames = reader.guest.eval(f"(async () => (0,{wrap(answer)})()())().catch(error => error.stack.split('\\n')[1])")
    assert isinstance(frames, JSPromise)
    frame = str(frames.get(timeout=10))
    line, column = (int(number) for number in frame.rstrip(")").split(":")[-2:])
    shift = sum(n for at, after, n in answer["edits"] if at == line and column >= after)
    # V8 counts from the `.` of `a.b` on: the property is at column 5 of line 2.
    assert (line, column - shift) == (2, 5)


def test_identifiers_are_those_of_the_program(reader: Reader) -> None:
    answer = reader.accept("const u = new URL(codemode['x'].\\u0061b); // fetch\n`${u.href}`")
    assert sorted(answer["identifiers"]) == ["URL", "ab", "codemode", "href", "u"]
    assert "Buffer" in reader.accept("return Buffer.from('a')")["identifiers"]


def test_a_program_cannot_name_its_own_script(reader: Reader) -> None:
    answer = reader.accept("const a = '//# sourceURL=kept';\n//@ sourceURL=x\n//# sourceURL=y\na")
    assert answer["body"] == ("const a = '//# sourceURL=kept';\n//  sourceURL=x\n//  sourceURL=y\nreturn (a)")


@pytest.mark.parametrize(
    ("program", "message", "line", "column"),
    [
        (
            "async (): Promise<number> => 1",
            'Unexpected token ":" (line 1, column 9)',
            1,
            9,
        ),
        (
            "async () => {\n  const p = f({});\n  return p.map(x => ({ id: x,",
            'the program is incomplete: the "{" of line 3, column 22 is not closed (line 3, column 30)',
            3,
            30,
        ),
        (
            "const a = `x ${1} y",
            "the program is incomplete: it ends inside a template literal (line 1, column 18)",
            1,
            18,
        ),
        (
            "f();\nconst a = 'x",
            "the program is incomplete: it ends inside a string (line 2, column 11)",
            2,
            11,
        ),
        (
            "/* x",
            "the program is incomplete: it ends inside a comment (line 1, column 1)",
            1,
            1,
        ),
        (
            "const a =",
            "the program is incomplete: it ends where more is expected (line 1, column 10)",
            1,
            10,
        ),
        ("const a = 'x\nf()'", "Unterminated string constant (line 1, column 11)", 1, 11),
        (
            "import fs from 'fs';\nreturn 1",
            "static imports are not supported here yet: use the objects that the program is given (line 1, column 1)",
            1,
            1,
        ),
        (
            "const run = async () => 3;\nexport default run;",
            "exports are not supported here yet: return the value, or make `export default` the"
            " only statement (line 2, column 1)",
            2,
            1,
        ),
        (
            "async () =>\n  import.meta.url",
            "import.meta is not available: the program is not a module of its own (line 2, column 3)",
            2,
            3,
        ),
        (
            "Here is the code:\n```js\nasync () => 1\n```",
            'Unexpected token "is". The text contains a markdown fence: send only the program'
            " inside it (line 1, column 6)",
            1,
            6,
        ),
        ("```js\nasync () => 1 +* 2\n```", 'Unexpected token "*" (line 1, column 16)', 1, 16),
        ("a\r\nb\u2028c d", 'Unexpected token "d" (line 3, column 3)', 3, 3),
    ],
)
def test_says_what_is_wrong_and_where(reader: Reader, program: str, message: str, line: int, column: int) -> None:
    assert reader.read(program) == {
        "ok": False,
        "name": "SyntaxError",
        "message": message,
        "line": line,
        "column": column,
    }


# Each would leave its function, or be read by V8 in other tokens than by acorn.
@pytest.mark.parametrize(
    "program",
    [
        "async () => 1), evil(), (async () => 2",
        "})(), evil(), (() => {",
        "1\n})\n, evil(), (async () => {\n2",
        "function () { }), evil(), (function () { }",
        "export default () => 1), evil(), (() => 1",
        "a <!-- b",
        "<!-- b",
        "let a = 1; a<!--b",
        "`${a <!-- b\n}`",
        "n\n--> 0",
        "n /*\n*/ --> 0",
        "--> 0",
        "#!/usr/bin/env node\n1",
        # acorn takes the line for a regular expression, V8 for a division
        "a = async function () { }\n/ 1 /;",
        "a = async function () { }\n/}),evil(),(async()=>{/",
        "async () => await import.meta",
        "new.target",
        "super.x",
        "'\\08'",
        "010",
        "with (a) b",
        "let await = 1",
        "() => await (1)",
        "function f() { await (1) }",
        "let yield = 1",
        "async () => { arguments = 1 }",
        "/a/gg",
        "/[/",
        "/(/",
        "a\\u{2028}",
        "return 1\n<!-- x",
        "return 1; export {}",
        "import 'x'; return 1",
    ],
)
def test_refuses(reader: Reader, program: str) -> None:
    answer = reader.read(program)
    assert (answer["ok"], answer.get("name")) == (False, "SyntaxError")
    assert answer["message"].endswith(f"(line {answer['line']}, column {answer['column']})")


@pytest.mark.parametrize(
    "program",
    [
        "while (n --> 0) {}",
        "'<!-- -->'",
        "`<!--`",
        "/<!--/",
        "// <!--\n1",
        "a < ! --b",
        "a << !--b",
    ],
)
def test_accepts_what_only_looks_like_an_html_comment(reader: Reader, program: str) -> None:
    assert what_ran_outside(reader.guest, wrap(reader.accept(program)), None) is None


@pytest.mark.parametrize(
    "program",
    ["(" * 50_000, "[" * 20_000 + "]" * 20_000, "a=>" * 50_000 + "1", "`${" * 20_000, "!" * 50_000],
)
def test_deep_nesting_is_an_answer(reader: Reader, program: str) -> None:
    answer = reader.read(program)
    assert (answer["ok"], answer["name"]) == (False, "RangeError")
    assert answer["message"].startswith("the program nests too deeply")
    assert reader.run("1 + 1") == 2


def test_long_runs_are_read_in_linear_time(reader: Reader) -> None:
    # A quadratic scan of a million characters would meet the suite's time limit.
    for text in (
        "```\n" + "\n" * 1_000_000 + "x",
        "```js" + " " * 1_000_000 + "```",
        "\n" * 999_999,
    ):
        reader.read(text)


def test_lone_surrogates_survive(reader: Reader) -> None:
    assert reader.accept("'\ud800'")["body"] == "return ('\ud800')"


@pytest.mark.parametrize(
    ("inside", "verdict"),
    [
        ("async()=>{}\n)}),evil(),(function(){return(async()=>{}", "ran while it was defined"),
        ("async()=>{}\n)},function(){return(async()=>{}", "is more than one function"),
        ("async()=>{}),evil(),(async()=>{}", "ran without being called"),
        ("async()=>{}),(async()=>{}", "is not the program's function"),
        ("1", "has no function for its program"),
    ],
)
def test_an_escape_would_be_noticed(reader: Reader, inside: str, verdict: str) -> None:
    assert what_ran_outside(reader.guest, f"{PREFIX}{inside}\n)}}", inside) == verdict


FRAGMENTS = [
    *"()[]{};:,.?!=<>+-*/%&|^~`'\"\\ \n\t#@",
    *("a", "n", "0", "1n", "evil()", "\r\n", "\u2028", "\u2029", "\ufeff", "\u180e", "\x85", "\0"),
    *(
        "//",
        "/*",
        "*/",
        "/*\n*/",
        "<!--",
        "-->",
        "\n-->",
        "--",
        "++",
        "=>",
        "...",
        "?.",
        "${",
        "}`",
    ),
    *(
        "/re/",
        "/[/]/g",
        "/)}),evil(),(function(){return(/",
        "/ 1;/",
        "/=",
        "\\u0061",
        "#!",
        "//# a",
    ),
    *(
        "async ",
        "await ",
        "yield ",
        "function f(){",
        "function*g(){",
        "class C{",
        "static{",
        "get ",
    ),
    *(
        "()=>{",
        "async()=>{",
        "(a)=>",
        "new ",
        "return ",
        "throw ",
        "typeof ",
        " in ",
        " of ",
        "for(",
    ),
    *(
        "if(1)",
        "else ",
        "do ",
        "while(0)",
        "try{",
        "}catch{",
        "let ",
        "var a=",
        "switch(1){case 1:",
    ),
    *("import(", "import.meta", "export default ", "this", ".class", ".function", "({", "})", "``"),
    *(
        "});evil();(()=>{",
        "\n)}),evil(),(function(){return(",
        "}),evil(),(async()=>{",
        "'use strict';",
    ),
]
STATEMENTS = [
    *("a", "a=1", "f()", "({})", "a={}", "a=()=>{}", "a=function(){}", "a=class{}", "a=`${{}}`"),
    *(
        "if(a){}",
        "if(a)b",
        "do{}while(0)",
        "function f(){}",
        "class C{x=1}",
        "label:a",
        "a={b(){}}",
    ),
    *(
        "a.function",
        "({class:1})",
        "let\na",
        "async",
        "return",
        "return a",
        "a++",
        "`${a}`",
        "/x/g",
    ),
]
JOINS = ["\n", ";", "\u2028", "/*\n*/", "//c\n", "\n//# sourceURL=z\n", " ", ""]


def hostile_texts() -> st.SearchStrategy[str]:
    fragment = st.sampled_from(FRAGMENTS)
    statement = st.builds(str.__add__, st.sampled_from(STATEMENTS), st.sampled_from(JOINS))
    text = st.lists(st.one_of(fragment, statement, statement), max_size=8).map("".join)
    return st.one_of(text, text.map(lambda inside: f"async()=>{{{inside}}}"))


@settings(
    max_examples=1500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=hostile_texts())
def test_what_is_accepted_stays_in_its_function(reader: Reader, text: str) -> None:
    answer = reader.read(text)
    if not answer["ok"]:
        assert answer["name"] in {"SyntaxError", "RangeError"}, answer["message"]
        return
    inner = answer["open"] + answer["body"] + answer["close"] if answer["open"] else None
    assert what_ran_outside(reader.guest, wrap(answer), inner) is None


def test_the_bundle_leaves_no_global() -> None:
    with MiniRacer() as context:
        before = context.eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))")
        assert context.eval(f"typeof ({BUNDLE.read_text('ascii')})") == "function"
        assert context.eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))") == before


def test_the_bundle_evaluates_to_its_default_export() -> None:
    with MiniRacer() as context:
        answer = context.eval(BUNDLE.read_text("ascii") + "\n('1')")
        assert isinstance(answer, str)
        assert json.loads(answer)["body"] == "return (1)"
        with pytest.raises(JSEvalException):
            context.eval("read")
