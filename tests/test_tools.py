"""The table of tools: what it refuses, whom it calls, and that every failure is the call's own."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from codemode_executor.contract import Dispatch, Provider, Tool
from codemode_executor.errors import BadRequest
from codemode_executor.tool_failure import ToolFailure
from codemode_executor.tool_threads import ToolThreads
from codemode_executor.tools import ToolTable
from codemode_executor.values.tool_codec import TAG
from codemode_executor.wire import messages as wire
from codemode_executor.wire.messages import ProviderSpec

LIMIT = 1024


async def no_dispatch(provider: str, tool: str, args: str) -> str:
    raise AssertionError("not to be called")


def table_of(tools: Mapping[str, Tool] | Sequence[str], dispatch: Dispatch | None = None, name: str = "p") -> ToolTable:
    return ToolTable([Provider(name, tools)], dispatch, ToolThreads())


async def call(table: ToolTable, tool: str, *args: object, provider: str = "p", limit: int = LIMIT) -> object:
    text = await table.call(provider, tool, json.dumps(args).encode(), limit)
    return "undefined" if text is None else json.loads(text)


async def failure(table: ToolTable, tool: str, *args: object, provider: str = "p", limit: int = LIMIT) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        await call(table, tool, *args, provider=provider, limit=limit)
    error = caught.value
    assert error.message
    # It must fit into the message that takes it to the worker.
    wire.encode(wire.ToolFailed(1, 1, error.message, error.extra))
    assert isinstance(json.loads(error.extra), dict)
    return error


# --- construction ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a b", "é", "class", "await", "arguments", "eval", "let", "a" * 257])
def test_refuses_names_of_providers(name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        table_of({}, name=name)
    assert str(caught.value) == f"Provider name {name!r} is not a valid JavaScript identifier"


def test_refuses_a_provider_twice() -> None:
    with pytest.raises(BadRequest, match=r"^Duplicate provider name 'p'$"):
        ToolTable([Provider("p", {}), Provider("p", {})], None, ToolThreads())


@pytest.mark.parametrize("tools", ["names", b"names", 1, None, {"a"}, iter([])], ids=repr)
def test_refuses_what_is_no_table(tools: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        table_of(tools, no_dispatch)
    assert str(caught.value) == ("Provider 'p': tools must be a mapping of callables or a list of names")


@pytest.mark.parametrize("name", ["", "x" * 257, 1, None, b"a"])
def test_refuses_names_of_tools(name: Any) -> None:
    for tools in ({name: print}, [name]):
        with pytest.raises(BadRequest) as caught:
            table_of(tools, no_dispatch)
        assert str(caught.value) == (f"Provider 'p': tool names must be strings of 1 to 256 characters, not {name!r}")


def test_refuses_a_tool_that_cannot_be_called() -> None:
    with pytest.raises(BadRequest, match=r"^Provider 'p': the tool 'a' is not callable: 3$"):
        table_of({"a": 3})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("tools", [["a"], {"a": None}])
def test_refuses_names_that_nobody_serves(tools: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        table_of(tools)
    assert str(caught.value) == ("Provider 'p' only declares 'a'; pass dispatch= to serve it, or give a callable")


def test_refuses_names_that_sanitize_alike() -> None:
    with pytest.raises(BadRequest) as caught:
        table_of({"a-b": print, "a.b": print})
    assert str(caught.value) == ('Tool names "a-b" and "a.b" both sanitize to "a_b" in provider "p"')


def test_the_same_name_twice_is_one_tool() -> None:
    assert table_of(["a", "a"], no_dispatch).specs() == [ProviderSpec("p", False)]


def test_specs_say_who_has_a_tool_named_then() -> None:
    providers = [
        Provider("a", {"then": print}),
        Provider("b", {"x": print}),
        Provider("c", {"th.en": print}),
        Provider("d", {"th@en": print}),
        Provider("e", {}),
    ]
    assert ToolTable(providers, None, ToolThreads()).specs() == [
        ProviderSpec("a", True),
        ProviderSpec("b", False),
        ProviderSpec("c", False),
        ProviderSpec("d", True),
        ProviderSpec("e", False),
    ]


# --- calling --------------------------------------------------------------------------------------


async def test_plain_and_async_tools_take_positional_arguments() -> None:
    async def later(*args: object) -> list[object]:
        await asyncio.sleep(0)
        return list(args)

    table = table_of({"now": lambda *args: list(args), "later": later})
    assert await call(table, "now", 1, {"a": [None]}) == [1, {"a": [None]}]
    assert await call(table, "later", 1, "b") == [1, "b"]
    assert await call(table, "now") == []


async def test_async_tools_run_on_the_loop_and_plain_ones_do_not() -> None:
    async def on_loop() -> int:
        return threading.get_ident()

    class WithCall:
        async def __call__(self) -> int:
            return threading.get_ident()

    here = threading.get_ident()
    table = table_of(
        {
            "plain": threading.get_ident,
            "coroutine": on_loop,
            "object": WithCall(),
            "partial": functools.partial(on_loop),
            "returned": lambda: on_loop(),
        }
    )
    assert await call(table, "plain") != here
    for name in ("coroutine", "object", "partial", "returned"):
        assert await call(table, name) == here, name


async def test_tools_run_in_a_copy_of_the_callers_context() -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    def change() -> str:
        before = variable.get()
        variable.set("changed in the thread")
        return before

    variable.set("of the caller")
    table = table_of({"change": change})
    assert await call(table, "change") == "of the caller"
    assert variable.get() == "of the caller"


async def test_a_tool_has_its_raw_name_and_its_sanitized_one() -> None:
    table = table_of({"issues.list": lambda: 1, "class": lambda: 2})
    assert await call(table, "issues.list") == await call(table, "issues_list") == 1
    assert await call(table, "class") == await call(table, "class_") == 2
    assert (await failure(table, "issues-list")).message.startswith('Tool "issues-list" not found')


async def test_bytes_arrive_as_bytes_and_leave_as_a_tag() -> None:
    seen: list[object] = []

    def take(data: bytes) -> bytes:
        seen.append(data)
        return data[::-1]

    answer = await call(table_of({"t": take}), "t", {TAG: "Uint8Array", "data": "AQI="})
    assert seen == [b"\1\2"]
    assert answer == {TAG: "Uint8Array", "data": "AgE="}


@pytest.mark.parametrize("tool", ["__class__", "constructor", "__proto__", "toString", "keys", "get", "then", ""])
async def test_names_are_looked_up_in_the_table_and_nowhere_else(tool: str) -> None:
    table = table_of({"real": print})
    assert (await failure(table, tool)).message == f'Tool "{tool}" not found'
    assert (await failure(table, "real", provider=tool)).message == 'Tool "real" not found'


async def test_a_miss_names_what_is_close() -> None:
    table = table_of({"overdue": print, "overdrawn": print, "unrelated": print})
    assert (await failure(table, "overdu")).message == 'Tool "overdu" not found. Did you mean overdue?'


async def test_a_miss_stays_short_and_well_formed() -> None:
    message = (await failure(table_of({"a": print}), "x" * 100_000)).message
    assert len(message) < 1000
    assert (await failure(table_of({"ab\ud800": print}), "ab\udc00")).message


async def test_a_result_beyond_its_bound_names_size_and_limit() -> None:
    table = table_of({"big": lambda: "x" * 100})
    assert await call(table, "big", limit=102) == "x" * 100
    assert (await failure(table, "big", limit=101)).message == (
        "the result of p.big is 102 bytes long; the limit is 101 bytes (Limits.tool_result_bytes)"
    )


# --- failing --------------------------------------------------------------------------------------


async def raises(error: BaseException) -> ToolFailure:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    one = await failure(table_of({"t": plain}), "t")
    two = await failure(table_of({"t": coroutine}), "t")
    assert (one.message, one.extra) == (two.message, two.extra)
    return one


async def test_an_exception_is_its_message_and_its_name() -> None:
    error = await raises(ValueError("no such customer"))
    assert error.message == "no such customer"
    assert json.loads(error.extra) == {"name": "ValueError"}


async def test_an_exception_without_a_message_is_its_name() -> None:
    assert (await raises(KeyError())).message == "KeyError"
    assert (await raises(TimeoutError())).message == "TimeoutError"


async def test_code_details_and_cause_ride_along() -> None:
    class Refused(Exception):
        code = "E_REFUSED"
        details = {"retry": [1, b"x"]}

    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise Refused("outer") from inner
    except Refused as raised:
        error = await raises(raised)
    assert error.message == "outer"
    assert json.loads(error.extra) == {
        "name": "Refused",
        "code": "E_REFUSED",
        "details": {"retry": [1, {TAG: "Uint8Array", "data": "eA=="}]},
        "cause": "KeyError: 'inner'",
    }


async def test_additions_that_cannot_cross_are_left_out() -> None:
    class Odd(Exception):
        code = object()
        details = 2**60

    assert json.loads((await raises(Odd("odd"))).extra) == {"name": "Odd"}


async def test_a_message_that_is_not_well_formed_becomes_so() -> None:
    assert (await raises(ValueError("a\ud800b"))).message == "a\ufffdb"


class Silent(Exception):
    """Cannot say what happened."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Thorny(Exception):
    """Raises when it is looked at."""

    @property
    def code(self) -> str:
        raise RuntimeError("do not touch")


