"""Modules in the engine: what cannot be compared with upstream, because it has no such thing or says no such thing.

What both sides can do is in the corpus: ``side_by_side/corpus/modules.jsonl`` and ``platform_modules.jsonl``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from codemode_executor import ExecuteResult, IsolateExecutor, Limits, Module, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

Modules = Mapping[str, str | Module]


async def run(executor: IsolateExecutor, code: str, modules: Modules | None = None, **more: Any) -> ExecuteResult:
    return await executor.execute(code, modules=modules, **more)


async def result(executor: IsolateExecutor, code: str, modules: Modules | None = None, **more: Any) -> Any:
    outcome = await run(executor, code, modules, **more)
    assert outcome.error is None, (outcome.error, outcome.detail)
    return outcome.result


# --- static imports of the program ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import { x } from './lib.js';\nasync () => x", 5),
        ("import d from './lib.js'\nd()", "default"),
        ("import d, { x as y, 'a b' as z } from 'lib.js'; return [d(), y, z]", ["default", 5, "named"]),
        ("import * as lib from '/lib.js'\nObject.keys(lib)", ["a b", "bump", "count", "default", "x"]),
        ("import './lib.js'\nimport d from './lib.js'\nexport default async () => d()", "default"),
        ("'use strict'\nimport { x } from './lib.js'\nconst f = () => x\nexport default f", 5),
        ("async function main() { return x }\nimport { x } from './lib.js'", 5),
        ("import {\n  x,\n} from './lib.js' // c\n\n;(async () => x)()", 5),
        ("Sure:\n```js\nimport { x } from './lib.js'\nasync () => x\n```", 5),
        (
            "import { count, bump } from './lib.js'\nbump(); bump()\nreturn [count, { count }, `${count}`]",
            [2, {"count": 2}, "2"],
        ),
        ("import { count, bump } from './lib.js'\nreturn ((count) => { bump(); return count })(7)", 7),
        ("import { bump } from './lib.js'\nconst a = 1\nbump()\nreturn a", 1),
        (
            "import data from './data.json'\nimport more from './data.json' with { type: 'json' }\ndata === more",
            True,
        ),
        ("import { env } from 'cloudflare:workers'\nreturn Object.keys(env)", []),
        (
            "import { x } from './lib.js'\nreturn [typeof arguments, arguments.length, Object.keys(this)[1]]",
            ["object", 0, "env"],
        ),
    ],
)
async def test_a_program_imports_at_its_top(executor: IsolateExecutor, code: str, expected: object) -> None:
    modules = {
        "lib.js": "export let x = 5, count = 0; export const bump = () => { count += 1 };"
        " export default () => 'default'; const n = 'named'; export { n as 'a b' }",
        "data.json": '{"a": [1]}',
    }
    assert await result(executor, code, modules) == expected


async def test_an_import_hides_a_namespace_of_its_name(executor: IsolateExecutor) -> None:
    async def echo(value: object) -> object:
        return value

    billing = Provider("billing", {"echo": echo})
    code = "import billing from './billing.js'\nasync () => billing.own"
    assert await result(executor, code, {"billing.js": "export default { own: 1 }"}, providers=[billing]) == 1


async def test_modules_do_not_see_the_programs_namespaces(executor: IsolateExecutor) -> None:
    billing = Provider("billing", {"total": lambda: 7})
    modules = {"a.js": "export const seen = typeof billing; export const use = (b) => b.total()"}
    code = "import { seen, use } from './a.js'\nasync () => [seen, await use(billing)]"
    assert await result(executor, code, modules, providers=[billing]) == ["undefined", 7]


@pytest.mark.parametrize(
    ("code", "modules", "error"),
    [
        ("import x from 'zod'\nasync () => x", {}, 'No such module "zod".'),
        ("import x from 'node:fs'\nasync () => x", {}, 'No such module "node:fs".'),
        (
            "import './a.js'",
            {"a.js": "import './b/c.js'", "b/c.js": "import '../d.js'"},
            'No such module "d.js".\n  imported from "b/c.js"',
        ),
        (
            "import { nope } from './a.js'\nasync () => nope",
            {"a.js": ""},
            "The requested module './a.js' does not provide an export named 'nope'",
        ),
        (
            "import { x } from './a.js'\nasync () => { x = 1 }",
            {"a.js": "export let x"},
            "Assignment to constant variable.",
        ),
        ("import './a.js'\nreturn 1", {"a.js": "await null; throw new RangeError('late')"}, "late"),
        ("import './a.js'\nreturn 1", {"a.js": "throw 'text'"}, "text"),
    ],
)
async def test_what_cannot_be_imported_is_the_runs_error(
    executor: IsolateExecutor, code: str, modules: Modules, error: str
) -> None:
    assert (await run(executor, code, modules)).error == error


# --- names and kinds ------------------------------------------------------------------------------


async def test_kinds_of_modules(executor: IsolateExecutor) -> None:
    modules = {
        "a.txt": Module("text \u2028 ${x} \u00e9\U0001f600", "text"),
        "b": Module('{"__proto__": 1, "s": "\u2028"}', "json"),
        "c.bin": Module(b"\x00\xff", "data"),
        "d.cjs": Module("exports.value = [typeof this, require('./e.cjs'), __filename, arguments.length > 4]", "cjs"),
        "e.cjs": Module("undeclared = 1; module.exports = undeclared + 1", "cjs"),
    }
    code = """
        import text from './a.txt'; import json from 'b'; import data from './c.bin'; import d from './d.cjs'
        return [text, JSON.stringify(json), data instanceof ArrayBuffer, new Uint8Array(data), d.value]
    """
    found = await result(executor, code, modules)
    assert found[:3] == ["text \u2028 ${x} \u00e9\U0001f600", '{"__proto__":1,"s":"\u2028"}', True]
    assert bytes(found[3]) == b"\x00\xff"
    assert found[4] == ["object", 2, "/d.cjs", True]


@pytest.mark.parametrize(
    "name", ["a b.js", "\u00e9\U0001f600.js", "x\"y'z.js", "program.js", "node:own", "__proto__", "constructor", "a\\b"]
)
async def test_any_name_will_do(executor: IsolateExecutor, name: str) -> None:
    modules = {name: "export const x = new Error('here').stack\nexport const fail = () => { throw new Error('f') }"}
    code = f"const m = await import({json.dumps(name)}); return [typeof m.x, (await import({json.dumps(name)})) === m]"
    assert await result(executor, code, modules) == ["string", True]
    failed = await run(executor, f"const m = await import({json.dumps(name)}); (0, m.fail)()", modules)
    assert failed.detail.stack.split("\n")[0] == f"    at fail ({name}: line 2, column 35)"


# --- positions ------------------------------------------------------------------------------------


async def test_stacks_name_modules_and_their_own_lines(executor: IsolateExecutor) -> None:
    modules = {
        "lib/a.js": "import { n } from './b.js'\n\nexport function f() { return n.g() }",
        "lib/b.js": "export default () => {}; export let n = { g() { throw new Error('x') } };"
        " export const s = () => { n = 1 }",
    }
    outcome = await run(executor, "import { f } from './lib/a.js';\n\nconst g = async () => f()\ng()", modules)
    assert outcome.detail.stack.split("\n") == [
        "    at Object.g (lib/b.js: line 1, column 55)",
        "    at f (lib/a.js: line 3, column 32)",
        "    at g (line 3, column 23)",
        "    at line 4, column 1",
    ]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("n + n + null.x", 14),
        ("f(n); const a = { n }; null.x", 29),
        ("return [n, n, n, null.x]", 23),
        ("await f(n); import.meta; /* \U0001f600 */ null.x", 40),
        ("null.x, n", 6),
        ("(async () => { f`${n}`; null.x })", 30),
        ("export default async () => f(n, n, null.x)", 41),
    ],
)
async def test_columns_are_the_programs_where_imports_are_looked_up(
    executor: IsolateExecutor, line: str, column: int
) -> None:
    modules = {"a.js": "export let n = 1, f = () => {}; export const change = () => { f = n = 2 }"}
    for code, number in (
        (f"import {{ n, f }} from './a.js'; f();\n{line}", 2),
        (f"import {{ n, f }} from './a.js'\n\n{line}", 3),
    ):
        outcome = await run(executor, code, modules)
        where = f"line {number}, column {column}"
        assert outcome.detail.stack.split("\n")[0].removesuffix(")").endswith(where), outcome.detail


async def test_an_error_while_a_module_is_evaluated_has_its_place(executor: IsolateExecutor) -> None:
    outcome = await run(executor, "async () => import('./a.js')", {"a.js": "\n\n  null.x"})
    assert outcome.error == "Cannot read properties of null (reading 'x')"
    assert outcome.detail.stack.split("\n")[0] == "    at a.js: line 3, column 8"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("export const a = 1\nexport const = 2", 'SyntaxError: module a.js: Unexpected token "=" (line 2, column 14)'),
        ("export const a = {", 'the "{" of line 1, column 18 is not closed (line 1, column 19)'),
        ("a <!-- b", "HTML comments are not allowed"),
        ("export { nope }", "Export 'nope' is not defined (line 1, column 10)"),
        ("return 1", "'return' outside of function (line 1, column 1)"),
        ("\n})); evil(); ((() => {", 'Unexpected token "}" (line 2, column 1)'),
        ("(" * 20_000, "nests too deeply"),
        # an early error that only V8 knows
        ("/(?<a>x)(?<a>y)/", "module a.js: "),
    ],
)
async def test_a_module_that_does_not_parse_fails_the_run(executor: IsolateExecutor, source: str, error: str) -> None:
    outcome = await run(executor, "async () => (await import('./a.js')).default", {"a.js": source})
    assert outcome.error is not None
    assert "module a.js: " in outcome.error
    assert error in outcome.error


async def test_a_module_that_does_not_parse_fails_a_run_that_does_not_reach_it(executor: IsolateExecutor) -> None:
    unreachable = await run(executor, "async () => 1", {"bad.js": "const"})
    assert "module bad.js: " in (unreachable.error or "")


# --- nothing else is reachable --------------------------------------------------------------------


async def test_no_name_of_the_linker_is_in_reach(executor: IsolateExecutor) -> None:
    look = "[typeof __module__, typeof __start__, typeof __chunk__"
    look += ", Object.keys(globalThis).filter((key) => /__|\\u00ef/.test(key))]"
    modules = {"a.js": f"export const seen = {look}; export const top = [typeof this, typeof arguments]"}
    code = f"import {{ seen, top }} from './a.js'\nreturn [seen, top, {look}]"
    nothing = ["undefined", "undefined", "undefined", []]
    assert await result(executor, code, modules) == [nothing, ["undefined", "undefined"], nothing]


async def test_a_name_of_ours_in_a_text_is_another_one(executor: IsolateExecutor) -> None:
    # What the reader puts in is named so that the text does not have it.
    ours = "\u00efmport \u00eflinks \u00efdeflt \u00efstore".split()
    declared = f"const {', '.join(f'{name} = {index}' for index, name in enumerate(ours))}\n"
    modules = {
        "a.js": f"{declared}import {{ x }} from './b.js'\nexport default [{', '.join(ours)}, x]",
        "b.js": "export let x = 9",
    }
    code = f"{declared}import d from './a.js'\nreturn [{', '.join(ours)}, d, (await import('./b.js')).x]"
    assert await result(executor, code, modules) == [0, 1, 2, 3, [0, 1, 2, 3, 9], 9]


async def test_an_undeclared_name_of_ours_is_not_defined(executor: IsolateExecutor) -> None:
    modules = {
        "a.js": "export const x = 1; export default [typeof \u00eflinks, typeof \u00efmport, typeof \u00efmport1]"
    }
    assert await result(executor, "import d from './a.js'\nreturn d", modules) == ["undefined"] * 3


@pytest.mark.parametrize(
    "specifier",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "../../etc/passwd",
        "https://example.com/a.js",
        "data:text/javascript,1",
        "",
        "\0",
        "\ud800",
    ],
)
async def test_nothing_but_what_was_given_can_be_imported(executor: IsolateExecutor, specifier: str) -> None:
    outcome = await run(executor, f"async () => import({json.dumps(specifier)})", {"a.js": "export {}"})
    assert (outcome.error or "").startswith("No such module ")


async def test_a_module_that_is_not_reached_is_not_evaluated(executor: IsolateExecutor) -> None:
    modules = {"a.js": "globalThis.ran = ['a']", "b.js": "globalThis.ran = ['b']"}
    assert await result(executor, "import './a.js'\nreturn ran", modules) == ["a"]
    assert await result(executor, "const m = './b' + '.js'; await import(m); return ran", modules) == ["b"]


async def test_patched_builtins_hurt_only_their_own_run(executor: IsolateExecutor) -> None:
    hostile = """
        const seen = []
        for (const [owner, key] of [[Array.prototype, Symbol.iterator], [Array.prototype, 'push'],
            [Array.prototype, 'join'], [String.prototype, 'split'], [RegExp.prototype, 'exec'],
            [Promise.prototype, 'then'], [Object, 'keys'], [Function.prototype, 'call'], [Reflect, 'apply'],
            [Object.getPrototypeOf(function* () {}).prototype, 'next']]) {
            const native = owner[key]
            owner[key] = function (...given) {
                seen[seen.length] = this
                for (let i = 0; i < given.length; i++) seen[seen.length] = given[i]
                return Reflect.construct ? native.bind(this)(...given) : undefined
            }
        }
        Object.prototype.v = Object.prototype.run = 'polluted'
        export const all = seen
    """
    modules = {"evil.js": hostile, "b.js": "import './evil.js'; export const b = 1"}
    code = """
        import { b } from './b.js'
        let dynamic
        try { dynamic = (await import('./b.js')).b } catch (error) { dynamic = String(error) }
        const { all } = await import('./evil.js')
        const names = new Set()
        for (let i = 0; i < all.length; i++) {
            const value = all[i]
            if (value !== null && typeof value === 'object') for (const key in value) names.add(key)
        }
        return ['hostCall', 'primordials', 'findModule', 'exports', 'setTimer'].filter((name) => names.has(name))
    """
    outcome = await asyncio.wait_for(run(executor, code, modules), 30)
    # Whatever became of the run, it has not seen the realm.
    assert outcome.result == [] or outcome.error is not None


async def test_a_namespace_is_no_result_and_changes_nothing(executor: IsolateExecutor) -> None:
    modules = {"a.js": "export let x = 1"}
    outcome = await run(executor, "async () => ({ m: await import('./a.js') })", modules)
    assert "result.m" in (outcome.error or "")
    code = """
        const m = await import('./a.js'); const refused = []
        for (const attempt of [() => { m.x = 2 }, () => { delete m.x },
            () => Object.defineProperty(m, 'x', { value: 2 }),
            () => Object.defineProperty(m, 'y', { value: 2 }), () => Object.setPrototypeOf(m, {}),
            () => Object.assign(m, { x: 2 })]) {
            try { attempt() } catch (error) { refused.push(error.name) }
        }
        return [refused.length, m.x, Object.keys(m), Object.getPrototypeOf(m)]
    """
    assert await result(executor, code, modules) == [6, 1, ["x"], None]


# --- stores ---------------------------------------------------------------------------------------


async def test_a_store_lives_across_every_kind_of_waiting(executor: IsolateExecutor) -> None:
    code = """
        import { AsyncLocalStorage } from 'node:async_hooks'
        import { get } from './m.js'
        const store = new AsyncLocalStorage(), seen = async (list) => list.push(await null ?? store.getStore() ?? null)
        const f = async () => {
            const list = []
            await seen(list)
            outer: for await (const n of [1, 2]) { await n; list.push(store.getStore() ?? null); continue outer }
            list.push(store.getStore() ?? null)
            try { await Promise.reject(1) } catch { list.push(store.getStore() ?? null) }
            await new Promise((resolve) => setTimeout(resolve, 1))
            list.push(await get(store) ?? null, store.getStore() ?? null)
            return new Set(list).size === 1 ? list[0] : list
        }
        return Promise.all([store.run('a', f), store.run('b', f), f()])
    """
    modules = {"m.js": "export const get = async (store) => { await 0; await 0; return store.getStore() }"}
    assert await result(executor, code, modules) == ["a", "b", None]


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    ["for (;;);", "await new Promise(() => {})", "await null; for (;;);", "import './b.js'"],
)
async def test_a_module_that_never_ends_meets_the_deadline(executor: IsolateExecutor, source: str) -> None:
    modules = {"a.js": source, "b.js": "export {}; await import('./a.js')"}
    outcome = await run(executor, "import './a.js'\nreturn 1", modules, limits=Limits(timeout_s=0.5, memory_mb=64))
    assert outcome.error == "Execution timed out"


async def test_a_module_that_allocates_without_end_ends_the_run(executor: IsolateExecutor) -> None:
    modules = {"a.js": "const a = []; for (;;) a.push(new Array(1000).fill(1))"}
    outcome = await run(executor, "async () => import('./a.js')", modules)
    assert "memory limit exceeded" in (outcome.error or "")


async def test_many_modules_in_a_ring(executor: IsolateExecutor) -> None:
    count = 200
    modules = {
        f"m{n}.js": f"import {{ f as next }} from './m{(n + 1) % count}.js';"
        f" export function f(k) {{ return k ? next(k - 1) : {n} }}"
        for n in range(count)
    }
    assert await result(executor, f"import {{ f }} from './m0.js'\nreturn f({count + 3})", modules) == 3


async def test_the_same_module_in_two_runs_is_two_modules(executor: IsolateExecutor) -> None:
    modules = {"a.js": "export let n = 0; export const bump = () => ++n"}
    code = "import { bump } from './a.js'\nbump(); return bump()"
    assert [await result(executor, code, modules) for _ in range(3)] == [2, 2, 2]


async def test_another_source_under_the_same_name_is_another_module(executor: IsolateExecutor) -> None:
    code = "import { x } from './a.js'\nreturn x"
    assert [await result(executor, code, {"a.js": f"export const x = {n}"}) for n in (1, 2, 1)] == [1, 2, 1]
