"""TypeScript: what the transpiler makes of a text, which texts the reader has transpiled, and what then runs.

The bundles run where they run in a worker: in bare isolates, with the worker's own classes around them.
"""

from __future__ import annotations

import json
import queue
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from py_mini_racer import _dll

from codemode_executor import IsolateExecutor, Limits
from codemode_executor.worker import assets
from codemode_executor.worker.isolate import Engine, Isolate, Kind, Reply
from codemode_executor.worker.transpiler import Transpiler
from pools import fresh

GUARD_S = 30.0
# swc reads what stands between the brackets twice, for every pair.
ENDLESS = "let x: any = " + "<T>(x=>" * 40 + "1" + ")" * 40


@pytest.fixture(scope="module")
def engine() -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        # Another test of this process may have initialised V8; its flags do not matter here.
        patch.setattr(_dll, "init_mini_racer", partial(_dll.init_mini_racer, ignore_duplicate_init=True))
        return Engine(["--single-threaded"])


def make(engine: Engine, memory_bytes: int | None = None) -> Transpiler:
    return Transpiler(engine, assets.load("typescript.js"), assets.load("typescript.wasm"), memory_bytes)


@pytest.fixture(scope="module")
def transpiler(engine: Engine) -> Iterator[Transpiler]:
    transpiler = make(engine)
    yield transpiler
    transpiler.close()


def ask(transpiler: Transpiler, texts: list[dict[str, str]]) -> list[dict[str, Any]] | None:
    answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    transpiler.ask(json.dumps(texts).encode(), answers.put)
    answer = answers.get(timeout=GUARD_S)
    return None if answer is None else json.loads(answer)


def answer(transpiler: Transpiler, text: str, kind: str = "program") -> dict[str, Any]:
    answers = ask(transpiler, [{"kind": kind, "text": text}])
    assert answers is not None
    return answers[0]


def javascript(transpiler: Transpiler, text: str, kind: str = "program") -> str:
    found = answer(transpiler, text, kind)
    assert found["ok"], found
    return found["text"]


# --- from TypeScript to JavaScript ------------------------------------------------------------------------------------


