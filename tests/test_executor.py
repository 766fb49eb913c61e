"""One program, one envelope: what comes back, and what every program finds."""

from __future__ import annotations

import math
import re

import pytest

from codemode_executor import (
    BadRequest,
    ExecuteResult,
    IsolateExecutor,
    Limits,
    LogLine,
    Provider,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]


def failed(outcome: ExecuteResult) -> str:
    """The error of a run that failed."""
    assert outcome.result is None
    assert outcome.error
    return outcome.error


# --- the envelope ---------------------------------------------------------------------------------


async def test_envelope_of_a_success(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => { console.log('a', 1); console.warn('b'); console.error('c'); return {x: [1]} }"
    )
    assert outcome.result == {"x": [1]}
    assert outcome.error is None
    assert outcome.logs == ["a 1", "[warn] b", "[error] c"]
    assert (outcome.detail.name, outcome.detail.stack, outcome.detail.hint) == ("", "", "")
    assert outcome.detail.bound is None


async def test_envelope_of_a_failure(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => { console.log('before'); throw new RangeError('too far') }")
    assert failed(outcome) == "too far"
    assert outcome.logs == ["before"]
    assert outcome.detail.name == "RangeError"
    assert outcome.detail.bound is None


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("async () => null", None),
        ("async () => true", True),
        ("async () => -1.5", -1.5),
        ("async () => 9007199254740991", 9007199254740991),
        ("async () => 'gr\\u00fc\\u00df \\ud83d\\ude00'", "grüß 😀"),
        ("async () => 'a\\u0000\\n\\u2028\"\\\\'", 'a\0\n\u2028"\\'),
        ("async () => '\\ud800'", "\ud800"),
        ("async () => []", []),
        ("async () => [1, [2, {a: null}]]", [1, [2, {"a": None}]]),
        ("async () => [undefined, 1]", [None, 1]),
        ("async () => ({a: undefined, b: 1})", {"a": None, "b": 1}),
        ("async () => Object.assign(Object.create(null), {a: 1})", {"a": 1}),
        ("async () => ({__proto__: null, ['__proto__']: 1, constructor: 2})",
         {"__proto__": 1, "constructor": 2}),
        ("const a = 20; const b = 22; a + b", 42),
        ("return 42", 42),
        ("async () => { 'use strict'; return await Promise.all([1, Promise.resolve(2)]) }", [1, 2]),
    ],
)  # fmt: skip
async def test_result(executor: IsolateExecutor, code: str, result: object) -> None:
    outcome = await executor.execute(code)
    assert outcome.error is None
    assert outcome.result == result


