"""``DynamicWorkerExecutor``: arguments, names, options, envelopes."""

from __future__ import annotations

import asyncio
import contextvars
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

import pytest
import pytest_asyncio

from codemode_compat import (
    ConnectorBinding,
    DynamicWorkerExecutor,
    ExecuteOptions,
    ExecuteResult,
    ResolvedProvider,
    ToolDescriptor,
)
from codemode_executor import BadRequest, IsolateExecutor, Limits, Module
from compat.functions import Functions

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[IsolateExecutor]:
    async with IsolateExecutor(limits=Limits(memory_mb=64, log_lines=100), min_workers=1) as instance:
        yield instance


Make = Callable[..., DynamicWorkerExecutor]


@pytest.fixture
def make(engine: IsolateExecutor) -> Make:
    def with_engine(**options: Any) -> DynamicWorkerExecutor:
        return DynamicWorkerExecutor(**{"timeout": 20_000, "engine": engine, **options})

    return with_engine


async def test_a_program_and_its_tools(make: Make) -> None:
    providers = [
        ResolvedProvider("github", {"issues.list": lambda query: [{"n": 1, **query}]}),
        ResolvedProvider("db", {"get": _later}),
    ]
    code = "async () => [await github.issues_list({q: 'a'}), await db.get(1, 2)]"
    assert await make().execute(code, providers) == ExecuteResult([[{"n": 1, "q": "a"}], [1, 2]], None, [])


async def _later(*args: object) -> object:
    await asyncio.sleep(0)
    return args


async def test_the_logs_are_those_that_upstream_captures(make: Make) -> None:
    code = """async () => {
        console.log('a', 1, {}); console.warn('b'); console.error('c')
        console.info('i'); console.debug('d'); console.trace('t'); console.dir(1); console.table([1])
        console.assert(false, 'x'); setTimeout(() => { throw new Error('late') }, 0)
        await new Promise((resolve) => setTimeout(resolve, 20))
    }"""
    outcome = await make().execute(code, [])
    assert outcome == ExecuteResult(None, None, ["a 1 [object Object]", "[warn] b", "[error] c"])


async def test_logs_that_are_dropped_are_announced(make: Make) -> None:
    outcome = await make().execute("async () => { for (let i = 0; i < 200; i++) console.log(i) }", [])
    assert outcome.logs[:100] == [str(i) for i in range(100)]
    (last,) = outcome.logs[100:]
    assert last.startswith("[notice] Further log output was dropped: the limit is 100 lines")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("async () => { throw new Error('no') }", "no"),
        ("async () => { throw 'text' }", "text"),
        ("async () => { throw null }", None),
        ("async () => { throw new Error('') }", "Error"),
        ("async () => nowhere", "nowhere is not defined"),
        ("syntax error here(", None),
        ("async () => codemode.nope()", 'Tool "nope" not found'),
        ("async () => codemode.boom()", "tool boom"),
        ("async () => Symbol('x')", None),
        ("async () => { const a = []; for (;;) a.push(new Array(1e5).fill(1)) }", None),
        ("async () => import('zod')", None),
        ("x".ljust(2_000_000), "the program is 2000000 bytes long; the limit is 1048576 bytes: send a shorter one"),
    ],
)
async def test_what_a_program_does_is_an_envelope(make: Make, code: str, error: str | None) -> None:
    def boom() -> None:
        raise ValueError("tool boom")

    outcome = await make().execute(code, [ResolvedProvider("codemode", {"boom": boom})])
    assert outcome.result is None
    assert outcome.error
    if error is not None:
        assert outcome.error == error


async def test_a_timeout_is_in_milliseconds_and_keeps_the_logs(make: Make) -> None:
    outcome = await make(timeout=150).execute("async () => { console.log('before'); for (;;); }", [])
    assert outcome == ExecuteResult(None, "Execution timed out", ["before"])