def erased(marked: str) -> tuple[str, str]:
    """A text, and what is left of it: `⟦…⟧` gives way to spaces, `«…»` to a semicolon and spaces."""

    def spaces(match: re.Match[str]) -> str:
        left = re.sub(r"[^\r\n]", lambda one: " " * (len(one[0].encode("utf-16-le")) // 2), match[0][1:-1])
        return ";" + left[1:] if match[0][0] == "«" else left

    return re.sub("[⟦⟧«»]", "", marked), re.sub("⟦[^⟧]*⟧|«[^»]*»", spaces, marked)


@pytest.mark.parametrize(
    "marked",
    [
        "let a⟦: number⟧ = 1",
        "async ()⟦: Promise<number>⟧ => 1",
        "⟦type A = { n: number };⟧\nreturn 1⟦ as any⟧",
        "function (x⟦: number⟧)⟦: number⟧ { return x }",
        "{ a: 1⟦ as number⟧, b: 2 }",
        "// c\nasync function (x⟦?: T⟧) {}",
        "foo⟦<string>⟧(x)⟦!⟧.y",
        "const x = y⟦ satisfies Z⟧;",
        "⟦abstract⟧ class A⟦<T>⟧ { ⟦abstract f(): T;⟧ g() {} }",
        "const é⟦: 'é😀'⟧ = 1; // 😀",
        "let a⟦: number⟧\r\nlet b⟦: string⟧",
        "⟦export interface A {}⟧\nexport const a⟦: A⟧ = {}",
        "export default async ()⟦: Promise<number>⟧ => 1",
    ],
)
def test_erases_types_where_they_stand(transpiler: Transpiler, marked: str) -> None:
    text, expected = erased(marked)
    # swc erases a character of several bytes by as many bytes of white space.
    assert re.sub("[\u00a0\ufeff]", " ", javascript(transpiler, text)) == expected


# The declaration goes, and what kept the statements apart must not go with it.
@pytest.mark.parametrize(
    "marked",
    [
        "let a=1\n⟦type X=string⟧\n;[a].map(f)",
        "let a=1\n«type X=string;»\n[a].map(f)",
        "let a=1\n«type X={b:1;c:2};» // d\n(a)",
        "let a=1\n«interface X {}»\n[a]",
        "let a = b «as any»\n(c)",
        "let a=1\n«import {T} from 'x'»\n[a⟦ as T⟧]",
        "class A { x = 1\n ⟦declare y: {a: 1; b: 2}⟧;\n *z() {} }",
        "⟦abstract⟧ class A { x = 1\n ⟦abstract y: 1⟧;\n ['z']() {} }",
        "label: ⟦type X = 1⟧;",
        # Nothing stands there that could be joined: a statement more would hide the only one from the reader.
        "⟦type X = 1;⟧\n(async () => 1)",
        "const a = 1;\n⟦type X = 1;⟧\n(a)",
        "⟦import {A} from 'a';⟧\n⟦import {B} from 'b'⟧\n// c\nasync function main(x⟦: A | B⟧) {}",
        "function f(x⟦: {a: 1; b: 2}⟧, y⟦: {(): 1;}⟧) {}",
    ],
)
def test_keeps_statements_apart(transpiler: Transpiler, marked: str) -> None:
    text, expected = erased(marked)
    assert javascript(transpiler, text) == expected


@pytest.mark.parametrize(
    "marked",
    [
        "import { ⟦A,⟧ b } from 'x'; b⟦ as A⟧",
        "import { b, ⟦A⟧ } from 'x'; b⟦ as A⟧",
        "import { b, /* , */ ⟦A⟧ } from 'x'; b⟦ as A⟧",
        "⟦import { type A } from 'x';⟧ let a⟦: A⟧",
        "⟦import type { A } from 'x';⟧ let a⟦: A⟧",
        "import ⟦A,⟧ { b } from 'x'; b⟦ as A⟧",
        "import a, { ⟦B⟧ } from 'x'; a⟦ as B⟧",
        "import a⟦,⟧ ⟦* as n⟧ from 'x'; a⟦ as n.B⟧",
        "import ⟦A,⟧ * as n from 'x'; n⟦ as A⟧",
        "⟦import { a as b } from 'x';⟧ a.b⟦ as B⟧",
        "import 'x'; import {} from 'y'; 1⟦ as any⟧",
        "import { a } from 'x'; let b⟦: B⟧ = { a }",
        "⟦import { a } from 'x';⟧ let b⟦: B⟧ = { a: 1 }; a: for (;;) break a",
        "import { a } from 'x' with { type: 'json' }; a⟦ as B⟧",
        "import { ⟦A,⟧ b } from 'x';\nreturn b⟦ as A⟧",
        "/* c */ import { ⟦A,⟧\n b } from 'x'\n«import C from 'y'; »// d\nreturn b⟦ as A⟧",
    ],
)
def test_drops_imports_that_are_no_values(transpiler: Transpiler, marked: str) -> None:
    text, expected = erased(marked)
    assert javascript(transpiler, text) == expected


def test_drops_imports_of_a_program_that_is_printed_anew(transpiler: Transpiler) -> None:
    text = "import { A, b } from 'x'\n\nenum E { F }\nreturn b as A"
    assert javascript(transpiler, text).split("\n") == [
        "import {    b } from 'x'",
        "",
        'let  E = function(E) { E[E["F"] = 0] = "F"; return E; }({});',
        "return b;",
    ]


# What cannot be erased is printed anew, and put back on its lines.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("enum A { B }\n\n\nf(A.B)", 'var  A = function(A) { A[A["B"] = 0] = "B"; return A; }(A || {});\n\n\nf(A.B);'),
        (
            "class P {\n  f(): void {}\n  constructor(private x = 1,\n    public y: number) {}\n"
            "  g() { return `\n${this.x}`; }\n}",
            "class P { x; y;\n  f()       {}\n  constructor(        x = 1,\n"
            "           y        ) { this.x = x; this.y = y; }\n  g() { return `\n${this.x}`; }\n}",
        ),
        ("let a = <any>b;\nlet c", "let a =      b;\nlet c;"),
        ("return <any>b", "return      b;"),
        ("return (\n  <any>b)", "return b;"),
        ("function () { return <any>b\n}", "function() {  return      b;\n}"),
        ("namespace A { export const x = 1 }\nA.x", "var A;(function(A) { A.          x = 1; })(A || (A = {}));\nA.x;"),
    ],
)
def test_what_cannot_be_erased_keeps_its_lines(transpiler: Transpiler, text: str, expected: str) -> None:
    assert javascript(transpiler, text) == expected


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("let b: = 1", 'Unexpected token "="', 1, 8),
        ("\tlet b: = 1", 'Unexpected token "="', 1, 9),
        ("let a = '\u4e2d\u00e9\U0001f600'; let b: = 1", 'Unexpected token "="', 1, 24),
        ("return 1 as any;\nlet b: = 1", 'Unexpected token "="', 2, 8),
        ("import a from 'a';\nreturn 1 as any;\nlet b: = 1", 'Unexpected token "="', 3, 8),
        ("const x: number = 1;\nreturn x +* 2", 'Unexpected token "*"', 2, 11),
        ("async () => { const x: number =", "the program is incomplete: it ends where more is expected", 1, 32),
        ("@dec class A {}", "decorators are not supported: call the function on the class or the method instead", 1, 1),
        (
            "enum A {}\n\n@dec class B {}",
            "decorators are not supported: call the function on the class or the method instead",
            3,
            1,
        ),
        (
            "class A {\n  accessor x: number = 1 }",
            "`accessor` fields are not supported: write a getter and a setter",
            2,
            12,
        ),
        ("let x: X = <b>hi</b>", "JSX is not supported: return data, or build the markup as a string", 1, 12),
        ("f(1,\n  <Foo bar={1} />)", "JSX is not supported: return data, or build the markup as a string", 2, 3),
        ("let s = '<b>' + '</b>'; let y: = 1", 'Unexpected token "="', 1, 32),
        (
            "import a = require('b'); a()",
            '`import \u2026 = require(\u2026)` is not supported: use `import \u2026 from "\u2026"`',
            1,
            1,
        ),
        ("let a: A\nexport = a", "`export =` is not supported: use `export default`", 2, 1),
    ],
)
def test_says_what_is_wrong_and_where(transpiler: Transpiler, text: str, message: str, line: int, column: int) -> None:
    found = answer(transpiler, text)
    assert (found["ok"], found["message"], found["line"], found["column"]) == (False, message, line, column)
    assert found["decisive"] is ("not supported" in message)


