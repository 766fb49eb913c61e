"""Retained runs: functions in a result that the host calls, and every way in which they end."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gc
import os
import signal
from typing import Any

import pytest

from codemode_executor import (
    BadRequest,
    ExecutorClosed,
    Handle,
    HandleCallFailed,
    HandleDisposed,
    IsolateExecutor,
    Limits,
    Provider,
    RetainedLimit,
)
from pools import Gate, busy_pids, fresh, idle
from witness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNTER = "async () => { let n = 0; return { add: (by) => n += by, get: async () => n } }"


async def retained(executor: IsolateExecutor, code: str, **options: Any) -> Any:
    outcome = await executor.execute(code, retain_handles=True, **options)
    assert outcome.error is None, outcome.error
    assert outcome.retained is not None
    return outcome


async def test_a_function_keeps_its_state_between_calls() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, COUNTER)
        async with outcome.retained:
            add, get = outcome.result["add"], outcome.result["get"]
            assert isinstance(add, Handle)
            assert [await add(2), await add(3), await get()] == [2, 5, 5]
            assert outcome.retained.alive
        assert not outcome.retained.alive
        with pytest.raises(HandleDisposed, match="the handle was disposed"):
            await add(1)
        await eventually(lambda: idle(executor) >= 1, "the worker waits again")


async def test_without_functions_nothing_is_retained() -> None:
    async with fresh() as executor:
        outcome = await executor.execute("async () => ({a: [1]})", retain_handles=True)
        assert (outcome.result, outcome.retained) == ({"a": [1]}, None)
        await eventually(lambda: idle(executor) >= 1, "the worker waits again")


async def test_without_the_option_a_function_is_an_error() -> None:
    async with fresh() as executor:
        outcome = await executor.execute("async () => ({f: () => 1})")
        assert outcome.error == (
            "The result cannot be returned: result.f is a function: return what it computes, or call it"
        )


async def test_values_cross_as_by_structured_clone() -> None:
    noon = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    async with fresh() as executor:
        outcome = await retained(
            executor,
            "async () => (...args) => [args.length, args[0] instanceof Date, args[1] instanceof Set,"
            " typeof args[2], args[3][0], new Date(0)]",
        )
        async with outcome.retained:
            answer = await outcome.result(noon, {1}, 2**70, b"\x07")
            assert answer == [4, True, True, "bigint", 7, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)]


async def test_functions_that_functions_return_are_handles_too() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, "async () => (a) => (b) => ({sum: a + b, again: () => a})")
        async with outcome.retained:
            inner = await outcome.result(1)
            answer = await inner(2)
            assert (answer["sum"], await answer["again"]()) == (3, 1)


async def test_the_same_function_is_the_same_handle() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, "async () => { const f = () => 1; return [f, f, () => 2] }")
        async with outcome.retained:
            first, second, third = outcome.result
            assert first is second
            assert await third() == 2


async def test_a_function_that_throws_fails_its_call_alone() -> None:
    async with fresh() as executor:
        outcome = await retained(
            executor,
            "async () => ({\n  fail: () => { throw new RangeError('out') },\n"
            "  ok: () => 1, empty: () => { throw '' }, symbol: () => Symbol() })",
        )
        async with outcome.retained:
            with pytest.raises(HandleCallFailed) as caught:
                await outcome.result["fail"]()
            assert (str(caught.value), caught.value.name) == ("out", "RangeError")
            assert "line 2" in caught.value.stack
            with pytest.raises(HandleCallFailed) as caught:
                await outcome.result["empty"]()
            assert str(caught.value)
            with pytest.raises(HandleCallFailed, match="a symbol"):
                await outcome.result["symbol"]()
            assert await outcome.result["ok"]() == 1


async def test_tools_and_logs_work_while_retained() -> None:
    lines: list[str] = []
    async with fresh() as executor:
        outcome = await retained(
            executor,
            "async () => async (n) => { console.log('called', n); return await t.double(n) }",
            providers=[Provider("t", {"double": lambda n: 2 * n})],
            on_log=lambda line: lines.append(line.text),
        )
        async with outcome.retained:
            assert await asyncio.gather(*(outcome.result(n) for n in range(50))) == [2 * n for n in range(50)]
        assert lines == [f"called {n}" for n in range(50)]


async def test_a_timer_of_the_program_goes_on() -> None:
    code = "async () => { let n = 0; setInterval(() => n++, 2); return () => n }"
    async with fresh() as executor:
        outcome = await retained(executor, code)
        async with outcome.retained:
            while await outcome.result() < 3:
                await asyncio.sleep(0.01)


async def test_one_handle_is_released_and_the_others_stay() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, COUNTER)
        async with outcome.retained:
            outcome.result["add"].dispose()
            outcome.result["add"].dispose()
            with pytest.raises(HandleDisposed):
                await outcome.result["add"](1)
            assert await outcome.result["get"]() == 0


async def test_a_call_that_takes_too_long_ends_the_run() -> None:
    async with fresh() as executor:
        for body in ("() => { for (;;); }", "() => new Promise(() => {})"):
            outcome = await retained(executor, f"async () => ({{ slow: {body}, other: () => 1 }})")
            with pytest.raises(HandleDisposed, match="Execution timed out"):
                await outcome.result["slow"](timeout_s=0.3)
            with pytest.raises(HandleDisposed):
                await outcome.result["other"]()
            await outcome.retained.dispose()
        await eventually(lambda: not busy_pids(executor), "no worker is busy")


async def test_calls_in_flight_end_when_it_is_disposed() -> None:
    gate = Gate()
    async with fresh() as executor:
        outcome = await retained(executor, "async () => () => t.hang()", providers=gate.providers)
        calls = [asyncio.ensure_future(outcome.result()) for _ in range(3)]
        await eventually(lambda: gate.inside == 3, "three calls in their tool")
        await outcome.retained.dispose()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(end) for end in ends] == [HandleDisposed] * 3
        await eventually(lambda: gate.inside == 0, "the tools were cancelled")


async def test_an_idle_one_is_disposed() -> None:
    async with fresh(retained_idle_s=0.2) as executor:
        outcome = await retained(executor, COUNTER)
        for _ in range(4):
            await asyncio.sleep(0.1)
            await outcome.result["add"](1)
        await eventually(lambda: not outcome.retained.alive, "the end of its idle life")
        with pytest.raises(HandleDisposed, match=r"nothing was called for 0\.2 s"):
            await outcome.result["get"]()
        await eventually(lambda: idle(executor) >= 1, "the worker waits again")


async def test_a_host_that_forgets_it_leaks_nothing() -> None:
    async with fresh(retained_idle_s=0.1, max_workers=2) as executor:
        for _ in range(6):
            outcome = await retained(executor, COUNTER)
            del outcome
            gc.collect(1)
        await eventually(lambda: not busy_pids(executor), "all were disposed")


async def test_no_more_than_the_limit_are_retained() -> None:
    async with fresh(max_retained=2, max_workers=4) as executor:
        kept = [await retained(executor, COUNTER) for _ in range(2)]
        with pytest.raises(RetainedLimit, match="the limit is 2") as caught:
            await executor.execute(COUNTER, retain_handles=True)
        assert caught.value.limit == 2
        assert (await executor.execute("async () => 1")).result == 1
        await kept[0].retained.dispose()
        kept.append(await retained(executor, COUNTER))
        for outcome in kept:
            await outcome.retained.dispose()
            await outcome.retained.dispose()


async def test_a_thousand_cycles_leave_nothing() -> None:
    async with fresh(max_workers=2) as executor:
        for n in range(250):
            outcomes = await asyncio.gather(*(retained(executor, COUNTER) for _ in range(2)))
            assert [await outcome.result["add"](n) for outcome in outcomes] == [n, n]
            await asyncio.gather(*(outcome.retained.dispose() for outcome in outcomes))
        assert not busy_pids(executor)


async def test_a_killed_worker_is_heard_of() -> None:
    gate = Gate()
    async with fresh() as executor:
        outcome = await retained(executor, "async () => () => t.hang()", providers=gate.providers)
        call = asyncio.ensure_future(outcome.result())
        await eventually(lambda: gate.inside == 1, "the call in its tool")
        os.kill(busy_pids(executor)[0], signal.SIGKILL)
        with pytest.raises(HandleDisposed, match="the worker process died"):
            await call
        with pytest.raises(HandleDisposed):
            await outcome.result()
        assert (await executor.execute("async () => 1")).result == 1


async def test_one_that_grows_is_ended() -> None:
    async with fresh(
        limits=Limits(memory_mb=64, argument_bytes=1024, result_bytes=1024, tool_result_bytes=1024)
    ) as executor:
        outcome = await retained(
            executor, "async () => { const kept = []; return () => kept.push(new Uint8Array(1 << 23).fill(1)) }"
        )
        with pytest.raises(HandleDisposed, match="memory limit exceeded"):
            while True:
                await outcome.result()
        await eventually(lambda: not busy_pids(executor), "the worker is gone")


async def test_closing_the_executor_ends_it() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, COUNTER)
        await executor.aclose()
        with pytest.raises(HandleDisposed, match="closed"):
            await outcome.result["get"]()
        with pytest.raises(ExecutorClosed):
            await executor.execute("1")


async def test_unusable_arguments_are_refused_before_anything_runs() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, COUNTER, limits=Limits(argument_bytes=100))
        async with outcome.retained:
            add = outcome.result["add"]
            with pytest.raises(BadRequest, match="is of type object"):
                await add(object())
            with pytest.raises(BadRequest, match=r"the limit is 100 bytes \(Limits\.argument_bytes\)"):
                await add("x" * 100)
            with pytest.raises(BadRequest, match="timeout_s"):
                await add(1, timeout_s=0)
            assert await add(1) == 1


async def test_an_answer_beyond_its_bound_fails_its_call() -> None:
    async with fresh() as executor:
        outcome = await retained(executor, "async () => (n) => 'é'.repeat(n)", limits=Limits(result_bytes=100))
        async with outcome.retained:
            for count in (60, 200):
                with pytest.raises(HandleCallFailed, match=r"the limit is 100 bytes \(Limits\.result_bytes\)"):
                    await outcome.result(count)
            assert await outcome.result(2) == "éé"


async def test_a_cancelled_caller_leaves_the_run_alive() -> None:
    gate = Gate()
    async with fresh() as executor:
        outcome = await retained(
            executor, "async () => ({hang: () => t.hang(), now: () => 1})", providers=gate.providers
        )
        async with outcome.retained:
            call = asyncio.ensure_future(outcome.result["hang"]())
            await eventually(lambda: gate.inside == 1, "the call in its tool")
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            assert await outcome.result["now"]() == 1
            gate.open.set()


async def test_ten_megabytes_both_ways() -> None:
    async with fresh(limits=Limits(memory_mb=512)) as executor:
        outcome = await retained(executor, "async () => (text) => text + '!'")
        async with outcome.retained:
            assert len(await outcome.result("x" * 10_000_000)) == 10_000_001