async def test_functions_by_name_are_deprecated(make: Make, upstream: Functions) -> None:
    with pytest.warns(DeprecationWarning, match="deprecated") as caught:
        outcome = await make().execute("async () => codemode.f(20)", {"f": lambda x: x + 1})
    assert outcome.result == 21
    assert [str(warning.message) for warning in caught] == upstream("deprecation")
    assert caught[0].filename == __file__


async def test_refused_names_are_an_envelope(make: Make) -> None:
    outcome = await make().execute("async () => 1", [ResolvedProvider("my-ns", {})])
    assert outcome == ExecuteResult(None, 'Provider name "my-ns" is not a valid JavaScript identifier', [])


async def test_the_bound_of_a_program_is_the_engines() -> None:
    async with IsolateExecutor(limits=Limits(program_bytes=20), min_workers=1) as engine:
        executor = DynamicWorkerExecutor(engine=engine)
        assert (await executor.execute("async () => 1", [])).result == 1
        outcome = await executor.execute("async () => 'ä'.length", [])
    assert outcome.error == "the program is 23 bytes long; the limit is 20 bytes: send a shorter one"


# --- preludes ---------------------------------------------------------------------------------------------------------


async def test_a_prelude_adds_to_its_namespace(make: Make) -> None:
    providers = [
        ResolvedProvider(
            "a", {"f": lambda x: x, "own": lambda: 0}, "a.twice = async (x) => [await a.f(x), await b.g()]"
        ),
        ResolvedProvider("b", {"g": lambda: "g"}, "a.own = () => 'own'"),
    ]
    outcome = await make().execute("async () => [await a.twice(1), a.own(), await a.f(2)]", providers)
    assert outcome.result == [[1, "g"], "own", 2]


@pytest.mark.parametrize(
    ("prelude", "told"),
    [("throw new Error('prelude failed')", "prelude failed"), ("syntax ( error", "aspect")],
)
async def test_a_prelude_that_fails_is_an_envelope(make: Make, prelude: str, told: str) -> None:
    outcome = await make().execute("async () => 1", [ResolvedProvider("aspect", {}, prelude)])
    assert outcome.result is None
    assert told in (outcome.error or "")


# --- connectors -------------------------------------------------------------------------------------------------------


class Sales:
    def __init__(self, answer: object = None) -> None:
        self.calls: list[tuple[str, object]] = []
        self._answer = answer

    async def call_tool(self, method: str, args: object) -> object:
        self.calls.append((method, args))
        return self._answer


class Plain:
    def call_tool(self, method: str, args: object) -> object:
        return {method: args}


async def test_a_connector_serves_every_method(make: Make) -> None:
    sales = Sales([1])
    options = ExecuteOptions([ConnectorBinding("sales", sales), ConnectorBinding("plain", Plain())])
    code = "async () => [await sales.list({since: new Date(0)}, 'more'), await plain['any name'](), typeof sales.then]"
    outcome = await make().execute(code, [], options)
    assert outcome.result == [[1], {"any name": None}, "undefined"]
    ((method, args),) = sales.calls
    assert (method, repr(args)) == (
        "list",
        "{'since': datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)}",
    )


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"__codemode_control__": "pause"}, "__CODEMODE_PAUSE__"),
        ({"__codemode_control__": "error", "message": "not now"}, "not now"),
    ],
)
async def test_control_answers_end_the_call(make: Make, answer: object, error: str) -> None:
    options = ExecuteOptions([ConnectorBinding("sales", Sales(answer))])
    outcome = await make().execute("async () => sales.remove({id: 1})", [], options)
    assert outcome.error == error
    caught = await make().execute("async () => sales.remove().catch((e) => e.message)", [], options)
    assert caught.result == error


async def test_a_connector_beside_a_provider_of_the_same_name(make: Make) -> None:
    outcome = await make().execute(
        "async () => 1", [ResolvedProvider("a", {})], ExecuteOptions([ConnectorBinding("a", Plain())])
    )
    assert outcome.error == 'Duplicate name "a" (connector clashes with provider)'