async def test_an_exception_that_cannot_be_read_still_fails_only_its_call() -> None:
    assert (await raises(Silent())).message.startswith("Silent")
    assert (await raises(Thorny("thorny"))).message == "thorny"


async def test_a_cause_that_cannot_be_read_still_fails_only_its_call() -> None:
    error = ValueError("outer")
    error.__cause__ = Silent()
    assert (await raises(error)).message == "outer"


async def test_details_that_nest_without_end_are_left_out() -> None:
    class Nested(Exception):
        details: list[object] = []

    Nested.details.append(Nested.details)
    assert (await raises(Nested("nested"))).message == "nested"


async def test_stop_iteration_fails_the_call() -> None:
    def tool() -> None:
        raise StopIteration(3)

    assert "StopIteration" in (await failure(table_of({"t": tool}), "t")).message


def test_a_tool_that_exits_ends_its_call_and_not_the_host() -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def main() -> ToolFailure:
        return await failure(table_of({"t": leave}), "t")

    assert asyncio.run(main()).message


async def test_cancelling_a_call_is_no_failure_of_the_tool() -> None:
    started = asyncio.Event()

    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(call(table_of({"t": wait}), "t"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**60, "p.t: result is the integer 1152921504606846976"),
        ({"a": [object()]}, "p.t: result.a[0] is of type object"),
        ({"\ud800": 2**60}, "p.t: result."),
    ],
)
async def test_a_result_that_cannot_cross_names_tool_and_path(value: object, message: str) -> None:
    assert (await failure(table_of({"t": lambda: value}), "t")).message.startswith(message)


