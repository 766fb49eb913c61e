"""Tool calls between a program and its host: names, values, who serves them, and where."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading

import pytest

from codemode_executor import BadRequest, IsolateExecutor, Limits, Provider
from codemode_executor.jail import Hardening

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

CAUGHT = "(error) => [error.name, error.message]"


async def echo(*args: object) -> list[object]:
    return list(args)


# --- names ----------------------------------------------------------------------------------------


async def test_raw_and_sanitised_names_reach_the_same_tool(executor: IsolateExecutor) -> None:
    calls: list[object] = []

    def tool(name: str):
        def call(arg: object) -> str:
            calls.append((name, arg))
            return name

        return call

    names = ["issues.list", "get-user", "delete", "3d render", "ünïcode"]
    provider = Provider("codemode", {name: tool(name) for name in names})
    code = """async () => [
        await codemode['issues.list'](1), await codemode.issues_list(2), await codemode.get_user(3),
        await codemode.delete_(4), await codemode['delete'](5), await codemode._3d_render(6),
        await codemode['ünïcode'](7), await codemode.ncode(8),
    ]"""
    outcome = await executor.execute(code, providers=[provider])
    assert outcome.error is None
    served = ["issues.list"] * 2 + ["get-user"] + ["delete"] * 2 + ["3d render"] + ["ünïcode"] * 2
    assert outcome.result == served
    assert calls == list(zip(served, range(1, 9), strict=True))


@pytest.mark.parametrize(
    ("providers", "message"),
    [
        ([Provider("a", {"x.y": echo, "x_y": echo})], 'both sanitize to "x_y"'),
        ([Provider("a"), Provider("a")], "Duplicate provider name 'a'"),
        ([Provider("a-b")], "not a valid JavaScript identifier"),
        ([Provider("await")], "not a valid JavaScript identifier"),
        ([Provider("arguments")], "not a valid JavaScript identifier"),
        ([Provider("")], "not a valid JavaScript identifier"),
        ([Provider("a;b")], "not a valid JavaScript identifier"),
        ([Provider("a", ["t"])], "pass dispatch="),
        ([Provider("a", {"t": 1})], "not callable"),  # pyright: ignore[reportArgumentType]
        ([Provider("a", {"": echo})], "1 to 256 characters"),
        ([Provider("a", "tool")], "mapping of callables or a list of names"),
    ],
)
async def test_unusable_providers(executor: IsolateExecutor, providers: list[Provider], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        await executor.execute("1", providers=providers)


@pytest.mark.parametrize("name", ["undefined", "NaN", "Infinity", "globalThis", "eval"])
async def test_a_provider_name_that_a_strict_function_refuses_is_refused_at_once(
    executor: IsolateExecutor, name: str
) -> None:
    """Either the host hears of it, or the namespace works: never an error in the program's face."""
    try:
        outcome = await executor.execute(
            f"async () => await {name}.echo(1)", providers=[Provider(name, {"echo": echo})]
        )
    except BadRequest:
        return
    assert (outcome.result, outcome.error) == ([1], None)


async def test_unknown_tool(executor: IsolateExecutor) -> None:
    provider = Provider("codemode", {"listIssues": echo, "close": echo})
    code = f"""async () => [
        await codemode.nope().catch({CAUGHT}), await codemode.listIssue().catch({CAUGHT}),
        await codemode['\\ud800'.repeat(300)]().catch((error) => error.message.length),
    ]"""
    outcome = await executor.execute(code, providers=[provider])
    assert outcome.error is None
    far, near, length = outcome.result
    assert far == ["Error", 'Tool "nope" not found']
    assert near == ["Error", 'Tool "listIssue" not found. Did you mean listIssues?']
    assert length < 400


