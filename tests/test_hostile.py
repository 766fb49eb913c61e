"""Programs that do not want to end, and programs that change the realm under the harness.

Every one costs its own run and nothing else: the fixture proves the next run and an empty house.
"""

from __future__ import annotations

import time

import pytest

from codemode_executor import IsolateExecutor, Limits, LogLine, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

SHORT = Limits(timeout_s=0.4)
GUARD_S = 10.0
"""Far above timeout, grace and the noise of a busy machine; a program that is not ended exceeds it."""


ENDLESS = {
    "loop": "for (;;);",
    "loop in finally": "try { await t.tick() } finally { for (;;); }",
    "microtasks": "while (true) await 0",
    "promise jobs": "const next = () => Promise.resolve().then(next); next(); await new Promise(() => {})",
    "nothing": "await new Promise(() => {})",
    "timers": "await new Promise(() => setInterval(() => {}, 0))",
    "nested timers": "const f = () => setTimeout(f); f(); await new Promise(() => {})",
    "loop in a timer": "setTimeout(() => { for (;;); }, 0); await new Promise(() => {})",
    "loop in a getter of the result": "return {get a() { for (;;); }}",
    "loop in toString of a log": "console.log({toString() { for (;;); }})",
    "loop in toJSON of an argument": "await t.tick({toJSON() { for (;;); }})",
    "loop in a proxy of the result": "return new Proxy({}, {ownKeys() { for (;;); }})",
    "endless then": "return {then(done) { done(this) }}",
    "then that never answers": "return {then() {}}",
    "sparse sort": "const a = []; a[4294967293] = 1; a.sort()",
    "fill": "new Array(2 ** 32 - 1).fill(0)",
    "huge replace": "'a'.repeat(1 << 28).replace(/a/g, 'b')",
    "Atomics.wait": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    "Atomics.waitAsync": "await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0).value",
    "regular expression": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    "bigint": "let n = 3n; for (;;) n = n ** 3n",
    "generator": "for (const _ of (function* () { for (;;) yield 1 })());",
    "catches everything": "for (;;) { try { for (;;); } catch {} }",
    "recursion": "const f = () => { try { f() } finally { f() } }; f()",
}
MAY_RUN_OUT_OF_MEMORY = {"fill", "huge replace", "sparse sort", "bigint", "endless then", "recursion", "promise jobs"}


@pytest.mark.parametrize("when", ["at once", "after an await"])
@pytest.mark.parametrize("body", ENDLESS)
async def test_endless_programs_are_ended(executor: IsolateExecutor, body: str, when: str) -> None:
    async def tick(*_: object) -> None: ...

    seen: list[LogLine] = []
    first = "await t.tick(); " if when == "after an await" else ""
    started = time.monotonic()
    outcome = await executor.execute(
        f"async () => {{ console.log('begun'); {first}{ENDLESS[body]} }}",
        providers=[Provider("t", {"tick": tick})],
        limits=SHORT,
        on_log=seen.append,
    )
    assert time.monotonic() - started < GUARD_S
    assert outcome.logs[:1] == ["begun"]
    assert [str(line) for line in seen] == outcome.logs
    assert outcome.result is None
    if body in MAY_RUN_OUT_OF_MEMORY and outcome.detail.bound != "timeout":
        assert outcome.detail.bound == "memory" or outcome.detail.name == "RangeError"
    else:
        assert (outcome.error, outcome.detail.bound) == ("Execution timed out", "timeout")


async def test_a_text_that_is_slow_to_parse_is_ended(executor: IsolateExecutor) -> None:
    """Parsing is quadratic on many declarations of one scope."""
    names = " ".join(f"let a{n};" for n in range(60_000))
    started = time.monotonic()
    outcome = await executor.execute(f"async () => {{ {names} }}", limits=SHORT)
    assert time.monotonic() - started < GUARD_S
    assert outcome.error is None or outcome.detail.bound == "timeout"