async def test_a_result_in_a_cycle_fails_its_call() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    error = await failure(table_of({"t": lambda: cycle}), "t")
    assert error.message.startswith("p.t: result[0]")
    assert "cycle" in error.message


@pytest.mark.parametrize("args", [b"", b"{}", b"[", b"null", b'[{"%b":"x","data":"*"}]' % TAG.encode()])
async def test_broken_arguments_fail_the_call(args: bytes) -> None:
    called: list[object] = []
    table = table_of({"t": lambda *args: called.append(args)})
    with pytest.raises(ToolFailure, match=r"^p\.t: "):
        await table.call("p", "t", args, LIMIT)
    assert called == []


async def test_wrong_arguments_are_the_tools_own_error() -> None:
    def one(value: object) -> object:
        return value

    error = await failure(table_of({"one": one}), "one")
    assert "missing 1 required positional argument" in error.message
    assert json.loads(error.extra)["name"] == "TypeError"


# --- dispatch -------------------------------------------------------------------------------------


def answering(answer: object, seen: list[object] | None = None) -> Dispatch:
    async def dispatch(provider: str, tool: str, args: str) -> str:
        if seen is not None:
            seen.append((provider, tool, args))
        return answer  # pyright: ignore[reportReturnType]

    return dispatch


async def test_dispatch_gets_three_strings_and_the_declared_name() -> None:
    seen: list[object] = []
    table = table_of(["issues.list"], answering('{"result": [1]}', seen))
    assert await table.call("p", "issues_list", b'[{"a":"\xc3\xa9"}]', LIMIT) == b"[1]"
    assert seen == [("p", "issues.list", '[{"a":"é"}]')]


async def test_callables_are_served_without_dispatch() -> None:
    table = table_of({"own": lambda: 1, "declared": None}, answering('{"result": 2}'))  # pyright: ignore[reportArgumentType]
    assert await call(table, "own") == 1
    assert await call(table, "declared") == 2


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ('{"result": 1}', 1),
        ('{"result": null}', None),
        ('{"result": {"a": "\\u00e9"}}', {"a": "é"}),
        ('{"result": 12345678901234567890}', 12345678901234567890),
        ('{"result": 123456789012345678901234567890}', 123456789012345678901234567890),
        ('{"result": [1.5, -0.0, 1e300]}', [1.5, 0.0, 1e300]),
        ('{"result": 1, "error": null}', 1),
        ('{"result": 1, "error": ""}', 1),
        ("{}", "undefined"),
        ('{"other": 1}', "undefined"),
    ],
)
async def test_an_answer_of_dispatch_is_passed_on_as_it_is(answer: str, result: object) -> None:
    assert await call(table_of(["t"], answering(answer)), "t") == result


async def test_tags_of_dispatch_are_passed_on_as_they_are() -> None:
    tagged = {TAG: "ArrayBuffer", "data": "AQI="}
    assert await call(table_of(["t"], answering(json.dumps({"result": tagged}))), "t") == tagged


async def test_escaped_lone_surrogates_of_dispatch_are_passed_on() -> None:
    # What json.dumps makes of a lone surrogate is JSON, and JavaScript's strings hold it.
    table = table_of(["t"], answering(json.dumps({"result": ["\ud800"]})))
    assert await call(table, "t") == ["\ud800"]