async def test_inherited_names_are_no_tools(executor: IsolateExecutor) -> None:
    names = ["constructor", "toString", "hasOwnProperty", "__proto__", "valueOf", "__class__"]
    code = f"""async () => Promise.all({json.dumps(names)}.map(
        (name) => codemode[name]().catch((error) => error.message)))"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"a": echo})])
    assert outcome.error is None
    assert outcome.result == [f'Tool "{name}" not found' for name in names]


async def test_declared_names_shadow_nothing_and_work(executor: IsolateExecutor) -> None:
    tools = {"constructor": echo, "then": echo, "__proto__": echo, "toString": echo}
    code = """async () => [
        await codemode.constructor(1), await codemode['__proto__'](2), await codemode.toString(3),
        await codemode.then(4),
    ]"""
    outcome = await executor.execute(code, providers=[Provider("codemode", tools)])
    assert (outcome.result, outcome.error) == ([[1], [2], [3], [4]], None)


async def test_a_namespace_is_no_thenable(executor: IsolateExecutor) -> None:
    code = """async () => {
        const same = await codemode
        const [also] = await Promise.all([codemode])
        return [same === codemode, also === codemode, typeof codemode.then, `${typeof codemode}`]
    }"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"a": echo})])
    assert outcome.result == [True, True, "undefined", "object"]
    outcome = await executor.execute("async () => codemode", providers=[Provider("codemode", {"a": echo})])
    assert (outcome.result, outcome.error) == ({}, None)


async def test_a_namespace_cannot_be_replaced_but_extended(executor: IsolateExecutor) -> None:
    code = """async () => {
        codemode.mine = (x) => x + 1
        let refused
        try { codemode = 1 } catch (error) { refused = error.name }
        return [codemode.mine(1), refused, await codemode.echo(2)]
    }"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"echo": echo})])
    assert (outcome.result, outcome.error) == ([2, "TypeError", [2]], None)


# --- values ---------------------------------------------------------------------------------------


async def test_values_cross_both_ways(executor: IsolateExecutor) -> None:
    seen: list[tuple[object, ...]] = []

    async def tool(*args: object) -> object:
        seen.append(args)
        return {"bytes": b"\x00\xff", "lone": "\ud800", "list": (1, None, 1.5), "__proto__": 1}

    code = """async () => {
        const got = await codemode.tool(
            1, 'gr\\u00fc\\u00df \\ud83d\\ude00', '\\ud800', null, undefined, [undefined], {a: 0.5},
            new Uint8Array([0, 255]), new Date(0), NaN)
        return [[...got.bytes], got.lone === '\\ud800', got.list, Object.hasOwn(got, '__proto__')]
    }"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"tool": tool})])
    assert outcome.error is None
    assert outcome.result == [[0, 255], True, [1, None, 1.5], True]
    assert seen == [
        (1, "grüß 😀", "\ud800", None, None, [None], {"a": 0.5}, b"\x00\xff",
         "1970-01-01T00:00:00.000Z", None),
    ]  # fmt: skip


async def test_arguments_that_cannot_be_encoded_are_the_programs_error(
    executor: IsolateExecutor,
) -> None:
    code = f"""async () => {{
        const cyclic = {{}}; cyclic.self = cyclic
        return [(await codemode.echo(cyclic).catch({CAUGHT}))[0],
                (await codemode.echo(1n).catch({CAUGHT}))[0], await codemode.echo(1)]
    }}"""
    outcome = await executor.execute(code, providers=[Provider("codemode", {"echo": echo})])
    assert (outcome.result, outcome.error) == (["TypeError", "TypeError", [1]], None)
    assert outcome.usage.tool_calls == 1


async def test_result_of_a_tool_that_cannot_be_encoded(executor: IsolateExecutor) -> None:
    tools = {"plain": lambda: {"a": [object()]}, "odd": lambda: {"\ud800": object()}}
    code = f"""async () => [
        await codemode.plain().catch({CAUGHT}), (await codemode.odd().catch({CAUGHT}))[0],
    ]"""
    outcome = await executor.execute(code, providers=[Provider("codemode", tools)], limits=Limits(timeout_s=1))
    assert outcome.error is None
    (name, message), odd = outcome.result
    assert (name, odd) == ("Error", "Error")
    assert "codemode.plain" in message
    assert "result.a[0] is of type object" in message


# --- dispatch -------------------------------------------------------------------------------------


