"""Connectors and functions of ``this.env``: calls whose values cross as by structured clone."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import math
from collections.abc import Mapping
from typing import Any

import pytest

from codemode_executor import BadRequest, Connector, ExecuteResult, IsolateExecutor, Limits, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

NOON = datetime.datetime(2026, 3, 1, 12, 0, 0, 250000, datetime.UTC)


async def through(executor: IsolateExecutor, code: str, answer: object) -> tuple[ExecuteResult, list[tuple[str, Any]]]:
    """Run ``code`` with a connector ``c`` that answers ``answer``; what it was called with, as the host saw it."""
    seen: list[tuple[str, Any]] = []

    async def call(method: str, argument: object) -> object:
        seen.append((method, argument))
        if isinstance(answer, Exception):
            raise answer
        return answer

    return await executor.execute(code, providers=[Connector("c", call)]), seen


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("undefined", None),
        ("null", None),
        ("'text'", "text"),
        ("{a: [1, {b: 2}]}", {"a": [1, {"b": 2}]}),
        ("new Date(1772366400250)", NOON),
        ("new Map([['k', 1n]])", {"k": 1}),
        ("new Set([1, 2])", [1, 2]),
        ("new Uint8Array([1, 2])", b"\x01\x02"),
        ("123456789012345678901234567890n", 123456789012345678901234567890),
    ],
)
async def test_an_argument_arrives_as_by_structured_clone(
    executor: IsolateExecutor, source: str, expected: object
) -> None:
    outcome, seen = await through(executor, f"async () => c.method({source}, 'ignored')", None)
    assert outcome.error is None
    assert seen == [("method", expected)]


@pytest.mark.parametrize(
    ("answer", "expression", "expected"),
    [
        (None, "x === null", True),
        ({"a": [1, "two", None, True]}, "JSON.stringify(x)", '{"a":[1,"two",null,true]}'),
        (NOON, "x instanceof Date && x.getTime()", 1772366400250),
        (NOON.replace(tzinfo=None), "x.toISOString()", "2026-03-01T12:00:00.250Z"),
        (datetime.date(2026, 3, 1), "x", "2026-03-01"),
        ({1}, "x instanceof Set && [...x]", [1]),
        (2**60, "typeof x + x", "bigint1152921504606846976"),
        (math.nan, "Number.isNaN(x)", True),
        (-math.inf, "x === -Infinity", True),
        (-0.0, "Object.is(x, -0)", True),
        ([b"\x01\xff"], "x[0] instanceof Uint8Array && [...x[0]]", [1, 255]),
        (decimal.Decimal("1.10"), "x", "1.10"),
        (
            {"__proto__": 1, "n": math.inf},
            "[Object.keys(x), x.__proto__, x.n === Infinity]",
            [["__proto__", "n"], 1, True],
        ),
    ],
)
async def test_an_answer_arrives_as_by_structured_clone(
    executor: IsolateExecutor, answer: object, expression: str, expected: object
) -> None:
    outcome, _ = await through(executor, f"async () => {{ const x = await c.m(); return {expression} }}", answer)
    assert (outcome.result, outcome.error) == (expected, None)


async def test_what_cannot_be_cloned_is_refused_before_it_leaves(executor: IsolateExecutor) -> None:
    code = "async () => { try { await c.m({f: () => 1}) } catch (e) { return e.name + ': ' + e.message } }"
    outcome, seen = await through(executor, code, 1)
    assert outcome.result == (
        "Error: The argument cannot be sent: argument.f is a function: return what it computes, or call it"
    )
    assert seen == []


async def test_an_answer_without_a_form_fails_the_call(executor: IsolateExecutor) -> None:
    outcome, _ = await through(executor, "async () => c.m().catch((e) => e.message)", object())
    assert outcome.result == "c.m: result is of type object, which has no form in JavaScript"


async def test_an_exception_is_the_calls_error(executor: IsolateExecutor) -> None:
    outcome, _ = await through(executor, "async () => c.m().catch((e) => [e.name, e.message])", ValueError("no"))
    assert outcome.result == ["ValueError", "no"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"__codemode_control__": "pause"}, "__CODEMODE_PAUSE__"),
        ({"__codemode_control__": "error", "message": "not allowed"}, "not allowed"),
    ],
)
async def test_control_markers_end_the_call(executor: IsolateExecutor, answer: Mapping[str, str], message: str) -> None:
    outcome, _ = await through(executor, "async () => c.m()", answer)
    assert outcome.error == message


async def test_a_connector_has_every_method_and_is_no_thenable(executor: IsolateExecutor) -> None:
    code = (
        "async () => { await c; await c['any name']({}); await c.constructor(1); return [c.then, c[Symbol.iterator]] }"
    )
    outcome, seen = await through(executor, code, 0)
    assert outcome.result == [None, None]
    assert seen == [("any name", {}), ("constructor", 1)]


async def test_a_connector_beside_a_provider(executor: IsolateExecutor) -> None:
    providers: list[Provider | Connector] = [
        Provider("t", {"now": lambda: NOON}),
        Connector("c", lambda method, argument: [method, argument]),
    ]
    outcome = await executor.execute("async () => [await t.now(), await c.m(new Set([1]))]", providers=providers)
    assert outcome.result == [NOON.isoformat(), ["m", [1]]]


async def test_a_connector_served_by_dispatch(executor: IsolateExecutor) -> None:
    seen: list[tuple[str, str, str]] = []

    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        seen.append((provider, tool, args_json))
        return '{"result": "2{\\"root\\":[\\"i\\",\\"7\\"],\\"table\\":[]}"}'

    outcome = await executor.execute(
        "async () => { const x = await c.m([1]); return typeof x + x }", providers=[Connector("c")], dispatch=dispatch
    )
    assert (outcome.result, seen) == ("bigint7", [("c", "m", "1[1]")])


@pytest.mark.parametrize("answer", ['{"result": 5}', '{"result": "x"}', "{}", "[]", '{"result": "9{}"}'])
async def test_a_dispatch_that_answers_no_clone_fails_the_call(executor: IsolateExecutor, answer: str) -> None:
    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        return answer

    code = "async () => c.m().then(() => 'answered', (e) => e.message)"
    outcome = await executor.execute(code, providers=[Connector("c")], dispatch=dispatch)
    assert outcome.result.startswith("dispatch must return") or outcome.result.startswith("dispatch must answer")


@pytest.mark.parametrize("text", ["2{", "1", "2{}", '2{"root":{"r":9},"table":[]}'])
async def test_a_broken_clone_fails_its_call_alone(executor: IsolateExecutor, text: str) -> None:
    async def dispatch(provider: str, tool: str, args_json: str) -> str:
        import json

        return json.dumps({"result": "1[]" if tool == "whole" else text})

    code = "async () => [await c.broken().then(() => 0, () => 1), await c.whole()]"
    outcome = await executor.execute(code, providers=[Connector("c")], dispatch=dispatch)
    assert (outcome.result, outcome.error) == ([1, []], None)


async def test_functions_of_the_environment(executor: IsolateExecutor) -> None:
    seen: list[tuple[object, ...]] = []

    async def query(*args: object) -> object:
        seen.append(args)
        await asyncio.sleep(0)
        return {"at": NOON}

    env = {"DB": {"query": query, "name": "main"}, "plus": lambda a, b: a + b, "list": [lambda: "in a list"]}
    code = """async () => {
        const { env } = this
        const row = await env.DB.query('select', new Date(0), undefined)
        return [row.at instanceof Date, env.DB.name, await env.plus(1, 2), await env.list[0](), typeof env.plus]
    }"""
    outcome = await executor.execute(code, env=env)
    assert (outcome.result, outcome.error) == ([True, "main", 3, "in a list", "function"], None)
    assert seen == [("select", datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), None)]


async def test_two_functions_of_the_environment_are_never_taken_for_each_other(executor: IsolateExecutor) -> None:
    """A path tells the host which one is called: a name with a dot in it may look like a path."""

    async def one() -> str:
        return "one"

    async def two() -> str:
        return "two"

    with pytest.raises(BadRequest, match=r"two functions with the path 'a\.f'"):
        await executor.execute("async () => this.env['a.f']()", env={"a.f": one, "a": {"f": two}})
    outcome = await executor.execute("async () => [await this.env['a.f'](), 1]", env={"a.f": one, "a": {"g": two}})
    assert outcome.result == ["one", 1]


async def test_a_failing_function_of_the_environment(executor: IsolateExecutor) -> None:
    def fail() -> None:
        raise LookupError("gone")

    outcome = await executor.execute("async () => { return this.env.f() }", env={"f": fail})
    assert outcome.error == "gone"


async def test_data_that_looks_like_a_function_stays_data(executor: IsolateExecutor) -> None:
    tag = {"__codemode_binary_v1__": "function", "data": "f"}
    outcome = await executor.execute(
        "async () => { return [this.env.data, await t.get(), typeof this.env.f] }",
        env={"data": tag, "f": lambda: 1},
        providers=[Provider("t", {"get": lambda: tag})],
    )
    assert outcome.result == [tag, tag, "function"]


@pytest.mark.parametrize(
    ("providers", "message"),
    [
        ([Connector("c")], "Connector 'c' has no call; pass dispatch= to serve it, or give a callable"),
        ([Connector("a b", print)], "Connector name 'a b' is not a valid JavaScript identifier"),
        ([Connector("this", print)], "Connector name 'this' is not a valid JavaScript identifier"),
        ([Connector("c", print), Connector("c", print)], "Duplicate name 'c' (connector clashes with provider)"),
        ([Provider("c", {}), Connector("c", print)], "Duplicate name 'c' (connector clashes with provider)"),
        ([Connector("c", print), Provider("c", {})], "Duplicate name 'c' (connector clashes with provider)"),
        ([Connector("c", 5)], "Connector 'c': call is not callable: 5"),  # pyright: ignore[reportArgumentType]
    ],
)
async def test_unusable_connectors_are_refused(
    executor: IsolateExecutor, providers: list[Provider | Connector], message: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        await executor.execute("async () => 1", providers=providers)
    assert str(caught.value) == message


async def test_a_connectors_result_is_bounded(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => c.m().catch((e) => e.message)",
        providers=[Connector("c", lambda method, argument: "x" * 2000)],
        limits=Limits(tool_result_bytes=1000),
    )
    assert outcome.result == (
        "the result of c.m is 2007 bytes long; the limit is 1000 bytes (Limits.tool_result_bytes)"
    )