async def test_result_minus_zero(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => -0")
    assert outcome.error is None
    assert isinstance(outcome.result, float)
    assert math.copysign(1, outcome.result) == -1


async def test_nothing_returned_has_a_hint(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => { 1 + 1 }")
    assert (outcome.result, outcome.error) == (None, None)
    assert "return" in outcome.detail.hint


@pytest.mark.parametrize(
    ("code", "path", "what"),
    [
        ("async () => [Promise.resolve(1)]", "result[0]", "Promise"),
        ("async () => ({rows: [{p: new Promise(() => {})}]})", "result.rows[0].p", "Promise"),
        ("async () => ({'a b': () => 1})", 'result["a b"]', "function"),
        ("async () => () => 1", "result", "function"),
        ("async () => Symbol('s')", "result", "symbol"),
        ("class Money {}; return {m: new Money()}", "result.m", "instance of Money"),
    ],
)
async def test_result_that_cannot_cross_names_its_path(
    executor: IsolateExecutor, code: str, path: str, what: str
) -> None:
    message = failed(await executor.execute(code))
    assert path in message
    assert what in message


@pytest.mark.parametrize(
    ("thrown", "error"),
    [
        ("'plain text'", "plain text"),
        ("''", None),
        ("null", "null"),
        ("undefined", "undefined"),
        ("42", "42"),
        ("10n", "10"),
        ("Symbol('s')", "Symbol(s)"),
        ("new Error('')", "Error"),
        ("new TypeError()", "TypeError"),
        ("{}", None),
        ("[]", None),
        ("{code: 'E_NO'}", '{"code":"E_NO"}'),
        ("{message: ''}", None),
        ("{message: {deep: 1}}", '{"deep":1}'),
        ("Object.create(null)", None),
        ("() => 1", None),
        ("{get message() { throw 1 }, toString() { throw 2 }, toJSON() { throw 3 }}", None),
        ("new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 }})",
         None),
        ("Object.assign(new Error('x'), {message: '\\ud800'})", "\ufffd"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("when", ["", "await 0; "])
async def test_error_is_never_empty(executor: IsolateExecutor, thrown: str, error: str | None, when: str) -> None:
    outcome = await executor.execute(f"async () => {{ {when}throw ({thrown}) }}")
    message = failed(outcome)
    assert message.strip()
    if error is not None:
        assert message == error


# --- the text -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["", "async () => {", "}); globalThis.x = 1; ({", "let let = 1"])
async def test_text_that_is_no_program(executor: IsolateExecutor, code: str) -> None:
    outcome = await executor.execute(code)
    if code == "":
        assert (outcome.result, outcome.error) == (None, None)
    else:
        assert failed(outcome).startswith("SyntaxError: ")
        assert outcome.detail.name == "SyntaxError"


async def test_lone_surrogates_in_the_text(executor: IsolateExecutor) -> None:
    """A Python string may hold them; a program of a model may too. It must cost nobody a worker."""
    outcome = await executor.execute("async () => 'a\ud800b'.length")
    assert (outcome.result, outcome.error) == (3, None)


@pytest.mark.parametrize("code", [None, 1, b"1"])
async def test_code_must_be_a_string(executor: IsolateExecutor, code: object) -> None:
    with pytest.raises(BadRequest, match="code must be a string"):
        await executor.execute(code)  # pyright: ignore[reportArgumentType]


async def test_stack_is_in_the_programs_own_lines_and_columns(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => { throw new Error('x') }")
    assert outcome.detail.stack.splitlines()[-1].endswith("line 1, column 21")

    outcome = await executor.execute("const f = (x) => {\n  return x.a.b\n}\nconst g = () =>\n    f({})\ng()\n")
    lines = [re.sub(r".*\((.*)\)|    at (.*)", r"\1\2", at) for at in outcome.detail.stack.split("\n")]
    assert lines == ["line 2, column 14", "line 5, column 5", "line 6, column 1"]
    assert "f (" in outcome.detail.stack


async def test_stack_does_not_count_what_was_inserted(executor: IsolateExecutor) -> None:
    """The last expression gets `return (` before it; its columns stay the program's."""
    for code, place in [
        ("null.x", "line 1, column 6"),
        ("let a = 1; null.x", "line 1, column 17"),
        ("let a = 1\n  null.x", "line 2, column 8"),
    ]:
        outcome = await executor.execute(code)
        assert outcome.detail.name == "TypeError", code
        assert outcome.detail.stack.splitlines()[0].endswith(place), (code, outcome.detail.stack)


async def test_stack_names_no_frame_of_the_harness(executor: IsolateExecutor) -> None:
    code = "async () => { const s = new Error('x').stack; throw new Error(s) }"
    outcome = await executor.execute(code)
    assert "program.js" in failed(outcome)
    assert "__start__" not in failed(outcome)
    assert all("line 1, " in line for line in outcome.detail.stack.splitlines())


# --- what a program finds -------------------------------------------------------------------------


async def test_this_holds_env_and_ctx(executor: IsolateExecutor) -> None:
    env = {"team": "acme", "nested": {"n": [1, None, True]}, "key": b"\x00\xff"}
    code = """async () => {
        const { team, nested, key } = this.env
        return [Object.keys(this), team, nested, key instanceof Uint8Array && [...key], this.ctx]
    }"""
    outcome = await executor.execute(code, env=env)
    assert outcome.error is None
    assert outcome.result == [["ctx", "env"], "acme", env["nested"], [0, 255], {}]


async def test_env_defaults_to_an_empty_object(executor: IsolateExecutor) -> None:
    assert (await executor.execute("async () => this.env")).result == {}


async def test_env_that_cannot_be_encoded(executor: IsolateExecutor) -> None:
    with pytest.raises(BadRequest, match=r"env cannot be encoded: result\.a"):
        await executor.execute("1", env={"a": object()})


async def test_nothing_of_a_run_reaches_the_next(executor: IsolateExecutor) -> None:
    leak = """async () => {
        globalThis.leak = 1
        Object.prototype.leak = 1
        Array.prototype.push = undefined
        setInterval(() => console.log('still here'), 1)
        return typeof leak
    }"""
    assert (await executor.execute(leak)).result == "number"
    look = """async () => {
        await new Promise((done) => setTimeout(done, 30))
        return [typeof leak, typeof ({}).leak, typeof [].push, 'leak' in globalThis]
    }"""
    outcome = await executor.execute(look)
    assert outcome.result == ["undefined", "undefined", "function", False]
    assert outcome.logs == []


@pytest.mark.parametrize("name", ["__start__", "codemode", "post", "port", "harness", "require"])
async def test_no_such_name(executor: IsolateExecutor, name: str) -> None:
    code = f"async () => [typeof {name}, '{name}' in globalThis]"
    assert (await executor.execute(code)).result == ["undefined", False]


async def test_the_wrapper_gives_nothing_away(executor: IsolateExecutor) -> None:
    code = """async () => {
        const refused = (f) => { try { return f() } catch (error) { return error.name } }
        return [arguments.length, refused(() => arguments.callee), refused(() => eval('1')),
                refused(() => new Function('1')), (function () { return typeof this })()]
    }"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"a": lambda: 1})])
    assert outcome.result == [0, "TypeError", "EvalError", "EvalError", "undefined"]


# --- logs and timers ------------------------------------------------------------------------------


async def test_log_levels_and_odd_values(executor: IsolateExecutor) -> None:
    seen: list[LogLine] = []
    code = """async () => {
        for (const level of ['log', 'warn', 'error', 'info', 'debug']) console[level](level)
        console.log(null, undefined, 1n, Symbol('s'), [1, [2]], {})
        console.log(Object.create(null), {toString() { throw 1 }})
        console.log()
        console.assert(true, 'no'); console.assert(false, 'yes'); console.time('t')
    }"""
    outcome = await executor.execute(code, on_log=seen.append)
    assert outcome.error is None
    assert [line.level for line in seen[:5]] == ["log", "warn", "error", "info", "debug"]
    assert [str(line) for line in seen] == outcome.logs
    odd = "[value that cannot be printed]"
    assert outcome.logs[5:] == [
        "null undefined 1 Symbol(s) 1,2 [object Object]",
        f"{odd} {odd}",
        "",
        "[assert] Assertion failed yes",
    ]


async def test_on_log_that_raises_does_not_end_the_run(
    executor: IsolateExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    def on_log(line: LogLine) -> None:
        raise RuntimeError("the host's own")

    outcome = await executor.execute("async () => { console.log('a'); return 1 }", on_log=on_log)
    assert (outcome.result, outcome.logs) == (1, ["a"])
    assert "on_log raised" in caplog.text


async def test_timers_fire_in_order_and_can_be_cancelled(executor: IsolateExecutor) -> None:
    code = """async () => {
        const seen = []
        const say = (...words) => seen.push(words.join(' '))
        setTimeout(say, 40, 'forty', 'ms')
        setTimeout(say, 20, 'twenty')
        setTimeout(say, 0, 'first')
        setTimeout(say, 0, 'second')
        clearTimeout(setTimeout(say, 10, 'never'))
        clearTimeout(undefined); clearTimeout(12345)
        let ticks = 0
        const interval = setInterval(() => { if (++ticks === 3) clearInterval(interval) }, 2)
        await new Promise((done) => setTimeout(done, 70))
        return [seen, ticks]
    }"""
    outcome = await executor.execute(code)
    assert outcome.result == [["first", "second", "twenty", "forty ms"], 3]


async def test_timers_count_from_the_call(executor: IsolateExecutor) -> None:
    """The program computes for longer than the first delay; the earlier due time comes first."""
    code = """async () => {
        const seen = []
        setTimeout(() => seen.push('due at 10'), 10)
        for (const start = Date.now(); Date.now() - start < 40;);
        setTimeout(() => seen.push('due at 45'), 5)
        await new Promise((done) => setTimeout(done, 40))
        return seen
    }"""
    assert (await executor.execute(code)).result == ["due at 10", "due at 45"]


async def test_a_timer_that_throws_is_reported(executor: IsolateExecutor) -> None:
    code = """async () => {
        setTimeout(() => { throw new Error('lost') }, 0)
        await new Promise((done) => setTimeout(done, 5))
        return 1
    }"""
    outcome = await executor.execute(code)
    assert outcome.result == 1
    assert any("lost" in line for line in outcome.logs)


async def test_usage_is_plausible(executor: IsolateExecutor) -> None:
    async def echo(text: str) -> str:
        return text

    code = "async () => (await codemode.echo('x'.repeat(1000))) + 'y'.repeat(500)"
    outcome = await executor.execute(code, providers=[Provider("codemode", {"echo": echo})])
    usage = outcome.usage
    assert usage.tool_calls == 1
    assert usage.bytes_out == len('["' + "x" * 1000 + '"]') + 1502
    assert usage.bytes_in == len(code) + 1002
    assert 0 <= usage.queue_s < 10
    assert 0 < usage.tool_s <= usage.wall_s < 10
    assert 0 < usage.cpu_s < 10


async def test_usage_measures_bytes_not_characters(executor: IsolateExecutor) -> None:
    code = "async () => '" + "ü" * 1000 + "'.length"
    assert (await executor.execute(code)).usage.bytes_in == len(code.encode())


async def test_usage_of_memory_and_processor(executor: IsolateExecutor) -> None:
    code = """async () => {
        const kept = new Uint8Array(24 << 20).fill(1)
        for (const start = Date.now(); Date.now() - start < 150;);
        return kept.length
    }"""
    usage = (await executor.execute(code)).usage
    assert usage.memory_peak >= 20 << 20
    assert usage.cpu_s >= 0.05
    assert usage.wall_s >= 0.1


# --- arguments of the executor --------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, -1, 10_001, True, 1.0])
async def test_max_workers_must_be_a_whole_number(workers: object) -> None:
    with pytest.raises(BadRequest, match="max_workers"):
        IsolateExecutor(max_workers=workers)  # pyright: ignore[reportArgumentType]


async def test_hardening_must_be_one_of_three() -> None:
    with pytest.raises(BadRequest, match="hardening"):
        IsolateExecutor(hardening="maybe")  # pyright: ignore[reportArgumentType]


async def test_a_run_cannot_widen_a_bound(executor: IsolateExecutor) -> None:
    wide = Limits(memory_mb=4096, timeout_s=3600)
    outcome = await executor.execute("async () => 1", limits=wide)
    assert outcome.result == 1


async def test_the_receipt_says_what_is_left_of_each_bound(executor: IsolateExecutor) -> None:
    limits = Limits(timeout_s=10, tool_calls=4, log_lines=10, log_bytes=100, result_bytes=100)

    async def one() -> int:
        return 1

    code = "async () => { console.log('x'.repeat(25)); await t.one(); return 'y'.repeat(48) }"
    usage = (await executor.execute(code, providers=[Provider("t", {"one": one})], limits=limits)).usage
    left = usage.headroom
    assert set(left) == {"timeout_s", "memory_mb", "tool_calls", "log_bytes", "log_lines", "result_bytes"}
    assert (left["tool_calls"], left["log_bytes"], left["log_lines"]) == (0.75, 0.75, 0.9)
    assert left["result_bytes"] == 0.5
    assert 0.5 < left["timeout_s"] <= 1.0
    ended = await executor.execute("for (;;);", limits=Limits(timeout_s=0.2))
    assert ended.usage.headroom["timeout_s"] == 0.0