async def test_dispatch_takes_and_gives_strings(executor: IsolateExecutor) -> None:
    seen: list[tuple[str, str, str]] = []

    async def dispatch(provider: str, tool: str, args: str) -> str:
        seen.append((provider, tool, args))
        return '{"result": {"n": 1}}' if tool == "get.it" else '{"error": "no such row"}'

    code = f"""async () => [
        await db.get_it('\\ud800', {{a: [1]}}), await db.fail().catch({CAUGHT}),
        await db.nope().catch({CAUGHT}),
    ]"""
    outcome = await executor.execute(code, providers=[Provider("db", ["get.it", "fail"])], dispatch=dispatch)
    assert outcome.error is None
    missing = ["Error", 'Tool "nope" not found']
    assert outcome.result == [{"n": 1}, ["Error", "no such row"], missing]
    assert [call[:2] for call in seen] == [("db", "get.it"), ("db", "fail")]
    assert json.loads(seen[0][2]) == ["\ud800", {"a": [1]}]
    assert seen[1][2] == "[]"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("{}", None),
        ('{"result": null}', None),
        ('{"result": "\\ud800"}', "\ud800"),
        ('{"error": null, "result": 1}', 1),
        ('{"result": {"__codemode_binary_v1__": "Uint8Array", "data": "AAE="}}', {"0": 0, "1": 1}),
    ],
)
async def test_dispatch_answers(executor: IsolateExecutor, answer: str, expected: object) -> None:
    async def dispatch(provider: str, tool: str, args: str) -> str:
        return answer

    code = """async () => {
        const value = await db.get()
        return value instanceof Uint8Array ? {...value} : value
    }"""
    outcome = await executor.execute(code, providers=[Provider("db", ["get"])], dispatch=dispatch)
    assert (outcome.result, outcome.error) == (expected, None)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "dispatch must return"),
        ("nonsense", "dispatch must return"),
        ("[1]", "dispatch must return"),
        ('{"result": 1} trailing', "dispatch must return"),
        ('{"result": 1}], {"kind": 3}', "dispatch must return"),
        ('{"result": tru}', "dispatch must return"),
        (None, "must return a JSON string, not NoneType"),
        (b'{"result": 1}', "must return a JSON string, not bytes"),
        ({"result": 1}, "must return a JSON string, not dict"),
        ('{"error": "\\ud800"}', ""),
        ('{"error": "\ud800"}', ""),
        ('{"error": {"deep": "\\ud800"}}', ""),
        ('{"error": "x", "name": 7, "details": {"k": "\\ud800"}, "code": null}', "x"),
    ],
)
async def test_dispatch_that_answers_nonsense_or_fails(executor: IsolateExecutor, answer: object, message: str) -> None:
    async def dispatch(provider: str, tool: str, args: str) -> str:
        return answer  # pyright: ignore[reportReturnType]

    outcome = await executor.execute(
        f"async () => await db.get().then(() => 'fine', {CAUGHT})",
        providers=[Provider("db", ["get"])],
        dispatch=dispatch,
        limits=Limits(timeout_s=1),
    )
    assert outcome.error is None
    assert isinstance(outcome.result, list)
    assert outcome.result[1]
    assert message in outcome.result[1]


async def test_dispatch_is_only_ever_given_arrays(executor: IsolateExecutor) -> None:
    """The text comes from the guest, which can change what JSON.stringify makes of an array."""
    seen: list[str] = []

    async def dispatch(provider: str, tool: str, args: str) -> str:
        seen.append(args)
        return '{"result": 1}'

    code = """async () => {
        for (const forged of ['x', {a: 1}, null, 7]) {
            Array.prototype.toJSON = () => forged
            await db.get(1).catch(() => {})
        }
    }"""
    outcome = await executor.execute(code, providers=[Provider("db", ["get"])], dispatch=dispatch)
    assert outcome.error is None
    assert all(isinstance(json.loads(args), list) for args in seen), seen


# --- where tools run ------------------------------------------------------------------------------

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


async def test_tools_and_logs_see_the_callers_context(executor: IsolateExecutor) -> None:
    seen: list[str] = []

    async def in_loop() -> str:
        return tenant.get()

    def in_thread() -> str:
        return tenant.get()

    async def run(name: str) -> object:
        tenant.set(name)
        outcome = await executor.execute(
            "async () => { console.log(1); return [await t.in_loop(), await t.in_thread()] }",
            providers=[Provider("t", {"in_loop": in_loop, "in_thread": in_thread})],
            on_log=lambda line: seen.append(tenant.get()),
        )
        return outcome.result

    results = await asyncio.gather(run("acme"), run("umbrella"))
    assert results == [["acme"] * 2, ["umbrella"] * 2]
    assert seen == ["acme", "umbrella"]
    assert tenant.get() == "nobody"