# --- modules and bindings ---------------------------------------------------------------------------------------------


async def test_modules_of_every_form(make: Make) -> None:
    modules = {
        "lib.js": "import { b } from './dir/b.js'; export const x = b + 4",
        "dir/b.js": "export const b = 1",
        "executor.js": "export const = ",
        "data.json": '{"a": 1}',
        "conf": {"json": {"deep": [1]}},
        "note": {"text": "hello"},
        "old": {"cjs": "module.exports = 7"},
        "typed": Module("export const n: number = 3"),
    }
    code = """async () => {
        const found = []
        for (const name of ['data.json', 'conf', 'note', 'old']) found.push((await import(name)).default)
        return [(await import('lib.js')).x, ...found, (await import('typed')).n]
    }"""
    outcome = await make(modules=modules).execute(code, [])
    assert (outcome.result, outcome.error) == ([5, {"a": 1}, {"deep": [1]}, "hello", 7, 3], None)


async def test_a_module_that_does_not_parse_is_an_envelope_that_names_it(make: Make) -> None:
    outcome = await make(modules={"bad.js": "export const = "}).execute("async () => 1", [])
    assert outcome.error == 'SyntaxError: module bad.js: Unexpected token "=" (line 1, column 14)'


async def test_bindings(make: Make) -> None:
    bindings = {"KEY": "k", "DB": {"query": lambda sql, *args: [sql, *args]}}
    executor = make(bindings=bindings)
    code = "async function main() { return [this.env.KEY, await this.env.DB.query('select', 1)] }"
    arrow = "async () => { const { env } = await import('cloudflare:workers'); return env.KEY }"
    assert (
        await executor.execute("return (async () => [this.env.KEY, await this.env.DB.query('s', 1)])()", [])
    ).result == [
        "k",
        ["s", 1],
    ]
    assert (await executor.execute(arrow, [])).result == "k"
    assert (await executor.execute(code, [])).error  # a function of its own has no environment, as upstream
    bindings["KEY"] = "other"
    assert (await executor.execute(arrow, [])).result == "other"


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout is 0 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)"),
        ({"timeout": -1}, "timeout is -1 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)"),
        (
            {"timeout": 2**31},
            "timeout is 2147483648 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)",
        ),
        ({"timeout": float("nan")}, "timeout must be a number of milliseconds, not nan"),
        ({"timeout": "5"}, "timeout must be a number of milliseconds, not '5'"),
        ({"timeout": True}, "timeout must be a number of milliseconds, not True"),
        ({"modules": ["a.js"]}, "modules must be a mapping of names to sources, not list"),
        ({"modules": {"a.js": 5}}, "module 'a.js' must be a string or a Module, not int"),
        (
            {"modules": {"": "x"}},
            "module name '' is unusable: it must have 1 to 512 characters, and no control character",
        ),
        (
            {"modules": {"a": {"py": "x"}}},
            "module 'a' must have one member that says what it is, one of js, cjs, json, text, data; it has 'py'",
        ),
        ({"bindings": [1]}, "bindings must be a mapping of names to values, not list"),
        (
            {"bindings": {"a": [object()]}},
            "bindings.a[0] is of type object, which has no form in JavaScript",
        ),
        ({"engine": 5}, "engine must be an IsolateExecutor, not int"),
    ],
)
async def test_bad_options_are_refused_at_once(options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        DynamicWorkerExecutor(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["loader", "timeouts"])
async def test_an_unknown_option_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        DynamicWorkerExecutor(**{name: cast(Any, 1)})
    with pytest.raises(TypeError, match="connector"):
        ExecuteOptions(connector=[])  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, []), "code must be a string, not int"),
        ((None, []), "code must be a string, not NoneType"),
        (
            ("1", "github"),
            "providers_or_fns must be a list of ResolvedProvider objects, or functions by name, not str",
        ),
        (
            ("1", [{"name": "a", "fns": {}}]),
            "providers_or_fns[0] must be a ResolvedProvider, not dict: use resolve_provider, or"
            " ResolvedProvider(name, fns)",
        ),
        (("1", [ResolvedProvider(5, {})]), "providers_or_fns[0].name must be a string, not int"),  # pyright: ignore[reportArgumentType]
        (
            ("1", [ResolvedProvider("a", None)]),  # pyright: ignore[reportArgumentType]
            "providers_or_fns[0].fns must be a mapping of names to functions, not NoneType",
        ),
        (
            ("1", [ResolvedProvider("a", {"f": ToolDescriptor})]),
            None,
        ),
        (
            ("1", [ResolvedProvider("a", {"f": 5})]),  # pyright: ignore[reportArgumentType]
            "providers_or_fns[0].fns: the tool 'f' is not callable: 5",
        ),
        (
            ("1", [ResolvedProvider("a", {}, 5)]),  # pyright: ignore[reportArgumentType]
            "providers_or_fns[0].prelude must be a string or None, not int",
        ),
        (("1", {"f": 5}), "providers_or_fns: the tool 'f' is not callable: 5"),
        (
            ("1", [], {"connectors": []}),
            "options must be ExecuteOptions, not dict: ExecuteOptions(connectors=[…])",
        ),
        (
            ("1", [], ExecuteOptions("abc")),  # pyright: ignore[reportArgumentType]
            "options.connectors must be a list of ConnectorBinding objects, not str",
        ),
        (
            ("1", [], ExecuteOptions([5])),  # pyright: ignore[reportArgumentType]
            "options.connectors[0] must be a ConnectorBinding, not int",
        ),
        (
            ("1", [], ExecuteOptions([ConnectorBinding("a", object())])),  # pyright: ignore[reportArgumentType]
            "options.connectors[0].binding must have a method call_tool(method, args), which object has not",
        ),
    ],
)
async def test_bad_arguments_are_refused_before_anything_runs(
    make: Make, arguments: Sequence[Any], message: str | None
) -> None:
    if message is None:
        assert (await make().execute(*arguments)).result == 1
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadRequest) as caught:
            await make().execute(*arguments)
    assert str(caught.value) == message


