"""The reader bundle, run where it runs in a worker: in a bare V8.

What it says of a text is compared with what V8 then does with the text, not with itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py_mini_racer import JSEvalException, JSPromise, MiniRacer

ROOT = Path(__file__).parents[2]
CHUNKS = ROOT / "executor/guest/src/chunks"
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

    def read(self, text: str, modules: Mapping[str, str] | None = None) -> dict[str, Any]:
        """``modules``: sources of ES modules by name."""
        given = [{"name": name, "kind": "js", "source": source} for name, source in (modules or {}).items()]
        request = json.dumps({"code": text, "modules": given}, separators=(",", ":"))
        answer = self.context.eval(f"read({json.dumps(request)})")
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
    # What is imported is read as it is needed.
    names = "".join(f"const {name}=[];" for name in answer["params"])
    prefix = PREFIX.replace("return(", f"{names}return(")
    return f"{prefix}{answer['open']}{answer['body']}{answer['close']}\n)}}"


def inner_function(answer: dict[str, Any]) -> str | None:
    """The source of the function that the wrapper answers, where that is all that stands in it."""
    if not answer["open"] or answer["links"]:
        return None
    return answer["open"] + answer["body"] + answer["close"]


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
    assert what_ran_outside(reader.guest, wrap(answer), inner_function(answer)) is None


@pytest.mark.parametrize("case", UPSTREAM, ids=[case["id"] for case in UPSTREAM])
def test_edits_lead_back_to_the_programs_own_lines(reader: Reader, case: dict[str, str]) -> None:
    answer = reader.accept(case["code"])
    lines = LINE_BREAK.split(answer["body"])
    for line, column, inserted in reversed(answer["edits"]):
        text = lines[line - 1]
        lines[line - 1] = text[: column - 1 - inserted] + text[column - 1 :]
    lines = [line.replace("\xefmport", "import") for line in lines]
    program = case["code"]
    program = FENCE_LINE.sub("", program, count=1)
    own = LINE_BREAK.split(program)
    for number, line in enumerate(lines):
        # What is left out (`export default`, the mark of a magic comment) is blank instead.
        assert len(line) <= len(own[number])
        assert all(char in (" ", own[number][at]) for at, char in enumerate(line)), line
    assert "".join(lines).strip() or not re.search(r"[\w$]", "".join(own))


# Upstream's string does not run, or what it runs is not what was meant.
@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("export async function main() { return 12 }", 12),
        ("export const a = 1\nexport default async () => a", 1),
        ("export class A { static b = 2 }\nA.b", 2),
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
        ("```js\nasync () => 9", 9),
        ("return 10", 10),
        ("function f() { return 1 }\nfunction f() { return 11 }\nreturn f()", 11),
    ],
)
def test_runs_what_was_meant(reader: Reader, program: str, result: object) -> None:
    assert reader.run(program) == result


# A program with something around it. Where upstream's string can run, these are no cases.
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Sure, here is the program:\n\n```js\nasync () => 1\n```\nIt is `1`.", 1),
        ("Here's the code:\r\n\r\n```JS\r\nconst a = 2;\r\na\r\n```\r\n", 2),
        ("1. Run\n   ```js\n   async () => 3\n   ```\n", 3),
        ("```jsonc\nasync () => 4\n```", 4),
        ("```JavaScript title=main.js\nasync () => 5\n```", 5),
        ("```{.js}\nasync () => 6\n```", 6),
        ("~~~js\nasync () => 7\n~~~", 7),
        ("```js async () => 8 ```", 8),
        ("Here it is:\n```js\nasync () => 9", 9),
        ("Here it is:\n```\nasync () => 10```", 10),
        ("async () => 11\n```", 11),
        ("async () => 12\n```\nIt answers twelve.", 12),
        ("````md\n```js\nasync () => 13\n```\n````", 13),
        # the words before the fence are JavaScript, too: a tag, a label, a member of nothing
        ("Sure\n```js\nasync () => 14\n```", 14),
        ("Code:\n```js\nasync () => 15\n```\nDone", 15),
        ("main.js\n```js\nasync () => 16\n```\n(done)", 16),
        # the only block that is a program
        ("First:\n```bash\nls\n```\nthen\n```js\nasync () => 17\n```\nOutput:\n```json\n[1]\n```", 17),
        ("```js\nasync () => 18\n```\nnot\n```js\nasync () => {\n```", 18),
        ("#!/usr/bin/env node\nreturn 19", 19),
        ('{"code": "async () => 20"}', 20),
        (' {"script": "```js\\nreturn 21\\n```"}\n', 21),
        ('Call:\n```json\n{"program": "22"}\n```', 22),
        ("{ a: 1, b: await 2 } // c\n;", {"a": 1, "b": 2}),
    ],
)
def test_finds_the_program_in_what_stands_around_it(reader: Reader, text: str, result: object) -> None:
    assert reader.run(text) == result


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("const run = async () => 1;\nexport default run;", 1),
        ("export default run;\nasync function run() { return two }\nconst two = 2", 2),
        ("const h = 3;\nexport default async () => h; // c", 3),
        ("const h = 4;\nexport default (/* a */ async () => h /* b */);", 4),
        ("function f() {}\nexport default function () { return 5 }\nf()", 5),
        ("const h = 6; export default async function main() { return h }", 6),
        ("const o = { a: 7 };\nexport default o", {"a": 7}),
        ("const h = 8\nexport default { h, f() {} }", {"h": 8}),
        ("const $default = 9, $default1 = 0;\nexport default () => $default", 9),
        ("let n = 10\nexport default n\n;[1].map(() => { n += 1 })", 11),
        ("const a = 12\nexport default (a)", 12),
    ],
)
def test_the_default_export_among_others_is_the_program(reader: Reader, program: str, result: object) -> None:
    assert reader.run(program) == result


@pytest.mark.parametrize(
    "text",
    [
        "Sure:\n```js\nasync () => [1]\n```",
        '{"code": "[1]"}',
        "const run = async () => [1];\nexport default run;",
        "function () { return [1] }",
        "const a = [1]; export default () => a",
    ],
)
def test_what_is_normalized_runs_alike(reader: Reader, text: str) -> None:
    answer = reader.accept(text)
    assert reader.run(answer["normalized"]) == [1]
    assert what_ran_outside(reader.guest, f"{PREFIX}{answer['normalized']}\n)}}", answer["normalized"]) is None


# What a fence holds is not the program, or not the only one.
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "/*\n```js\nevil()\n```\n*/\nconst x = ;",
            'Unexpected token ";". The text contains a markdown fence: send only the program inside it'
            " (line 6, column 11)",
        ),
        (
            "const x = ;\nconst s = `\n```js\nevil()\n```\n`;",
            'Unexpected token ";". The text contains a markdown fence: send only the program inside it'
            " (line 1, column 11)",
        ),
        (
            "```js\nconst a = 1;\n```\n```js\na\n```",
            "the text contains 2 fenced programs: send one JavaScript program, without fences (line 4, column 1)",
        ),
        (
            "Either\n```js\nasync () => 1\n```\nor\n~~~\nasync () => 2\n~~~",
            "the text contains 2 fenced programs: send one JavaScript program, without fences (line 6, column 1)",
        ),
        (
            "async () => { return 1 }\n```js\n2\n```",
            "the text contains a program before a fenced one: send one JavaScript program, without fences"
            " (line 2, column 1)",
        ),
        (
            "Run this:\n```sh\nls\n```\n```python\nprint(1)\n```",
            "none of the 2 fenced blocks is a program: send one JavaScript program, without fences (line 2, column 1)",
        ),
        (
            "Many:\n" + "```js\n1\n```\n" * 21,
            "the text contains more than 20 fenced blocks: send one JavaScript program, without fences"
            " (line 5, column 1)",
        ),
        ("Here it is:\n```js\nlet a;\nlet a;\n```", "Identifier 'a' has already been declared (line 2, column 5)"),
        (
            "Here it is:\n```js\nasync () => {\n  const a = { b: [1,\n```",
            'the program is incomplete: the "[" of line 2, column 18 is not closed (line 3, column 1)',
        ),
    ],
)
def test_takes_nothing_out_of_a_text_that_may_not_be_meant(reader: Reader, text: str, message: str) -> None:
    assert reader.read(text).get("message") == message


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


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("", "the text is empty: send a program that ends in `return value`"),
        ("```js\n```", "the text is empty: send a program that ends in `return value`"),
        ("// done", "the text holds only comments: send a program that ends in `return value`"),
        ("const main = async () => 1;", "`main` is never called: end with `return main()`"),
        ("const a = 1;\nlet run = function () { return a }", "`run` is never called: end with `return run()`"),
        (
            "async function main() { return f() }\nfunction f() { return 1 }",
            "`main` is never called: end with `return main()`",
        ),
        ("const f = () => 1;\nconst out = { n: f() };", "`out` is not returned: end with `return out`"),
        (
            "{ a: 1 }",
            "`{ … }` is a block at the start of a statement, not an object: end with `return { … }`",
        ),
        (
            "ls -la /workspace",
            "the text looks like a shell command: send a JavaScript program that uses the given functions",
        ),
        (
            "#!/bin/sh\ncd /tmp && ls",
            "the text looks like a shell command: send a JavaScript program that uses the given functions",
        ),
        (
            "result = await f()\nprint(result)",
            "`print` is no function of JavaScript: end with `return value`, or use `console.log`",
        ),
        (
            "Here:\n```js\n```",
            "the text contains a markdown fence that is no part of a program: send one program, without fences",
        ),
        # nothing to say
        ("async () => {}", ""),
        ("const f = () => 1;\nf();", ""),
        ("function f() { return 1 }", ""),
        ("const print = () => {};\nprint(1)", ""),
        ("const { a, b } = await f();", ""),
        ("const ls = 1, la = 2;\nls - la", ""),
        ("if (a) f();", ""),
        ("node.id", ""),
        ("return 1", ""),
    ],
)
def test_hints_at_what_is_missing(reader: Reader, program: str, hint: str) -> None:
    assert reader.accept(program)["hint"] == hint


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


@pytest.mark.parametrize(
    "program",
    [
        "const n = null; export default () => n.b;",
        "const n = null;\nexport /* c\n */ default (() => n.b)",
        "export default main; const n = null; function main() { return n.b }",
        "Sure:\n```js\nconst n = null; export default () => n.b",
    ],
)
def test_positions_in_an_exported_program_can_be_recovered(reader: Reader, program: str) -> None:
    answer = reader.accept(program)
    frames = reader.guest.eval(f"(async () => (0,{wrap(answer)})()())().catch(error => error.stack.split('\\n')[1])")
    assert isinstance(frames, JSPromise)
    line, column = (int(n) for n in re.findall(r":(\d+):(\d+)\)?$", str(frames.get(timeout=10)))[0])
    if line == 1:
        column -= len("(0,") + len(PREFIX) + len(answer["open"]) + len("(async () => ")
    column -= sum(n for at, after, n in answer["edits"] if at == line and column >= after)
    own = program.partition("```js\n")[2] or program
    assert LINE_BREAK.split(own)[line - 1][column - 1 :].startswith("b")


# What a program names decides what is made for it before.
@pytest.mark.parametrize(
    ("program", "loads"),
    [
        ("return 1", False),
        ("return new URL('a:b').href", True),
        ("return new \\u0055RL('a:b')", True),
        ("return typeof URL", True),
        ("return globalThis.URL", True),
        ("return globalThis?.URL", True),
        ("return self.URL === globalThis.URL", True),
        ("return { URL }", True),
        ("return `${URL}`", True),
        ("const { URL: U } = globalThis", True),
        # the global object, for whatever it has
        ("return globalThis[name]", True),
        ("return globalThis?.[name]", True),
        ("return Object.keys(self)", True),
        ("const g = globalThis; return g.URL", True),
        ("function f(self) { return self[x] }\nreturn self[x]", True),
        ("const URL = 1; { const f = (URL) => URL } return ((x) => x)(new globalThis.URL('a:b'))", True),
        ("const f = (URL) => URL; return URL", True),
        # not the platform's
        ("return a.URL", False),
        ("return a?.URL", False),
        ("return { URL: 1 }", False),
        ("return { a, URL: 1 }", False),
        ("return typeof globalThis", False),
        ("return typeof globalThis.foo", False),
        ("return a.globalThis[b]", False),
        ("const self = this; return f(self, self[x])", False),
        ("const URL = 1; return URL", False),
        ("async () => { const URL = await f(); return URL.x }", False),
        ("async (URL) => { return URL }", False),
        ("function f({ a: [URL] = [] }) { return URL }\nreturn f({})", False),
        ("class URL {}\nreturn new URL()", False),
        ("// URL\nreturn 'URL'", False),
        ("try { f() } catch (URL) { return URL.message }", False),
    ],
)
def test_knows_what_of_the_platform_a_program_names(reader: Reader, program: str, loads: bool) -> None:
    assert ("url" in reader.accept(program)["chunks"]) is loads


@pytest.mark.parametrize(
    "program",
    ["return crypto.subtle", "return crypto['subtle']", "const { subtle } = crypto", "const { subtle: s } = crypto"],
)
def test_knows_the_members_that_are_pieces_of_their_own(reader: Reader, program: str) -> None:
    chunks = reader.accept(program)["chunks"]
    assert chunks.index("crypto") < chunks.index("subtle")
    assert "subtle" not in reader.accept("return crypto.randomUUID()")["chunks"]


@pytest.mark.parametrize(
    ("program", "modules", "chunks"),
    [
        ("import p from 'path'\nreturn p", {}, ["node-path", "modules"]),
        ("return (await import('node:path')).sep", {}, ["node-path", "modules"]),
        ("return (await import(`node:path`)).sep", {}, ["node-path", "modules"]),
        ("return import('./a.js')", {"a.js": "export * from 'node:path'"}, ["node-path", "modules"]),
        ("return import('./a.js')", {"a.js": "import './b.js'", "b.js": "new URL('a:b')"}, ["url", "modules"]),
        ("return 1", {"a.js": "import 'node:path'; new URL('a:b')"}, []),
        ("return import('./a.js')", {"a.js": "", "b.js": "import 'node:path'"}, ["modules"]),
        ("return import('./path')", {}, ["modules"]),
        ("return import('node:fs')", {}, ["modules"]),
    ],
)
def test_knows_what_of_the_platform_is_imported(
    reader: Reader, program: str, modules: dict[str, str], chunks: list[str]
) -> None:
    answer = reader.read(program, modules)
    assert answer["ok"], answer
    assert [chunk for chunk in answer["chunks"] if chunk in {"node-path", "url", "modules"}] == chunks


def test_an_import_of_whatever_name_may_be_of_any_module(reader: Reader) -> None:
    answer = reader.read("return import(name)", {"a.js": "import './b.js'", "b.js": "", "c.js": "new URL('a:b')"})
    assert sorted(module["name"] for module in answer["modules"]) == ["a.js", "b.js", "c.js"]
    assert {"node-path", "url", "modules"} <= set(answer["chunks"])


@pytest.mark.parametrize(
    ("program", "more"),
    [
        ("return (await fetch(u)).json()", []),
        ("const r = await fetch(u); return r.text()", []),
        ("return fetch(u, {method: 'POST', body: '{}'})", ["readable-streams"]),
        ("const { body } = await fetch(u)", ["readable-streams"]),
        ("return (await fetch(u))['body']", ["readable-streams"]),
        ("return fetch(u, { signal })", ["abort"]),
        ("return (await fetch(u)).blob()", ["readable-streams", "blob"]),
        ("return (await fetch(u)).formData()", ["readable-streams", "blob", "form-data"]),
        ("for (const key in await fetch(u)) seen(key)", ["readable-streams", "abort", "blob", "form-data"]),
        ("return Reflect.getPrototypeOf(await fetch(u))", ["readable-streams", "abort", "blob", "form-data"]),
        ("return { body: 1, signal: 2, blob: 3, formData: 4 }", []),
        ("for (const key in object) seen(key)", []),
    ],
)
def test_what_belongs_to_fetch_is_loaded_if_it_is_named(reader: Reader, program: str, more: list[str]) -> None:
    chunks = reader.accept(program)["chunks"]
    assert {chunk for chunk in chunks if chunk in {"readable-streams", "abort", "blob", "form-data"}} == set(more)


def test_chunks_come_after_those_that_they_require(reader: Reader) -> None:
    chunks = reader.accept("return [fetch, globalThis[x]]")["chunks"]
    manifests = {path.parent.name: json.loads(path.read_text("utf-8")) for path in CHUNKS.glob("*/chunk.json")}
    assert len(chunks) == len(set(chunks)) > 3
    for at, chunk in enumerate(chunks):
        assert set(manifests[chunk].get("requires", [])) <= set(chunks[:at])


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
            "const run = async () => 3;\nexport { run };",
            "a program exports nothing by name: return the value, or use `export default` (line 2, column 1)",
            2,
            1,
        ),
        ("```js\nasync () => 1 +* 2\n```", 'Unexpected token "*" (line 1, column 16)', 1, 16),
        ("a\r\nb\u2028c d", 'Unexpected token "d" (line 3, column 3)', 3, 3),
    ],
)
def test_says_what_is_wrong_and_where(reader: Reader, program: str, message: str, line: int, column: int) -> None:
    answer = reader.read(program)
    answer.pop("typescript", None)
    assert answer == {
        "ok": False,
        "name": "SyntaxError",
        "message": message,
        "line": line,
        "column": column,
    }


INSTEAD = "send a JavaScript program that uses the given functions, such as `async () => { return 1 }`"


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "a shell command",
            [
                "npm install zod",
                "curl https://example.com",
                "$ git status",
                "cat data.json | jq .",
                "find . -name x",
                "export TOKEN=1",
                "sudo rm /tmp/x",
                "Install:\n```\nnpm install zod\n```",
                '{"code": "echo hello"}',
                "#!/bin/bash\necho hi",
            ],
        ),
        ("a shell script", ["# list\nls -la", "```bash\nls -la\n```"]),
        (
            "Python",
            [
                "def f():\n    return 1\nprint(f())",
                "import os\nprint(os.listdir('.'))",
                "import json, asyncio",
                "from x import y",
                "x = 5\nif x > 3:\n    print(x)",
                "for k, v in d.items():\n    print(k)",
                "with open('a') as f:\n    pass",
                "try:\n    f()\nexcept E as e:\n    print(e)",
                "print(f'{x}')",
                "r = [x for x in y]",
                "f = lambda x: x",
                "x = 1 if a else 2",
                '"""A script."""\nx = 1',
                "# get it\nresult = await f()\nprint(result)",
                "class A:\n    pass",
                "```python\nprint(1)\n```",
            ],
        ),
        ("SQL", ["SELECT * FROM users;", "insert into t values (1)"]),
        ("markup", ["<div>hi</div>", "<!DOCTYPE html>\n<p>"]),
    ],
)
def test_says_that_a_text_is_in_another_language(reader: Reader, language: str, texts: list[str]) -> None:
    for text in texts:
        answer = reader.read(text)
        where = f"(line {answer.get('line')}, column {answer.get('column')})"
        assert answer.get("message") == f"the text is {language}, and only JavaScript runs here: {INSTEAD} {where}", (
            text
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"query": "x", "limit": 2}',
            f"the text is JSON, not a program: {INSTEAD}, or put `return` in front of it if it is the answer"
            " (line 1, column 1)",
        ),
        (
            '{"code": "async () => {\n}"}',
            f"the text looks like JSON that is not complete or not valid: {INSTEAD} (line 1, column 8)",
        ),
        (
            "I will list the invoices.\n\nasync () => 1",
            "the text starts with prose: send only the program, in JavaScript, such as `async () => { return 1 }`"
            " (line 1, column 3)",
        ),
        (
            "async () => {\\n  return 1\\n}",
            "a backslash outside of a string: send line breaks as they are, instead of `\\n` (line 1, column 15)",
        ),
        ("# count\nlet n = 1", "`#` starts no comment in JavaScript: write `//` (line 1, column 2)"),
        (
            "async function* pages() { yield 1 }",
            "`pages` is a generator, and nothing collects what it yields: end with `const all = [];"
            " for await (const item of pages()) all.push(item); return all` (line 1, column 1)",
        ),
        (
            "function* g() {}\nexport default g",
            "`g` is a generator, and nothing collects what it yields: end with `const all = [];"
            " for (const item of g()) all.push(item); return all` (line 1, column 1)",
        ),
        (
            "'use strict';\n(function* () {})",
            "the program is a generator function, and nothing collects what it yields: end with `const all = [];"
            " for (const item of pages()) all.push(item); return all` (line 2, column 2)",
        ),
    ],
)
def test_says_what_to_send_instead(reader: Reader, text: str, message: str) -> None:
    assert reader.read(text).get("message") == message


@pytest.mark.parametrize(
    "program",
    [
        "interface Page { items: number[] }\nreturn 1",
        "type Id = string;\nreturn 1",
        "enum A { B }",
        "const r = (await f()) as any;",
        "return page.items!.length",
        "function f<T>(x) { return x }",
        "new Map<string, number>()",
        "class A { private x = 1 }",
        "class A {\n  #x: number = 1\n}",
        "async function f(x?: number) {}",
        "import type { A } from 'a'",
    ],
)
def test_asks_for_the_javascript_of_a_text_that_looks_like_typescript(reader: Reader, program: str) -> None:
    assert reader.read(program)["typescript"] == [{"kind": "program", "text": program}]


# A program with a mistake is JavaScript all the same, whatever its strings and names look like.
@pytest.mark.parametrize(
    "program",
    [
        "async () => {\n  const r = await f(`\nimport os\nls -la\n`);\n  return r +* 1\n}",
        "return await foo bar(",
        "throw new Error x",
        "cat = await x y",
        "const p = {\n  if: 1,\n  for: 2\n  with: 3 }",
        "switch (x) { case 'a': foo( }",
        'console.log("this and not that" foo)',
        "foo(a: 1)",
        "return {\n  a: 1\n  b: 2 }",
        "for (const x of y) {\n  f(x))\n}",
        "if (a) { b } else: c",
        "const el = <div/>;",
        "async () => { return 1 })",
    ],
)
def test_blames_no_other_language_for_a_mistake(reader: Reader, program: str) -> None:
    message = reader.read(program).get("message", "")
    assert message.startswith(("Unexpected token", "the program is incomplete")), message
    assert "TypeScript" not in message


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
        "1\n#!/usr/bin/env node",
        # acorn takes the line for a regular expression, V8 for a division
        "a = async function () { }\n/ 1 /;",
        "a = async function () { }\n/}),evil(),(async()=>{/",
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
        "~~~\n" * 250_000,
        "```js\n1\n```\n" * 80_000,
        "Sure\n" + "`" * 100_000,
        "word " * 200_000,
        "[" + "for x " * 150_000,
        '{"a": ' * 1000 + "1",
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
    *(
        "import a,{f}from'b';",
        "import*as a from'b'\n",
        "import'b'\n",
        "/*AsyncLocalStorage*/await a\n",
        "import('b')\n",
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


BEFORE = ["", "Here:", "Here is `it`:\n", "Sure", "/*", "`", "#!x", "async()=>1"]
FENCES = ["```js", "```", "~~~", "```json", "````JavaScript x"]
AFTER = ["```", "```\nDone", "~~~", "", "```\n```js\na\n```"]
EXPORTED = [
    *("a", "a;", "f\n", "()=>a", "function(){}", "async function m(){return a}", "class{}", "class C{}\n"),
    *(
        "{a:1,b(){}}",
        "(a,b)",
        "(()=>a/*\n*/)//c\n",
        "a=async function(){}\n/ 1 /;",
        "async function(){}\n/}),evil(),(async()=>{/\n",
    ),
]


def hostile_texts() -> st.SearchStrategy[str]:
    fragment = st.sampled_from(FRAGMENTS)
    statement = st.builds(str.__add__, st.sampled_from(STATEMENTS), st.sampled_from(JOINS))
    text = st.lists(st.one_of(fragment, statement, statement), max_size=8).map("".join)
    return st.one_of(
        text,
        text.map(lambda inside: f"async()=>{{{inside}}}"),
        text.map(lambda inside: f"{{ a: {inside}, b: 2 }}"),
        text.map(lambda inside: json.dumps({"code": inside})),
        st.builds(
            "{}\n{}\n{}\n{}".format, st.sampled_from(BEFORE), st.sampled_from(FENCES), text, st.sampled_from(AFTER)
        ),
        st.builds("{}{}export default {}{}".format, text, st.sampled_from(JOINS), st.sampled_from(EXPORTED), text),
    )


@settings(
    max_examples=2500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=hostile_texts())
def test_what_is_accepted_stays_in_its_function(reader: Reader, text: str) -> None:
    answer = reader.read(text, UNLIVE)
    if not answer["ok"]:
        assert answer["name"] in {"SyntaxError", "RangeError"}, answer["message"]
        return
    assert what_ran_outside(reader.guest, wrap(answer), inner_function(answer)) is None


EXPORTS = [
    *("import 'a';", "import a from 'b'\n", "import * as n from 'b';", "import {a, b as c} from 'b'\n", "import('a');"),
    *("export {a};", "export {a as b, f}\n", "export * from 'b'\n", "export * as n from 'b';", "export {a as 'x y'};"),
    *("export const a=1,f=()=>a\n", "export let {a,...f}={};", "export var a\n", "export {a} from 'b'\n", "export{};"),
    *(
        "export function f(){}",
        "export async function*f(){}",
        "export class C{}",
        "export default a\n",
        "export default(a);",
    ),
    *(
        "export default function(){}",
        "export default async function*(){}",
        "export default class{}",
        "export default()=>a\n",
    ),
    *(
        "export default class C{}",
        "export default[a]\n",
        "export default/*c*/(/*d*/class{});",
        "export/*\n*/default a\n",
    ),
    *("AsyncLocalStorage;", "await await a\n", "x:y:for await(a of f())for await(f of a)await a;", "a=await f()\n"),
    *("let a=1,f=()=>{};", "var a,f;", "await a\n", "for await(a of f());", "import.meta;", "f(arguments);", "a=1\n"),
    *(
        "class D extends a{[a]=a}",
        "const{a:[f]}=a\n",
        "a`x`;",
        "f?.();",
        "({a,f});",
        "[a]=[1];",
        "export default a in f\n",
    ),
]
UNLIVE = {"b": "export let a = 1, f = () => { a = 2 }; export default 3"}


def hostile_modules() -> st.SearchStrategy[str]:
    part = st.one_of(st.sampled_from(EXPORTS), st.sampled_from(EXPORTS), st.sampled_from(FRAGMENTS))
    joined = st.builds(str.__add__, part, st.sampled_from(["", "", *JOINS]))
    return st.lists(joined, max_size=8).map("".join)


def what_a_module_ran(guest: MiniRacer, module: dict[str, Any]) -> str | None:
    """How the text of a module left its function, or ran before its turn; ``None`` if it did not."""
    text = f"__module__({module['open']}{module['body']}{module['close']}\n)"
    head = re.search(r"(?:async )?function\*", module["open"])
    assert head is not None
    factory = module["open"][head.start() :] + module["body"] + module["close"]
    verdict = guest.eval(
        f"""
        (() => {{
            count = 0;
            let calls = [];
            globalThis.__module__ = (...given) => {{ calls.push(given) }};
            try {{ (0, eval)({json.dumps(text)}) }}
            catch (error) {{
                // An early error that only V8 knows: nothing has run.
                return error instanceof SyntaxError && calls.length === 0 ? null : "threw " + error;
            }}
            if (count !== 0) return "ran while it was defined";
            if (calls.length !== 1 || calls[0].length !== 4) return "is more than one call";
            if (calls[0][3].toString() !== {json.dumps(factory)}) return "is more than one function";
            const links = {{}};
            calls[0][3](links, () => {{ throw new Error("imported") }}).next();
            if (count !== 0) return "ran before its turn";
            return typeof links.x === "object" ? null : "tells nothing of its exports";
        }})()
        """
    )
    assert verdict is None or isinstance(verdict, str)
    return verdict


@settings(
    max_examples=2500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=hostile_modules(), cyclic=st.booleans())
def test_what_is_accepted_as_a_module_stays_in_its_function(reader: Reader, text: str, cyclic: bool) -> None:
    # In a cycle every reference to an import is rewritten, outside of one only those that change.
    source = f"{text}\nimport 'm'" if cyclic else text
    answer = reader.read("async () => import('m')", {"m": source, **UNLIVE})
    if not answer["ok"]:
        assert answer["name"] in {"SyntaxError", "RangeError"}, answer["message"]
        assert answer["message"].startswith("module m: ")
        return
    (module,) = [module for module in answer["modules"] if module["name"] == "m"]
    assert what_a_module_ran(reader.guest, module) is None
    lines, own = LINE_BREAK.split(module["body"]), LINE_BREAK.split(source)
    assert len(lines) == len(own)
    for line, column, inserted in reversed(module["edits"]):
        before = lines[line - 1]
        lines[line - 1] = before[: column - 1 - inserted] + before[column - 1 :]
    for line, before in zip(lines, own, strict=True):
        assert len(line) == len(before), "an edit does not lead back to the module's own columns"


def test_the_bundle_leaves_no_global() -> None:
    with MiniRacer() as context:
        before = context.eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))")
        assert context.eval(f"typeof ({BUNDLE.read_text('ascii')})") == "function"
        assert context.eval("JSON.stringify(Object.getOwnPropertyNames(globalThis))") == before


def test_the_bundle_evaluates_to_its_default_export() -> None:
    with MiniRacer() as context:
        answer = context.eval(BUNDLE.read_text("ascii") + """\n('{"code":"1"}')""")
        assert isinstance(answer, str)
        assert json.loads(answer)["body"] == "return (1)"
        with pytest.raises(JSEvalException):
            context.eval("read")