@pytest.mark.parametrize("first", ["", "await t.tick(); "])
async def test_a_log_line_is_seen_before_the_loop_is_ended(executor: IsolateExecutor, first: str) -> None:
    async def tick() -> None: ...

    seen: list[float] = []
    started = time.monotonic()
    outcome = await executor.execute(
        f"async () => {{ {first}console.log('I am here'); for (;;); }}",
        providers=[Provider("t", {"tick": tick})],
        limits=Limits(timeout_s=1),
        on_log=lambda line: seen.append(time.monotonic()),
    )
    assert outcome.error == "Execution timed out"
    assert outcome.logs == ["I am here"]
    assert seen[0] - started < 1


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("console.log('a'); console.log('b'); console.log('c')", id="several at once"),
        pytest.param("console.log('a'); console.log('b'.repeat(20_000))", id="a long one"),
        pytest.param("console.log('b'.repeat(100_000))", id="only a very long one"),
        pytest.param("for (let n = 0; n < 3000; n++) console.log('line ' + n)", id="many"),
    ],
)
async def test_no_log_line_before_a_loop_is_lost_in_silence(executor: IsolateExecutor, lines: str) -> None:
    """All of them are in the envelope, or it says that some are not."""
    whole = (await executor.execute(f"async () => {{ {lines} }}")).logs
    outcome = await executor.execute(f"async () => {{ {lines}; for (;;); }}", limits=SHORT)
    assert outcome.error == "Execution timed out"
    said = [line for line in outcome.logs if line.startswith("[notice]")]
    assert outcome.logs == whole or said, f"{len(outcome.logs)} of {len(whole)} lines, no notice"


HOSTILE_THROWS = {
    "looping message": "{get message() { for (;;); }}",
    "looping name": "{get name() { for (;;); }}",
    "looping stack": "{message: 'x', get stack() { for (;;); }}",
    "looping toString": "{toString() { for (;;); }}",
}


@pytest.mark.parametrize("thrown", HOSTILE_THROWS)
async def test_thrown_values_that_loop_when_they_are_read(executor: IsolateExecutor, thrown: str) -> None:
    outcome = await executor.execute(
        f"async () => {{ console.log('here'); throw ({HOSTILE_THROWS[thrown]}) }}", limits=SHORT
    )
    assert outcome.logs == ["here"]
    assert outcome.result is None
    assert outcome.error
    assert outcome.detail.bound in ("timeout", None)


async def test_stack_that_the_program_forges(executor: IsolateExecutor) -> None:
    code = """async () => {
        Error.prepareStackTrace = () => ({toString() { for (;;); }})
        const error = new Error('forged')
        Object.defineProperty(error, 'stack', {value: 'x'.repeat(1 << 20) + '\\n    at program.js:1:999'})
        throw error
    }"""
    outcome = await executor.execute(code, limits=SHORT)
    assert outcome.error == "forged"
    assert len(outcome.detail.stack) < 10_000


# --- replaced primordials -------------------------------------------------------------------------

EVIL = "() => { console.log('taken'); throw new Error('replaced') }"