def test_a_module_ends_in_no_return(transpiler: Transpiler) -> None:
    assert answer(transpiler, "return 1 as any", "module")["ok"] is False
    assert javascript(transpiler, "export default 1 as any", "module") == "export default 1       "


def test_answers_many_in_one_reply(transpiler: Transpiler) -> None:
    answers = ask(transpiler, [{"kind": "program", "text": text} for text in ("let a: A", "let b: =", "let c: C")])
    assert answers is not None
    assert [found["ok"] for found in answers] == [True, False, True]
    assert answers[2]["text"] == "let c   "


# --- hostile texts ----------------------------------------------------------------------------------------------------


# A trap leaves swc's instance broken: the next text must not meet it.
@pytest.mark.parametrize(
    "text",
    [
        "let x: " + "(" * 5000 + "number" + ")" * 5000,
        "let x = " + "(" * 30000 + "1" + ")" * 30000 + " as any",
        "let x: any = " + "[" * 30000,
        "enum A { B = " + "-" * 50000 + "1 }",
        "let x: any = 1" + "+1" * 100000,
    ],
)
def test_is_there_again_after_a_text_that_nests_too_deeply(transpiler: Transpiler, text: str) -> None:
    found = answer(transpiler, text)
    assert not found["ok"]
    assert found["message"].startswith("the program nests too deeply to be read as TypeScript")
    assert found["decisive"]
    assert javascript(transpiler, "let a: number = 1") == "let a         = 1"