@pytest.mark.parametrize(
    ("answer", "message", "extra"),
    [
        ('{"error": "no"}', "no", {}),
        ('{"error": "no", "result": 1}', "no", {}),
        (
            '{"error": "no", "name": "E", "code": 4, "details": [1], "cause": "c", "more": 1}',
            "no",
            {"name": "E", "code": 4, "details": [1], "cause": "c"},
        ),
        (json.dumps({"error": "a\ud800b"}), "a\ufffdb", {}),
    ],
)
async def test_an_error_of_dispatch_fails_the_call(answer: str, message: str, extra: dict[str, object]) -> None:
    error = await failure(table_of(["t"], answering(answer)), "t")
    assert error.message == message
    assert json.loads(error.extra) == extra


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "1",
        "[]",
        "null",
        "undefined",
        "{",
        "{'result': 1}",
        '{"result": NaN}',
        '{"result": [Infinity]}',
        '{"result": [1,]}',
        '{"result": tru}',
        '{"result": 01}',
        '{"result": "\n"}',
        '{"result": "\\x"}',
        '{"result": 1} 2',
        '{"result": 1, "x": nul}',
        '\ufeff{"result": 1}',
        '{"result": ' + "[" * 100_000 + "}",
    ],
    ids=lambda answer: repr(answer[:30]),
)
async def test_an_answer_that_is_not_json_fails_the_call(answer: str) -> None:
    error = await failure(table_of(["t"], answering(answer)), "t")
    assert error.message.startswith("dispatch must return ")
    assert "JSON" in error.message


@pytest.mark.parametrize("answer", [None, b'{"result": 1}', {"result": 1}, 3])
async def test_an_answer_that_is_no_string_fails_the_call(answer: object) -> None:
    error = await failure(table_of(["t"], answering(answer)), "t")
    assert error.message == f"dispatch must return a JSON string, not {type(answer).__name__}"


async def test_dispatch_that_raises_fails_the_call() -> None:
    async def dispatch(provider: str, tool: str, args: str) -> str:
        raise ValueError(f"{provider}.{tool} is down")

    assert (await failure(table_of(["t"], dispatch), "t")).message == "p.t is down"


async def test_a_result_of_dispatch_has_the_same_bound() -> None:
    table = table_of(["t"], answering('{"result": "xxxxxxxx"}'))
    assert await call(table, "t", limit=10) == "xxxxxxxx"
    assert "Limits.tool_result_bytes" in (await failure(table, "t", limit=9)).message


# --- threads --------------------------------------------------------------------------------------


async def test_threads_are_capped_and_the_others_wait() -> None:
    release = threading.Event()
    running: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def tool() -> None:
        with lock:
            running.append(1)
            most.append(len(running))
        release.wait(10)
        with lock:
            running.pop()

    threads = ToolThreads(3)
    # One run may hold a part of the threads only, so several runs ask.
    tables = [ToolTable([Provider("p", {"t": tool})], None, threads) for _ in range(10)]
    tasks = [asyncio.ensure_future(call(table, "t")) for table in tables]
    while len(running) < 3:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.02)
    release.set()
    await asyncio.gather(*tasks)
    assert max(most) == 3
    assert len(most) == 10


async def test_one_run_holds_a_part_of_the_threads_only() -> None:
    release = threading.Event()
    threads = ToolThreads(8)
    greedy = ToolTable([Provider("p", {"t": release.wait})], None, threads)
    waiting = [asyncio.ensure_future(call(greedy, "t", 10)) for _ in range(20)]
    await asyncio.sleep(0.02)
    modest = ToolTable([Provider("p", {"t": lambda: "answered"})], None, threads)
    assert await asyncio.wait_for(call(modest, "t"), 5) == "answered"
    assert not any(task.done() for task in waiting)
    release.set()
    await asyncio.gather(*waiting)


async def test_a_call_may_be_abandoned_and_its_late_answer_is_dropped() -> None:
    release, left = threading.Event(), threading.Event()

    def tool() -> int:
        release.wait(10)
        left.set()
        return 1

    task = asyncio.ensure_future(call(table_of({"t": tool}), "t"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    assert await asyncio.to_thread(left.wait, 10)
    await asyncio.sleep(0.01)


def test_a_thread_that_outlives_its_loop_ends_quietly() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def tool() -> None:
        threads.append(threading.current_thread())
        release.wait(10)

    async def main() -> None:
        task = asyncio.ensure_future(call(table_of({"t": tool}), "t"))
        while not threads:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(main())
    assert threads[0].daemon
    release.set()
    threads[0].join(10)
    assert not threads[0].is_alive()


def test_failure_carries_its_parts() -> None:
    error = ToolFailure("m", b'{"code":1}')
    assert (str(error), error.message, error.extra) == ("m", "m", b'{"code":1}')
    assert ToolFailure("m").extra == b"{}"
    assert msgspec.json.decode(error.extra) == {"code": 1}