REPLACEMENTS = {
    "Promise": f"globalThis.Promise = {EVIL}",
    "Promise.resolve": f"Promise.resolve = Promise.prototype.then = Promise.all = {EVIL}",
    "Promise.prototype.constructor": "Object.defineProperty(Promise.prototype, 'constructor', "
    "{get() { return class { constructor(f) { f(() => {}, () => {}) } } }})",
    "Promise[Symbol.species]": f"Object.defineProperty(Promise, Symbol.species, {{get: {EVIL}}})",
    "JSON": f"globalThis.JSON = undefined; globalThis.Reflect = undefined; globalThis.String = {EVIL}",
    "JSON.stringify": f"JSON.stringify = JSON.parse = {EVIL}",
    "Array.prototype.push": f"Array.prototype.push = Array.prototype.map = Array.prototype.join = {EVIL}",
    "Array iterator": f"Array.prototype[Symbol.iterator] = {EVIL}",
    "Array iterator next": f"Object.getPrototypeOf([][Symbol.iterator]()).next = {EVIL}",
    "Function.prototype.call": f"Function.prototype.call = Function.prototype.apply = Function.prototype.bind = {EVIL}",
    "Symbol.hasInstance": "Object.defineProperty(Promise, Symbol.hasInstance, {value: () => true}); "
    "globalThis.Symbol = undefined",
    "Map.prototype": f"Map.prototype.get = Map.prototype.set = Map.prototype.delete = {EVIL}",
    "String.prototype": f"for (const key of ['slice', 'charCodeAt', 'includes', 'toWellFormed', "
    f"'replace']) String.prototype[key] = {EVIL}",
    "RegExp.prototype.exec": f"RegExp.prototype.exec = RegExp.prototype.test = {EVIL}",
    "Object statics": f"for (const key of ['keys', 'defineProperty', 'getPrototypeOf', 'is', "
    f"'getOwnPropertyDescriptor', 'create']) Object[key] = {EVIL}",
    "getters on Object.prototype": "for (const key of ['get', 'set', 'kind', 'text', 'next', "
    "'value', 'writable', 'enumerable', 'configurable', 'has', 'apply']) "
    f"Object.defineProperty(Object.prototype, key, {{__proto__: null, get: {EVIL}, set: {EVIL}}})",
    "setters of Object.prototype": "for (const key of ['id', 'message', 'provider', 'tool', 'args', "
    "'resolve', 'reject', 'name', 'env', 'ctx', 't', '0', '1']) "
    "Object.defineProperty(Object.prototype, key, {__proto__: null, "
    "set(value) { globalThis.stolen = 1 }, configurable: true})",
    "numeric setters": "for (const key of [0, 1, 2]) Object.defineProperty(Array.prototype, key, "
    "{__proto__: null, set(value) { globalThis.stolen = 1 }, get() { return 'forged' }})",
    "Date.now": f"Date.now = {EVIL}; Math.max = {EVIL}; Number.isFinite = {EVIL}",
    "typed arrays": f"const T = Object.getPrototypeOf(Uint8Array); T.from = {EVIL}; "
    f"Object.defineProperty(T, Symbol.species, {{get: {EVIL}}}); Uint8Array.fromBase64 = {EVIL}; "
    f"Uint8Array.prototype.toBase64 = {EVIL}; globalThis.Uint8Array = undefined",
    "ArrayBuffer": f"ArrayBuffer.isView = {EVIL}; ArrayBuffer.prototype.slice = {EVIL}",
    "console and timers": "globalThis.setTimeout = undefined; globalThis.WebAssembly = undefined",
    "Proxy and Error": f"globalThis.Proxy = {EVIL}; globalThis.Error = {EVIL}",
    "frozen realm": "Object.freeze(globalThis); Object.freeze(Object.prototype); Object.freeze(Array.prototype)",
}


@pytest.mark.parametrize("what", REPLACEMENTS)
async def test_replaced_primordials_do_not_reach_the_harness(executor: IsolateExecutor, what: str) -> None:
    """Calls, bytes, failures, logs and the answer work as if nothing had happened."""
    seen: list[object] = []

    async def echo(*args: object) -> object:
        seen.append(args)
        return {"got": list(args), "bytes": b"\x01\x02"}

    async def fail() -> None:
        raise ValueError("from the host")

    code = f"""async () => {{
        const bytes = new Uint8Array([1, 2])
        {REPLACEMENTS[what]}
        const first = await t.echo('a', {{n: 1}}, bytes)
        let caught
        try {{ await t.fail() }} catch (error) {{ caught = error.message }}
        console.log('after')
        return {{first: first.got[1], bytes: first.bytes.length, caught, stolen: globalThis.stolen}}
    }}"""
    outcome = await executor.execute(
        code, providers=[Provider("t", {"echo": echo, "fail": fail})], limits=Limits(timeout_s=2)
    )
    assert outcome.error is None
    assert outcome.result == {"first": {"n": 1}, "bytes": 2, "caught": "from the host", "stolen": None}
    assert seen == [("a", {"n": 1}, b"\x01\x02")]
    assert outcome.logs == ["after"]


async def test_setters_on_the_prototype_see_no_function_of_the_harness(
    executor: IsolateExecutor,
) -> None:
    """A guest that gets hold of the channel could speak for the harness."""
    code = """async () => {
        const loot = []
        const take = (value) => { if (typeof value === 'function') loot.push(value) }
        const spy = (target, key) => {
            try {
                Object.defineProperty(target, key, {
                    __proto__: null, configurable: true, get() { take(this); return undefined },
                    set(value) { take(value); take(this) },
                })
            } catch {}
        }
        for (const key of ['post', 'port', 'resolve', 'reject', 'callback', 'then', 'value', 'get',
            'text', 'next', 'log', '0', '1', '2', 'start', 'provider', 'done', 'return', 'kind'])
            spy(Object.prototype, key)
        for (const key of ['0', '1', '2', '3']) spy(Array.prototype, key)
        console.log('line'); setTimeout(() => {}, 0)
        await t.echo(1)
        try { await t.echo(1n) } catch {}
        for (let n = 0; n < 2000; n++) console.log('x'.repeat(100))
        return loot.length
    }"""

    async def echo(*args: object) -> object:
        return {"a": args}

    outcome = await executor.execute(code, providers=[Provider("t", {"echo": echo})])
    assert (outcome.result, outcome.error) == (0, None)