def test_nothing_is_made_before_the_first_request(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    real = engine.open_context

    def counted(callback: Callable[..., None]) -> int:
        opened.append(real(callback))
        return opened[-1]

    monkeypatch.setattr(engine, "open_context", counted)
    transpiler = make(engine)
    assert opened == []
    assert javascript(transpiler, "let a: A") == "let a   "
    assert javascript(transpiler, "let b: B") == "let b   "
    assert len(opened) == 1
    transpiler.close()


def test_a_text_that_exhausts_the_heap_breaks_only_the_isolate(engine: Engine) -> None:
    transpiler = make(engine, 24 * 1024 * 1024)
    assert javascript(transpiler, "let a: A") == "let a   "
    assert ask(transpiler, [{"kind": "program", "text": "f(a as A);" * 300_000}]) is None
    transpiler.close()


def test_a_text_that_is_never_done_can_be_ended(engine: Engine) -> None:
    transpiler = make(engine)
    assert javascript(transpiler, "let a: A") == "let a   "
    answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    transpiler.ask(json.dumps([{"kind": "program", "text": ENDLESS}]).encode(), answers.put)
    with pytest.raises(queue.Empty):
        answers.get(timeout=1)
    closing = threading.Thread(target=transpiler.close, daemon=True)
    closing.start()
    closing.join(GUARD_S)
    assert not closing.is_alive()


# --- what the reader has transpiled -----------------------------------------------------------------------------------


class Relay:
    """The reader and the transpiler, and the worker's part between them."""

    def __init__(self, engine: Engine, transpiler: Transpiler) -> None:
        source = assets.load("reader.js").rstrip().rstrip(b";")
        self._reader = Isolate(engine)
        self._reader.load(b"(r=>function(){'use strict';return r(this)})(" + source + b"\n)")
        self._transpiler = transpiler

    def once(self, request: dict[str, Any]) -> dict[str, Any]:
        replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._reader.ask(json.dumps(request).encode(), replies.put)
        reply = replies.get(timeout=GUARD_S)
        assert reply.kind == Kind.STRING
        return json.loads(reply.text)

    def read(self, text: str, **more: Any) -> dict[str, Any]:
        first = self.once({"code": text, **more})
        wanted = first.get("typescript")
        if not wanted:
            return first
        answers = ask(self._transpiler, wanted)
        assert answers is not None
        transpiled = [{**one, "answer": found} for one, found in zip(wanted, answers, strict=True)]
        return self.once({"code": text, **more, "transpiled": transpiled})

    def close(self) -> None:
        self._reader.free()


@pytest.fixture(scope="module")
def relay(engine: Engine, transpiler: Transpiler) -> Iterator[Relay]:
    relay = Relay(engine, transpiler)
    yield relay
    relay.close()


ONLY_TYPESCRIPT = """
let x: number ¶ async (): Promise<number> => 1 ¶ f(x as any) ¶ f(x satisfies Y) ¶ x!.y ¶ a = b! ¶ function f<T>(x) {}
¶ class A<T> {} ¶ new Map<string, number>() ¶ const s = new Map<string, number>([]) ¶ foo<string>() ¶ f<T[]>(x)
¶ const f = <T>(x) => x ¶ const f = async <T>(x) => x ¶ type A = B ¶ interface A {} ¶ enum A {} ¶ const enum A {}
¶ declare const x: 1 ¶ namespace A {} ¶ abstract class A {} ¶ class A { private x = 1 } ¶ class A { readonly x = 1 }
¶ class A { declare x } ¶ class A { constructor(private x) {} } ¶ class A { constructor(readonly x) {} }
¶ class A implements B {} ¶ class A extends B<C> {} ¶ function f(this: X) {} ¶ function f(x?) {} ¶ (a?) => 1
¶ class A { x?; } ¶ class A { f?() {} } ¶ class A { x!; } ¶ function f(x): void; function f(x) {}
¶ class A { f(); f() {} } ¶ class A { [k: string]: any } ¶ let x = <any>y ¶ for (const x of y as any) {}
¶ try {} catch (e: any) {} ¶ let {a}: B = c ¶ class A extends B { override f() {} } ¶ const x = y as const
¶ declare global {} ¶ const g = f<string>; ¶ x! + 1 ¶ (x as T)! ¶ let a = b as T[] ¶ return x as any ¶ a?.b!.c()
¶ f(<T>x) ¶ class A { get x(): number { return 1 } } ¶ while (y!) {} ¶ arr![0] ¶ let f: () => void
¶ const x = { f<T>() {} } ¶ function (x: number) {} ¶ { a: 1 as any, b: 2 } ¶ {"code": "return 1 as number"}
¶ x as any;\n```ts\n``` ¶ ```ts\nlet x: 1\n``` ¶ Here it is:\n```ts\nlet x: 1\n```\n```json\n{}\n```
""".split("¶")


@pytest.mark.parametrize("text", [text.strip().replace("\\n", "\n") for text in ONLY_TYPESCRIPT])
def test_accepts_what_only_typescript_has(relay: Relay, text: str) -> None:
    assert relay.once({"code": text})["ok"] is False
    read = relay.read(text)
    assert read["ok"], read["message"]


# In JavaScript these compare; nobody means that.
@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("foo<string>(x)", "foo        (x)"),
        ("await api.get<Issue>({ id: 1 })", "await api.get       ({ id: 1 })"),
        ("f(new Map<string, number>([[1, 2]]))", "new Map                ([[1, 2]])"),
        ("f<Record<string, any>>(x)", "f                     (x)"),
        ("f<Row | null>(x)", "f            (x)"),
        ("f<'a' | 'b'>(x)", "f           (x)"),
        ("f<typeof x>(x)", "f          (x)"),
        ("f<{ a: string }>(x)", "f               (x)"),
        ("f<[string, number]>(x)", "f                  (x)"),
        ("f<Api.Row, A<B>>(x)", "f               (x)"),
        ("sql<Row>`select`", "sql     `select`"),
    ],
)
def test_reads_type_arguments_as_such(relay: Relay, text: str, call: str) -> None:
    assert relay.once({"code": text})["ok"] is True
    assert call in relay.read(text)["body"]