# --- tools of Python --------------------------------------------------------------------------------------------------


async def test_a_tools_exception_keeps_what_it_knows(make: Make) -> None:
    class QuotaExceeded(Exception):
        code = "E42"
        details = {"retry_after": 3}

    def quota() -> None:
        raise QuotaExceeded("quota") from LookupError("inner")

    code = """async () => {
        try { await codemode.quota() } catch (e) { return [e.name, e.message, e.code, e.details, e.cause] }
    }"""
    outcome = await make().execute(code, [ResolvedProvider("codemode", {"quota": quota})])
    assert outcome.result == ["QuotaExceeded", "quota", "E42", {"retry_after": 3}, "LookupError: inner"]


async def test_tools_run_in_the_callers_context(make: Make) -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    user.set("ada")
    outcome = await make().execute("async () => codemode.who()", [ResolvedProvider("codemode", {"who": user.get})])
    assert outcome.result == "ada"


async def test_a_tool_may_execute_a_program(make: Make) -> None:
    executor = make()

    async def run(code: str) -> Any:
        return (await executor.execute(code, [])).result

    outcome = await executor.execute(
        "async () => codemode.run('async () => 7')", [ResolvedProvider("codemode", {"run": run})]
    )
    assert (outcome.result, outcome.error) == (7, None)


async def test_two_executors_do_not_share_tools(make: Make) -> None:
    async def through(name: str) -> Any:
        outcome = await make().execute(
            "async () => { globalThis.seen = (globalThis.seen ?? 0) + 1; return [await codemode.me(), seen] }",
            [ResolvedProvider("codemode", {"me": lambda: name})],
        )
        return outcome.result

    assert await asyncio.gather(*map(through, "abc")) == [["a", 1], ["b", 1], ["c", 1]]