async def test_array_to_json_changes_only_the_programs_own_values(
    executor: IsolateExecutor,
) -> None:
    seen: list[object] = []

    async def echo(*args: object) -> object:
        seen.append(args)
        return list(args)

    code = """async () => {
        Array.prototype.toJSON = function () { return 'forged' }
        let called
        try { called = await t.echo([1], 2) } catch (error) { called = error.message }
        return {called, list: [1, 2]}
    }"""
    outcome = await executor.execute(code, providers=[Provider("t", {"echo": echo})])
    assert outcome.error is None
    assert outcome.result["list"] == [1, 2]
    called = outcome.result["called"]
    # What a program does to its own arrays is its own business; the list of arguments is ours.
    assert seen == [("forged", 2)]
    assert called == ["forged", 2]


async def test_object_prototype_then_cannot_take_the_answer(executor: IsolateExecutor) -> None:
    code = """async () => {
        let seen = 0
        Object.defineProperty(Object.prototype, 'then', {
            __proto__: null, configurable: true, get() { seen += 1; return undefined },
        })
        const got = await t.echo({a: 1})
        return {got, seen: seen > 0}
    }"""

    async def echo(value: object) -> object:
        return value

    outcome = await executor.execute(code, providers=[Provider("t", {"echo": echo})])
    assert outcome.error is None
    assert outcome.result["got"] == {"a": 1}


async def test_a_program_cannot_answer_twice(executor: IsolateExecutor) -> None:
    code = """async () => {
        let n = 0
        return {then(resolve, reject) { resolve('first'); resolve('second'); reject('third'); throw 1 }}
    }"""
    assert (await executor.execute(code)).result == "first"


async def test_deep_recursion_is_the_programs_own_error(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => { const f = () => f() + 1; return f() }")
    assert outcome.error == "Maximum call stack size exceeded"
    assert outcome.detail.name == "RangeError"
    code = "async () => { let a = []; for (let n = 0; n < 1e5; n++) a = [a]; return a }"
    assert (await executor.execute(code)).error
    code = """async () => {
        let a = []; for (let n = 0; n < 1e5; n++) a = [a]
        return await t.echo(a).catch((error) => error.name)
    }"""

    async def echo(value: object) -> object:
        return value

    outcome = await executor.execute(code, providers=[Provider("t", {"echo": echo})])
    assert outcome.result == "RangeError"


@pytest.mark.parametrize(
    ("call", "every"),
    [
        ("console.log(1)", 7),
        ("t.echo(1)", 7),
        ("setTimeout(() => {}, 0)", 7),
        ("t.echo({toJSON() { const g = () => g(); g() }})", 401),  # it goes down again each time
    ],
)
async def test_harness_at_the_end_of_the_stack(executor: IsolateExecutor, call: str, every: int) -> None:
    """Every entry of the harness is tried at many depths near the end of the stack."""
    code = f"""async () => {{
        let deepest = 0
        const f = () => {{
            deepest += 1
            try {{ f() }} catch {{ }}
            if (deepest-- % {every} === 0) {{ try {{ {call} }} catch {{ }} }}
        }}
        try {{ f() }} catch {{ }}
        await 0
        return await t.echo('well')
    }}"""

    async def echo(value: object) -> object:
        return value

    limits = Limits(timeout_s=5)
    outcome = await executor.execute(code, providers=[Provider("t", {"echo": echo})], limits=limits)
    assert outcome.error is not None or outcome.result == "well"
    assert outcome.detail.bound in (None, "memory")


async def test_what_brings_v8_down_for_want_of_memory_is_that_outcome(executor: IsolateExecutor) -> None:
    """V8 says so first, and then shows a stack that is longer than what is kept of it."""
    outcome = await executor.execute("async () => new RegExp('(?='.repeat(6e4) + ')'.repeat(6e4)).test('a')")
    assert outcome.detail.bound == "memory", outcome.error