@pytest.mark.parametrize(
    "text",
    [
        "a < b > (c)",
        "for (let i=0;i<n;i++) f(i>(n))",
        "if (a<b && c>(d)) {}",
        "let b, c; f(a<b,c>(d))",
        "const a=1, b=2, c=3, d=4; return [a<b,c>(d)]",
        "x = a<b; y = c>(d)",
        "a<1>(b)",
        "'foo<string>(x)'",
        "`foo<string>(x)` // foo<string>(x)",
        "let b; a<b, c>(d)",
        "label: string",
        "a ? (b) : c => d",
    ],
)
def test_leaves_javascript_alone(relay: Relay, text: str) -> None:
    first = relay.once({"code": text})
    assert first["ok"]
    assert "typescript" not in first


# Whoever came further has understood more of the text.
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("let x: number = 1; x +* 2", 'Unexpected token "*" (line 1, column 23)'),
        ("@dec class A {}", "decorators are not supported: "),
        ("const el = <b>hi</b>", "JSX is not supported: "),
        ("let x: any = " + "(" * 30000, "the program nests too deeply to be read as TypeScript: "),
        ("foo(a: 1)", 'Unexpected token ":" (line 1, column 6)'),
        ("def f(x: int):\n  return x", "the text is Python"),
        ("return await foo bar(", 'Unexpected token "bar" (line 1, column 18)'),
    ],
)
def test_reports_the_error_of_who_came_further(relay: Relay, text: str, message: str) -> None:
    read = relay.read(text)
    assert not read["ok"]
    assert read["message"].startswith(message)


