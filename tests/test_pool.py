"""The pool at work: admission, order, growth, replacement. Verdicts come from /proc and from the tools."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from pathlib import Path

import pytest

from codemode_executor import ExecuteResult, IsolateExecutor, Limits, Provider
from codemode_executor.errors import NestingLimit, QueueFull, QueueTimeout
from codemode_executor.jail import Hardening
from pools import HANG, LIMITS, Gate, busy_pids, fresh, idle, tally, warm, workers_alive, zygotes_alive
from witness import descendants, eventually, is_alive


def numbers(executor: IsolateExecutor) -> tuple[int, int, int, int]:
    stats = executor.stats()
    assert stats is not None
    return stats.starting + stats.finishing, stats.idle, stats.busy, stats.queued


# --- admission -------------------------------------------------------------------------------------


async def test_two_hundred_runs_at_once_on_eight_workers(hardening: Hardening) -> None:
    busiest = inside = 0

    async def work(number: int) -> int:
        nonlocal busiest, inside
        inside += 1
        busiest = max(busiest, inside)
        await asyncio.sleep(0.005)
        inside -= 1
        return number * number

    providers = [Provider("t", {"work": work})]
    async with fresh(max_workers=8, max_queue=200, hardening=hardening) as executor:
        runs = [executor.execute(f"async () => await t.work({n})", providers=providers) for n in range(200)]
        outcomes = await asyncio.gather(*runs)
        assert [(o.result, o.error) for o in outcomes] == [(n * n, None) for n in range(200)]
        assert 2 <= busiest <= 8
        assert len(workers_alive()) <= 8
        stats = executor.stats()
        assert stats is not None
        assert (stats.runs, stats.queue_full, stats.queue_timeouts, stats.workers_lost) == (200, 0, 0, 0)


@pytest.mark.parametrize("warmed", [False, True], ids=["no worker yet", "all workers idle"])
async def test_of_120_runs_those_beyond_workers_and_queue_are_refused(warmed: bool, hardening: Hardening) -> None:
    """Admitted are max_workers that run and max_queue that wait: 2 + 98."""
    async with fresh(max_workers=2, max_queue=98, hardening=hardening) as executor:
        if warmed:
            await warm(executor, 2)
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(120)]
        await eventually(lambda: gate.entered == 2, "two runs in their tools")
        refused = [run.exception() for run in runs if run.done()]
        assert tally(refused) == {"QUEUE_FULL": 20}
        for error in refused:
            assert isinstance(error, QueueFull)
            assert 98 <= error.queue_length <= 100
            assert 0 < error.retry_after_s < 60
        stats = executor.stats()
        assert stats is not None
        assert (stats.busy, stats.queued, stats.queue_full) == (2, 98, 20)
        gate.open.set()
        assert tally(await asyncio.gather(*runs, return_exceptions=True)) == {"ok": 100, "QUEUE_FULL": 20}
        assert gate.entered == 100


async def test_without_a_queue_a_run_is_admitted_or_refused(hardening: Hardening) -> None:
    async with fresh(max_workers=1, max_queue=0, hardening=hardening) as executor:
        gate = Gate()
        run = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "the run in its tool")
        with pytest.raises(QueueFull, match="max_queue") as caught:
            await executor.execute("1")
        assert (caught.value.code, caught.value.queue_length) == ("QUEUE_FULL", 0)
        gate.open.set()
        assert (await run).error is None
        assert (await executor.execute("1")).result == 1


async def test_a_run_that_waits_too_long_is_told_so(hardening: Hardening) -> None:
    async with fresh(max_workers=1, queue_timeout_s=2, hardening=hardening) as executor:
        await executor.execute("1")
        gate = Gate()
        first = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "the run in its tool")
        waiting = [executor.execute(HANG, providers=gate.providers) for _ in range(3)]
        errors = await asyncio.gather(*waiting, return_exceptions=True)
        assert tally(errors) == {"QUEUE_TIMEOUT": 3}
        for error in errors:
            assert isinstance(error, QueueTimeout)
            assert 1.9 < error.waited_s < 8
            assert error.retry_after_s > 0
            assert "queue_timeout_s" in str(error)
        assert sorted(e.queue_length for e in errors if isinstance(e, QueueTimeout)) == [0, 1, 2]
        stats = executor.stats()
        assert stats is not None
        assert (stats.queue_timeouts, stats.queued, stats.busy) == (3, 0, 1)
        gate.open.set()
        assert (await first).error is None
        assert gate.entered == 1


async def test_a_flooding_tenant_delays_another_by_two_runs_at_most(hardening: Hardening) -> None:
    order: list[str] = []
    gate = asyncio.Event()

    async def seen(tenant: str) -> None:
        order.append(tenant)
        await gate.wait()

    async with fresh(max_workers=1, max_queue=200, hardening=hardening) as executor:

        def run(tenant: str) -> asyncio.Future[ExecuteResult]:
            providers = [Provider("t", {"seen": seen})]
            code = f"async () => await t.seen('{tenant}')"
            return asyncio.ensure_future(executor.execute(code, providers=providers, tenant=tenant))

        flood = [run("flood") for _ in range(100)]
        await eventually(lambda: len(order) == 1, "the first run of the flood")
        single = run("single")
        await asyncio.sleep(0)
        gate.set()
        assert (await asyncio.wait_for(single, 10)).error is None
        assert order.index("single") <= 2
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_three_tenants_are_served_in_turn(hardening: Hardening) -> None:
    order: list[str] = []

    async def seen(tenant: str) -> None:
        order.append(tenant)

    async with fresh(max_workers=1, max_queue=200, hardening=hardening) as executor:
        providers = [Provider("t", {"seen": seen})]
        tenants = ["a"] * 6 + ["b"] * 6 + ["c"] * 6
        runs = [executor.execute(f"async () => await t.seen('{t}')", providers=providers, tenant=t) for t in tenants]
        await asyncio.gather(*runs)
        assert "".join(order) == "abc" * 6


# --- growth, rest, replacement ---------------------------------------------------------------------


async def test_it_grows_to_the_maximum_and_shrinks_to_the_minimum(hardening: Hardening) -> None:
    async with fresh(min_workers=1, max_workers=4, idle_s=0.2, hardening=hardening) as executor:
        before = await warm(executor, 4)
        assert len(workers_alive()) == 4
        await eventually(lambda: len(workers_alive()) == 1, "three workers fewer")
        assert set(executor.worker_pids) < before
        assert executor.worker_pids == tuple(workers_alive())
        await asyncio.sleep(0.5)
        assert len(workers_alive()) == 1
        assert len(await warm(executor, 4)) == 4


async def test_the_minimum_is_ready_before_anybody_asks(hardening: Hardening) -> None:
    async with fresh(min_workers=3, max_workers=4, hardening=hardening) as executor:
        await eventually(lambda: idle(executor) == 3, "three idle workers")
        assert len(workers_alive()) == 3
        os.kill(executor.worker_pids[0], 9)
        await eventually(lambda: len(workers_alive()) == 3 and idle(executor) == 3, "a third worker again")


async def test_a_worker_is_replaced_after_its_runs_and_not_before_the_next_is_ready(hardening: Hardening) -> None:
    async with fresh(min_workers=1, max_workers=1, runs_per_worker=3, hardening=hardening) as executor:
        served: list[int] = []

        async def look() -> None:
            stats = executor.stats()
            assert stats is not None
            assert stats.busy == 1
            served.extend(busy_pids(executor))

        providers = [Provider("t", {"look": look})]
        for _ in range(9):
            assert (await executor.execute("async () => await t.look()", providers=providers)).error is None
        assert [served.count(pid) for pid in dict.fromkeys(served)] == [3, 3, 3]
        await eventually(lambda: not any(is_alive(pid) for pid in set(served)), "the end of the replaced workers")
        stats = executor.stats()
        assert stats is not None
        assert (stats.workers_lost, stats.workers_failed) == (0, 0)


async def test_the_successor_is_ready_while_the_last_run_is_still_going(hardening: Hardening) -> None:
    async with fresh(min_workers=1, max_workers=1, runs_per_worker=1, hardening=hardening) as executor:
        gate = Gate()
        run = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "the run in its tool")
        await eventually(lambda: idle(executor) == 1, "its worker's successor")
        assert len(workers_alive()) == 2
        gate.open.set()
        await run
        started = time.monotonic()
        assert (await executor.execute("1")).result == 1
        assert time.monotonic() - started < 1


async def test_a_process_for_every_run(hardening: Hardening) -> None:
    async with fresh(isolation="process", max_workers=4, hardening=hardening) as executor:
        pids: list[int] = []

        async def look(number: int) -> int:
            pids.extend(busy_pids(executor))
            return number

        providers = [Provider("t", {"look": look})]
        for n in range(12):
            outcome = await executor.execute(f"async () => await t.look({n})", providers=providers)
            assert (outcome.result, outcome.error) == (n, None)
        assert len(pids) == len(set(pids)) == 12
        outcomes = await asyncio.gather(*(executor.execute(str(n)) for n in range(40)))
        assert [o.result for o in outcomes] == list(range(40))
        stats = executor.stats()
        assert stats is not None
        assert stats.runs == 52
        assert stats.workers_started >= 52
        assert (stats.workers_lost, stats.workers_failed) == (0, 0)
        await eventually(lambda: not any(is_alive(pid) for pid in pids), "the end of the used workers")


async def test_the_zygote_is_renewed_while_runs_go_on(hardening: Hardening) -> None:
    async with fresh(min_workers=1, max_workers=4, zygote_forks=5, runs_per_worker=2, hardening=hardening) as executor:
        first = await _zygote(executor)
        gate = Gate()
        held = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "a run on a worker of the first zygote")
        for _ in range(8):
            outcomes = await asyncio.gather(*(executor.execute("1") for _ in range(8)), return_exceptions=True)
            assert tally(outcomes) == {"ok": 8}
        stats = executor.stats()
        assert stats is not None
        assert stats.zygotes_started >= 2
        assert (stats.workers_failed, stats.workers_lost) == (0, 0)
        assert is_alive(first), "a zygote must outlive its workers"
        gate.open.set()
        assert (await held).error is None
        for _ in range(8):
            await asyncio.gather(*(executor.execute("1") for _ in range(4)))
        await eventually(lambda: not is_alive(first), "the end of the first zygote")


@pytest.mark.parametrize("forks", [1, 2, 3])
async def test_renewal_in_full_flight_fails_no_worker(forks: int, hardening: Hardening) -> None:
    async with fresh(isolation="process", max_workers=4, zygote_forks=forks, hardening=hardening) as executor:
        outcomes = await asyncio.gather(*(executor.execute("1") for _ in range(40)), return_exceptions=True)
        assert tally(outcomes) == {"ok": 40}
        stats = executor.stats()
        assert stats is not None
        assert stats.zygotes_started >= 2
        assert (stats.workers_failed, stats.workers_lost) == (0, 0)
        # What was retired leaves; the one that forks stays, perhaps with the next one.
        await eventually(lambda: 1 <= len(zygotes_alive()) <= 2, "the end of the retired zygotes")


async def test_the_zygote_is_renewed_by_age(hardening: Hardening) -> None:
    async with fresh(isolation="process", max_workers=1, zygote_age_s=0.8, hardening=hardening) as executor:
        await executor.execute("1")
        first = zygotes_alive()[0]  # on a slow machine its successor may be there already
        until = time.monotonic() + 10
        while is_alive(first) and time.monotonic() < until:
            assert (await executor.execute("1")).result == 1
            await asyncio.sleep(0.05)
        assert not is_alive(first)


async def _zygote(executor: IsolateExecutor) -> int:
    await executor.execute("1")
    (pid,) = zygotes_alive()
    return pid


# --- nested runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [4, 5])
async def test_nested_runs_with_one_worker(depth: int, hardening: Hardening) -> None:
    reached: list[int] = []
    refused: list[NestingLimit] = []
    async with fresh(max_workers=1, min_workers=1, queue_timeout_s=10, hardening=hardening) as executor:

        async def down(level: int) -> object:
            reached.append(level)
            if level == depth:
                return "bottom"
            try:
                inner = await executor.execute(f"async () => await t.down({level + 1})", providers=providers)
            except NestingLimit as error:
                refused.append(error)
                raise
            return [level, inner.result or inner.error]

        providers = [Provider("t", {"down": down})]
        outcome = await asyncio.wait_for(executor.execute("async () => await t.down(0)", providers=providers), 15)
        assert outcome.error is None
        if depth == 4:
            assert reached == [0, 1, 2, 3, 4]
            assert outcome.result == [0, [1, [2, [3, "bottom"]]]]
            assert not refused
        else:
            assert reached == [0, 1, 2, 3, 4]
            (error,) = refused
            assert (error.code, error.depth, error.limit) == ("NESTING_LIMIT", 5, 4)
            assert "NESTING" not in str(outcome.result)
            assert "depth 5; the limit is 4" in str(outcome.result)
        assert (await executor.execute("1")).result == 1


async def test_many_nested_runs_at_once_with_two_workers(hardening: Hardening) -> None:
    async with fresh(max_workers=2, max_queue=50, hardening=hardening) as executor:

        async def inner(n: int, depth: int) -> object:
            if depth == 0:
                return n
            code = f"async () => (await Promise.all([t.inner({n}, {depth - 1}), t.inner({n}, {depth - 1})]))[1]"
            outcome = await executor.execute(code, providers=providers)
            assert outcome.error is None, outcome.error
            return outcome.result

        providers = [Provider("t", {"inner": inner})]
        runs = [executor.execute(f"async () => await t.inner({n}, 2)", providers=providers) for n in range(12)]
        outcomes = await asyncio.wait_for(asyncio.gather(*runs), 30)
        assert [o.result for o in outcomes] == list(range(12))
        await eventually(lambda: numbers(executor)[2:] == (0, 0), "nobody busy, nobody waiting")


async def test_a_nested_run_on_another_executor_is_not_nested(hardening: Hardening) -> None:
    async with (
        fresh(max_workers=1, hardening=hardening) as one,
        IsolateExecutor(limits=LIMITS, min_workers=1, max_workers=1, hardening=hardening) as other,
    ):

        async def ping(n: int) -> object:
            if n == 0:
                return "end"
            executor = other if n % 2 else one
            return (await executor.execute(f"async () => await t.ping({n - 1})", providers=providers)).result

        providers = [Provider("t", {"ping": ping})]
        outcome = await asyncio.wait_for(one.execute("async () => await t.ping(8)", providers=providers), 20)
        assert outcome.result == "end"


async def test_what_a_tool_started_and_left_is_still_nested(hardening: Hardening) -> None:
    """A task that outlives its tool call keeps the depth, which is the careful side."""
    async with fresh(max_workers=1, hardening=hardening) as executor:
        tasks: list[asyncio.Task[ExecuteResult]] = []

        async def later() -> None:
            tasks.append(asyncio.create_task(executor.execute("'later'")))

        await executor.execute("async () => await t.later()", providers=[Provider("t", {"later": later})])
        assert (await tasks[0]).result == "later"


# --- tools -----------------------------------------------------------------------------------------


async def test_plain_functions_run_in_a_capped_number_of_threads(hardening: Hardening) -> None:
    lock = threading.Lock()
    inside = most = 0
    names: set[str] = set()

    def work() -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
            names.add(threading.current_thread().name)
        time.sleep(0.01)
        with lock:
            inside -= 1
        return 1

    async with fresh(max_workers=2, tool_threads=3, hardening=hardening) as executor:
        code = "async () => (await Promise.all(Array.from({ length: 20 }, () => t.work()))).length"
        providers = [Provider("t", {"work": work})]
        outcomes = await asyncio.gather(*(executor.execute(code, providers=providers) for _ in range(2)))
        assert [o.result for o in outcomes] == [20, 20]
        assert most == 3
        assert threading.main_thread().name not in names


SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


async def test_tools_see_the_callers_context_and_change_only_copies(hardening: Hardening) -> None:
    async def async_tool(value: str) -> str:
        before = SEEN.get()
        SEEN.set(value)
        await asyncio.sleep(0)
        return before

    def sync_tool(value: str) -> str:
        before = SEEN.get()
        SEEN.set(value)
        return before

    lines: list[str] = []
    async with fresh(max_workers=2, hardening=hardening) as executor:

        async def request(name: str) -> object:
            SEEN.set(name)
            code = (
                "async () => { console.log(1); return [await t.a('x'), await t.s('y'), await t.a('z'), await t.s('')] }"
            )
            outcome = await executor.execute(
                code,
                providers=[Provider("t", {"a": async_tool, "s": sync_tool})],
                on_log=lambda _: lines.append(SEEN.get()),
            )
            assert SEEN.get() == name
            return outcome.result

        got = await asyncio.gather(*(asyncio.create_task(request(f"request {n}")) for n in range(4)))
        assert got == [[f"request {n}"] * 4 for n in range(4)]
        assert sorted(lines) == [f"request {n}" for n in range(4)]
    assert SEEN.get() == "nothing"


# --- what the machine sees -------------------------------------------------------------------------


async def test_workers_are_nice_and_first_to_go_when_memory_is_short(hardening: Hardening) -> None:
    async with fresh(min_workers=2, max_workers=2, hardening=hardening) as executor:
        pids = await warm(executor, 2)
        assert set(workers_alive()) == pids
        mine = os.nice(0)
        for pid in pids:
            assert _oom_score(pid) == 900
            for thread in os.listdir(f"/proc/{pid}/task"):
                assert os.getpriority(os.PRIO_PROCESS, int(thread)) == min(19, mine + 10)
        assert _oom_score("self") < 900
        assert os.nice(0) == mine


def _oom_score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


async def test_the_counters_agree_with_what_is_there(hardening: Hardening) -> None:
    executor = IsolateExecutor(limits=LIMITS, hardening=hardening)
    assert executor.stats() is None
    async with fresh(min_workers=1, max_workers=3, max_queue=10, hardening=hardening) as executor:
        await warm(executor, 3)
        assert numbers(executor) == (0, 3, 0, 0)
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(5)]
        await eventually(lambda: gate.entered == 3, "three runs in their tools")
        assert numbers(executor) == (0, 0, 3, 2)
        assert len(workers_alive()) == 3
        runs[-1].cancel()
        await asyncio.gather(runs[-1], return_exceptions=True)
        assert numbers(executor) == (0, 0, 3, 1)
        gate.open.set()
        await asyncio.gather(*runs[:-1])
        await eventually(lambda: numbers(executor) == (0, 3, 0, 0), "three idle workers")
        stats = executor.stats()
        assert stats is not None
        assert (stats.runs, stats.workers_started, stats.zygotes_started) == (7, 3, 1)
        os.kill(executor.worker_pids[0], 9)
        await eventually(lambda: executor.stats() is not None and len(executor.worker_pids) == 2, "one lost")
        stats = executor.stats()
        assert stats is not None
        assert (stats.workers_lost, stats.workers_failed) == (1, 0)


async def test_the_receipt_of_a_run_that_waited(hardening: Hardening) -> None:
    async def slow(data: str) -> str:
        await asyncio.sleep(0.1)
        return data * 2

    async with fresh(max_workers=1, hardening=hardening) as executor:
        await executor.execute("1")
        first = executor.execute("async () => { for (const end = Date.now() + 150; Date.now() < end;); }")
        code = "async () => { const x = new Uint8Array(16e6).fill(1); await t.slow('abcd'); return x.length }"
        second = executor.execute(code, providers=[Provider("t", {"slow": slow})], limits=Limits(timeout_s=5))
        computing, waiting = await asyncio.gather(first, second)
        assert computing.error is None
        assert computing.usage.cpu_s > 0.05
        assert computing.usage.queue_s < 0.1
        usage = waiting.usage
        assert waiting.result == 16_000_000
        assert usage.queue_s > 0.1
        assert 0.09 < usage.tool_s <= usage.wall_s < 5
        assert usage.cpu_s < usage.wall_s
        assert usage.tool_calls == 1
        assert usage.bytes_out == len('["abcd"]') + len("16000000")
        assert usage.bytes_in == len(code) + len('"abcdabcd"')
        assert 12e6 < usage.memory_peak < 64e6


async def test_no_more_processes_than_were_asked_for(hardening: Hardening) -> None:
    """Also while runs are cancelled as fast as they are admitted: a cancelled run holds its worker for a while."""
    most = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.01):
            most = max(most, sum(p.parent != os.getpid() and p.state not in "ZX" for p in descendants()))

    thread = threading.Thread(target=watch)
    async with fresh(max_workers=3, min_workers=1, max_queue=100, hardening=hardening) as executor:
        await warm(executor, 3)
        thread.start()
        try:
            for _ in range(6):
                gate = Gate()
                code = "async () => { await t.hang(); for (;;); }"
                runs = [asyncio.ensure_future(executor.execute(code, providers=gate.providers)) for _ in range(3)]
                gate.open.set()
                await eventually(lambda gate=gate: gate.entered == 3, "three runs")
                await asyncio.sleep(0.02)
                for run in runs:
                    run.cancel()
                await asyncio.gather(*runs, return_exceptions=True)
        finally:
            over.set()
            thread.join()
        await eventually(lambda: numbers(executor)[0] == 0 and idle(executor) > 0, "rest")
    # Three, and one that starts while a cancelled run is being ended.
    assert most <= 4, f"{most} worker processes at once with max_workers=3"