async def test_sync_tools_do_not_block_the_loop(executor: IsolateExecutor) -> None:
    entered, release = threading.Event(), threading.Event()
    where: list[threading.Thread] = []

    def blocks(n: int) -> int:
        where.append(threading.current_thread())
        entered.set()
        assert release.wait(10)
        return n

    async def frees() -> None:
        while not entered.is_set():
            await asyncio.sleep(0.001)
        release.set()

    code = "async () => Promise.all([t.blocks(1), t.blocks(2), t.frees()])"
    provider = Provider("t", {"blocks": blocks, "frees": frees})
    outcome = await executor.execute(code, providers=[provider])
    assert (outcome.result, outcome.error) == ([1, 2, None], None)
    assert threading.main_thread() not in where


# --- many calls -----------------------------------------------------------------------------------


async def test_a_thousand_calls_at_once(executor: IsolateExecutor) -> None:
    together = 0
    most = 0

    async def double(n: int) -> int:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0.05)
        together -= 1
        return 2 * n

    code = "async () => Promise.all(Array.from({length: 1000}, (_, n) => t.double(n)))"
    outcome = await executor.execute(code, providers=[Provider("t", {"double": double})])
    assert outcome.error is None
    assert outcome.result == [2 * n for n in range(1000)]
    assert most == 1000


async def test_ten_thousand_calls_one_after_the_other(executor: IsolateExecutor) -> None:
    seen: list[int] = []

    async def note(n: int) -> int:
        seen.append(n)
        return n

    code = """async () => {
        let sum = 0
        for (let n = 0; n < 10_000; n += 2) {
            const [a, b] = await Promise.all([t.note(n), t.note(n + 1)])
            sum += a + b
        }
        return sum
    }"""
    outcome = await executor.execute(code, providers=[Provider("t", {"note": note})])
    assert (outcome.result, outcome.error) == (sum(range(10_000)), None)
    assert seen == list(range(10_000))
    assert outcome.usage.tool_calls == 10_000


async def test_ten_megabytes_both_ways(hardening: Hardening) -> None:
    lengths: list[int] = []

    async def big(text: str) -> str:
        lengths.append(len(text))
        return "y" * 10_000_000

    code = """async () => {
        const got = await t.big('x'.repeat(10_000_000))
        return [got.length, got[0], got.at(-1), got]
    }"""
    async with IsolateExecutor(hardening=hardening) as roomy:
        outcome = await roomy.execute(code, providers=[Provider("t", {"big": big})])
    assert outcome.error is None
    assert outcome.result[:3] == [10_000_000, "y", "y"]
    assert outcome.result[3] == "y" * 10_000_000
    assert lengths == [10_000_000]


async def test_calls_that_nobody_awaits_are_delivered_and_finish(
    executor: IsolateExecutor,
) -> None:
    started: list[int] = []
    finished: list[int] = []

    async def slow(n: int) -> None:
        started.append(n)
        await asyncio.sleep(0.1)
        finished.append(n)

    outcome = await executor.execute(
        "async () => { for (let n = 0; n < 5; n++) t.slow(n); return 'done' }",
        providers=[Provider("t", {"slow": slow})],
    )
    assert outcome.result == "done"
    assert started == [0, 1, 2, 3, 4]
    assert finished == []
    await asyncio.sleep(0.3)
    assert finished == [0, 1, 2, 3, 4]


async def test_calls_after_the_answer_have_no_effect(executor: IsolateExecutor) -> None:
    calls: list[str] = []

    async def note(word: str) -> None:
        calls.append(word)

    code = """async () => {
        const late = async () => { for (let n = 0; n < 20; n++) await 0; t.note('late'); for (;;); }
        setTimeout(() => t.note('timer'), 0)
        late()
        t.note('before')
        return 1
    }"""
    outcome = await executor.execute(code, providers=[Provider("t", {"note": note})])
    assert (outcome.result, outcome.error) == (1, None)
    assert (await executor.execute("2")).result == 2
    await asyncio.sleep(0.05)
    assert calls == ["before"]