def test_modules_may_be_typescript(relay: Relay) -> None:
    modules = [
        {"name": "a.ts", "kind": "js", "source": "import { B } from './b.ts'\nexport const a: B<number> = 1"},
        {"name": "b.ts", "kind": "js", "source": "export type B<T> = T"},
        {"name": "c.js", "kind": "js", "source": "export const c = 1 as any"},
    ]
    read = relay.read("import { a } from './a.ts'\nimport { c } from './c.js'\nreturn a + c as number", modules=modules)
    assert read["ok"], read["message"]
    bodies = {module["name"]: module["body"] for module in read["modules"]}
    # `b.ts` has only types, and nothing imports it any more.
    assert list(bodies) == ["a.ts", "c.js"]
    assert "const a            = 1" in bodies["a.ts"]


def test_names_the_module_that_is_no_typescript_either(relay: Relay) -> None:
    modules = [{"name": "a.ts", "kind": "js", "source": "export const a: number = 1\nexport const b: = 2"}]
    read = relay.read("import { a } from './a.ts'\nreturn a", modules=modules)
    assert (read["ok"], read["line"], read["column"]) == (False, 2, 17)
    assert "a.ts" in read["message"]
    assert 'Unexpected token "="' in read["message"]


# --- what runs --------------------------------------------------------------------------------------------------------

in_workers = pytest.mark.asyncio(loop_scope="module")


@in_workers
@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("enum A { B = 2, C }\nreturn [A.C, A[2], Object.keys(A)]", [3, "B", ["2", "3", "B", "C"]]),
        ("const enum A { B = 'x' }\nreturn A.B", "x"),
        ("namespace N { export const a = 1; export namespace M { export const b = a + 1 } }\nN.M.b", 2),
        (
            "class P { constructor(readonly a: number, private b = 2) {} sum = () => this.a + this.b }\nnew P(1).sum()",
            3,
        ),
        ("const xs = [3, 1]\ntype T = number[]\n;[1].forEach(x => xs.push(x))\nreturn xs", [3, 1, 1]),
        ("const f = <T,>(x: T): T => x\nf<string>('a')", "a"),
        ("new Map<string, number>([['a', 1]]).get('a')!", 1),
        ("export default async function main(): Promise<string> { return 'm' as const }", "m"),
        ("Sure:\n```typescript\ninterface A { b: number }\nconst a: A = { b: 1 }\na.b\n```\nDone.", 1),
        ("```tsx\nconst a: number = 1\na\n```", 1),
    ],
)
async def test_a_program_runs(executor: IsolateExecutor, text: str, result: object) -> None:
    outcome = await executor.execute(text)
    assert (outcome.error, outcome.result) == (None, result)


@in_workers
@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.parametrize(
    ("text", "stack"),
    [
        (
            "interface A {}\nfunction f(a: A): never {\n  throw new Error('x' as string)\n}\nf({} as A)",
            "    at f (line 3, column 9)\n    at line 5, column 1",
        ),
        (
            "enum E { A,\n  B }\nclass C {\n  constructor(private a: E) {}\n"
            "  f(): void {\n    throw new Error('x')\n  }\n}\nnew C(E.B).f()",
            "    at C.f (line 6, column 11)\n    at line 9, column 12",
        ),
    ],
)
async def test_a_stack_names_the_lines_that_were_sent(executor: IsolateExecutor, text: str, stack: str) -> None:
    outcome = await executor.execute(text)
    assert outcome.error == "x"
    assert outcome.detail.stack == stack


@in_workers
@pytest.mark.usefixtures("leaves_nothing")
async def test_a_program_that_is_no_typescript_either_gets_its_error(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("const a: number = 1\nconst b: = 2")
    assert outcome.error == 'SyntaxError: Unexpected token "=" (line 2, column 10)'


@in_workers
async def test_a_text_that_is_never_transpiled_ends_with_its_run() -> None:
    async with fresh(max_workers=1) as executor:
        assert (await executor.execute("1 as any")).result == 1
        before = executor.worker_pids
        outcome = await executor.execute(ENDLESS, limits=Limits(timeout_s=0.5))
        assert outcome.error == "Execution timed out"
        assert outcome.detail.bound == "timeout"
        assert (await executor.execute("2 as any")).result == 2
        assert set(before).isdisjoint(executor.worker_pids)
