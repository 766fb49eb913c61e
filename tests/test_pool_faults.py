"""Faults of real processes, all at once and in the middle of everything. The pool loses nothing and recovers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import resource
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from codemode_executor import (
    ExecuteResult,
    ExecutorClosed,
    ExecutorError,
    HardeningUnavailable,
    IsolateExecutor,
    Limits,
    LogLine,
    Provider,
    WorkerCrashed,
    WorkerStartFailed,
)
from codemode_executor.jail import Hardening
from codemode_executor.usage import resident_bytes
from pools import HANG, LIMITS, Gate, busy_pids, fresh, tally, warm, workers_alive, zygotes_alive
from witness import eventually, is_alive

SPIN = "async () => { for (;;); }"
SHORT = Limits(timeout_s=0.3, memory_mb=64)
MIB = 1024 * 1024


async def works(executor: IsolateExecutor, count: int = 1) -> None:
    runs = (executor.execute(f"{n} + 1") for n in range(count))
    outcomes = await asyncio.wait_for(asyncio.gather(*runs), 15)
    assert [(o.result, o.error) for o in outcomes] == [(n + 1, None) for n in range(count)]


# --- killed ----------------------------------------------------------------------------------------


async def test_every_worker_killed_at_once(hardening: Hardening) -> None:
    """Each fault has one owner: the runs that were on the workers fail, those that waited do not notice."""
    async with fresh(max_workers=4, max_queue=50, hardening=hardening) as executor:
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(20)]
        await eventually(lambda: gate.entered == 4, "four runs in their tools")
        pids = workers_alive()
        assert len(pids) == 4
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        await eventually(lambda: gate.entered == 8, "the next four")
        gate.open.set()
        assert tally(await asyncio.gather(*runs, return_exceptions=True)) == {"WORKER_CRASHED": 4, "ok": 16}
        stats = executor.stats()
        assert stats is not None
        assert stats.workers_lost == 4
        await works(executor, 8)


async def test_every_idle_worker_killed_as_runs_come_in(hardening: Hardening) -> None:
    """Whether a run meets a dying worker or not, it is answered: at worst it says that its worker died."""
    async with fresh(max_workers=4, max_queue=50, hardening=hardening) as executor:
        for _ in range(5):
            await warm(executor, 4)
            for pid in executor.worker_pids:
                os.kill(pid, signal.SIGKILL)
            runs = [executor.execute("1") for _ in range(8)]
            counts = tally(await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 10))
            assert set(counts) <= {"ok", "WORKER_CRASHED"}, counts
            assert counts.get("ok", 0) >= 4, counts


async def test_the_zygote_killed_with_runs_in_flight_and_in_the_queue(hardening: Hardening) -> None:
    async with fresh(orphans=True, max_workers=3, max_queue=50, hardening=hardening) as executor:
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(12)]
        await eventually(lambda: gate.entered == 3, "three runs in their tools")
        (zygote,) = zygotes_alive()
        os.kill(zygote, signal.SIGKILL)
        await eventually(lambda: not is_alive(zygote), "the end of the zygote")
        await asyncio.sleep(0.1)
        gate.open.set()
        counts = tally(await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 20))
        # The runs on its workers may go on or go with it; those that waited must not notice.
        assert set(counts) <= {"ok", "WORKER_CRASHED"}, counts
        assert counts["ok"] >= 9, counts
        await works(executor, 6)


async def test_the_zygote_killed_while_many_workers_start(hardening: Hardening) -> None:
    """One fault, however many workers it hits: it says nothing about whether the next zygote can start."""
    async with fresh(orphans=True, max_workers=8, max_queue=50, hardening=hardening) as executor:
        runs = [asyncio.ensure_future(executor.execute("1")) for _ in range(20)]
        await eventually(lambda: len(workers_alive()) >= 2, "the first forks")
        for zygote in zygotes_alive():
            os.kill(zygote, signal.SIGKILL)
        counts = tally(await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 15))
        assert set(counts) <= {"ok", "WORKER_CRASHED"}, counts
        assert counts["ok"] >= 12, counts
        await works(executor)


async def test_the_zygote_killed_again_and_again(hardening: Hardening) -> None:
    async with fresh(orphans=True, isolation="process", max_workers=2, max_queue=100, hardening=hardening) as executor:
        await works(executor)
        runs = [asyncio.ensure_future(executor.execute("1")) for _ in range(40)]
        for _ in range(4):
            await asyncio.sleep(0.15)
            for zygote in zygotes_alive():
                os.kill(zygote, signal.SIGKILL)
        counts = tally(await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 30))
        assert set(counts) <= {"ok", "WORKER_CRASHED"}, counts
        assert counts["ok"] >= 30, counts
        await works(executor)


# --- stopped ---------------------------------------------------------------------------------------


async def test_a_worker_stopped_while_idle(monkeypatch: pytest.MonkeyPatch, hardening: Hardening) -> None:
    """It never takes the run that it is given; another does, soon."""
    monkeypatch.setattr("codemode_executor.run._ACCEPT_TIMEOUT_S", 0.3)
    async with fresh(max_workers=1, hardening=hardening) as executor:
        (pid,) = await warm(executor, 1)
        os.kill(pid, signal.SIGSTOP)
        gate = Gate()
        gate.open.set()
        outcome = await asyncio.wait_for(executor.execute(HANG, providers=gate.providers), 10)
        assert (outcome.error, gate.entered) == (None, 1)
        await eventually(lambda: not is_alive(pid), "the end of the stopped worker")


async def test_workers_stopped_while_busy(hardening: Hardening) -> None:
    async with fresh(max_workers=4, hardening=hardening) as executor:
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers, limits=SHORT)) for _ in "1234"]
        await eventually(lambda: gate.entered == 4, "four runs in their tools")
        stopped = workers_alive()[:3]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        outcomes = await asyncio.wait_for(asyncio.gather(*runs), 10)
        assert tally(outcomes) == {"Execution timed out": 4}
        assert gate.inside == 0
        await eventually(lambda: not any(map(is_alive, stopped)), "the end of the stopped workers")
        await works(executor, 4)


async def test_closing_with_stopped_workers(hardening: Hardening) -> None:
    started = time.monotonic()
    async with fresh(max_workers=2, hardening=hardening) as executor:
        gate = Gate()
        run = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "a run in its tool")
        for pid in workers_alive():
            os.kill(pid, signal.SIGSTOP)
        await asyncio.wait_for(executor.aclose(), 10)
        with pytest.raises(ExecutorClosed):
            await run
    assert time.monotonic() - started < 15


async def test_closing_with_a_stopped_zygote(hardening: Hardening) -> None:
    async with fresh(orphans=True, max_workers=2, hardening=hardening) as executor:
        await works(executor)
        (zygote,) = zygotes_alive()
        os.kill(zygote, signal.SIGSTOP)
        await works(executor)
        await asyncio.wait_for(executor.aclose(), 15)
        assert not is_alive(zygote)


async def test_a_stopped_zygote_is_replaced(monkeypatch: pytest.MonkeyPatch, hardening: Hardening) -> None:
    """Nothing waits without a deadline, a fork included."""
    monkeypatch.setattr("codemode_executor.zygote._START_TIMEOUT_S", 1.0)
    async with fresh(orphans=True, max_workers=1, queue_timeout_s=8, hardening=hardening) as executor:
        await works(executor)
        (zygote,) = zygotes_alive()
        os.kill(zygote, signal.SIGSTOP)
        try:
            for pid in executor.worker_pids:
                os.kill(pid, signal.SIGKILL)
            outcome = await asyncio.wait_for(executor.execute("1"), 12)
            assert outcome.result == 1
        finally:
            if is_alive(zygote):
                os.kill(zygote, signal.SIGCONT)


# --- a supervisor that is slow to read -------------------------------------------------------------


async def test_a_host_that_is_blocked_while_programs_log(hardening: Hardening) -> None:
    """The loop stands still for a second: the programs wait, nothing is lost, and memory stays bounded."""
    lines: list[LogLine] = []
    code = "async () => { for (let i = 0; i < 5000; i++) console.log(i + ' ' + 'x'.repeat(1000)); return 'done' }"
    async with fresh(max_workers=4, hardening=hardening) as executor:
        await warm(executor, 4)
        before = resident_bytes(os.getpid()) or 0
        runs = [asyncio.ensure_future(executor.execute(code, on_log=lines.append)) for _ in range(4)]
        await eventually(lambda: len(lines) > 0, "the first line")
        time.sleep(1)  # noqa: ASYNC251 - the blocked loop is what is tested
        outcomes = await asyncio.gather(*runs)
        for outcome in outcomes:
            assert (outcome.result, outcome.error) == ("done", None)
            assert [line.split(" ")[0] for line in outcome.logs] == [str(i) for i in range(5000)]
        # Twice 20 MB of lines that were asked for (the list here, the envelopes), and what is on its way.
        assert (resident_bytes(os.getpid()) or 0) - before < 120 * MIB


async def test_a_host_that_is_blocked_while_programs_call(hardening: Hardening) -> None:
    calls = 0

    def count(n: int) -> int:
        nonlocal calls
        calls += 1
        return n

    async def asynchronous(n: int) -> int:
        return count(n)

    code = "async () => (await Promise.all(Array.from({ length: 2000 }, (_, i) => t.count(i)))).reduce((a, b) => a + b)"
    providers = [Provider("t", {"count": asynchronous})]
    async with fresh(max_workers=4, hardening=hardening) as executor:
        await warm(executor, 4)
        runs = [asyncio.ensure_future(executor.execute(code, providers=providers)) for _ in range(4)]
        await eventually(lambda: calls > 0, "the first call")
        for _ in range(5):
            time.sleep(0.2)  # noqa: ASYNC251 - the blocked loop is what is tested
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*runs)
        assert [(o.result, o.error) for o in outcomes] == [(1999000, None)] * 4
        assert calls == 8000


@pytest.mark.parametrize("kib", [1, 1000], ids=["a short answer", "an answer longer than one read"])
async def test_an_answer_that_came_in_time_counts_however_late_it_is_read(kib: int, hardening: Hardening) -> None:
    """The program was done within its time; that the host was not is no fault of it."""

    def slow(_: LogLine) -> None:
        time.sleep(1.5)

    limits = Limits(timeout_s=0.8, memory_mb=64)
    async with fresh(max_workers=1, hardening=hardening) as executor:
        await warm(executor, 1)
        code = f"async () => {{ console.log('here'); return 'x'.repeat({kib} * 1024) }}"
        outcome = await executor.execute(code, limits=limits, on_log=slow)
        assert (outcome.error, len(outcome.result or "")) == (None, kib * 1024)
        await works(executor)


# --- mixed storms ----------------------------------------------------------------------------------

ABORT = "async () => { Array.from({ length: 1e9 }, (_, i) => [i]) }"


async def test_a_third_times_out_a_third_crashes_a_third_succeeds(hardening: Hardening) -> None:
    """Every run gets the end that is its own."""
    victims: list[str] = []

    async def die() -> None:
        """The test kills the worker of this call, which is one that is busy with such a run."""
        task = asyncio.current_task()
        assert task is not None
        victims.append(task.get_name())
        await asyncio.Event().wait()

    async def square(n: int) -> int:
        return n * n

    kinds = ["timeout", "crash", "ok"]
    limits = Limits(timeout_s=0.25, memory_mb=64)
    async with fresh(max_workers=6, max_queue=400, hardening=hardening) as executor:
        killer = asyncio.ensure_future(_kill_those_that_wait(executor, victims))

        async def one(n: int) -> tuple[str, ExecuteResult | ExecutorError]:
            kind = kinds[n % 3]
            code = {
                "timeout": SPIN if n % 2 else "async () => { await new Promise(() => {}) }",
                "crash": f"async () => {{ console.log('die'); await t.die({n}) }}",
                "ok": f"async () => await t.square({n})",
            }[kind]
            providers = [Provider("t", {"die": lambda _: die(), "square": square})]
            bounds = limits if kind == "timeout" else None
            try:
                return kind, await executor.execute(code, providers=providers, limits=bounds)
            except ExecutorError as error:
                return kind, error

        try:
            ends = await asyncio.wait_for(asyncio.gather(*(one(n) for n in range(300))), 90)
        finally:
            killer.cancel()
            await asyncio.gather(killer, return_exceptions=True)
        for n, (kind, end) in enumerate(ends):
            if kind == "timeout":
                assert isinstance(end, ExecuteResult), (n, end)
                assert end.error == "Execution timed out", (n, end)
            elif kind == "crash":
                assert isinstance(end, WorkerCrashed), (n, end)
                assert end.exit_status == -signal.SIGKILL
                assert end.logs == ("die",)
            else:
                assert isinstance(end, ExecuteResult), (n, end)
                assert end.result == n * n, (n, end)
        await works(executor, 6)
        stats = executor.stats()
        assert stats is not None
        assert stats.workers_lost == 100


async def _kill_those_that_wait(executor: IsolateExecutor, victims: list[str]) -> None:
    """Kill the workers whose run has logged that it is to die, as seen on the engine's runs."""
    while True:
        engine = executor._engine
        if engine is not None and victims:
            for run in tuple(engine._runs):
                if run.logs and run.logs[0].text == "die" and run.tool_calls and run._worker.state.value == "busy":
                    with contextlib.suppress(ProcessLookupError):  # gone, and not noticed yet
                        os.kill(run._worker.pid, signal.SIGKILL)
        await asyncio.sleep(0.01)


async def test_an_abort_of_v8_is_the_memory_limit_and_a_kill_is_a_crash(hardening: Hardening) -> None:
    async with fresh(max_workers=4, hardening=hardening) as executor:
        gate = Gate()
        killed = asyncio.ensure_future(executor.execute(HANG, providers=gate.providers))
        await eventually(lambda: gate.entered == 1, "the run in its tool")
        (busy,) = busy_pids(executor)
        os.kill(busy, signal.SIGKILL)
        with pytest.raises(WorkerCrashed):
            await killed
        outcomes = await asyncio.gather(*(executor.execute(ABORT) for _ in range(6)))
        for outcome in outcomes:
            assert outcome.error is not None
            assert outcome.error.startswith("memory limit exceeded"), outcome.error
            assert "64 MiB (Limits.memory_mb)" in outcome.error
            assert outcome.detail.bound == "memory"
        await works(executor, 4)


async def test_cancel_storms(hardening: Hardening) -> None:
    """Runs cancelled at any moment: in the queue, before they are taken, while they compute, while they wait."""
    dice = random.Random(7)
    async with fresh(max_workers=4, max_queue=400, hardening=hardening) as executor:
        await warm(executor, 4)
        gate = Gate()
        codes = [SPIN, HANG, "1", "async () => { console.log('a'); await t.hang(); for (;;); }"]

        async def one(n: int) -> str:
            run = asyncio.ensure_future(executor.execute(codes[n % 4], providers=gate.providers))
            await asyncio.sleep(dice.uniform(0, 0.4))
            run.cancel()
            (end,) = await asyncio.gather(run, return_exceptions=True)
            if isinstance(end, asyncio.CancelledError):
                return "cancelled"
            assert isinstance(end, ExecuteResult), end
            return "ok"

        ends = await asyncio.wait_for(asyncio.gather(*(one(n) for n in range(160))), 30)
        assert ends.count("cancelled") > 80
        await eventually(lambda: gate.inside == 0, "the end of every tool call")
        await works(executor, 8)
        stats = executor.stats()
        assert stats is not None
        assert (stats.busy, stats.queued) == (0, 0)


async def test_closing_in_the_middle_of_a_storm(hardening: Hardening) -> None:
    """Every caller hears something, and soon."""
    for seed in range(3):
        dice = random.Random(seed)
        async with fresh(max_workers=4, max_queue=400, hardening=hardening) as executor:
            gate = Gate()
            codes = [SPIN, HANG, "1", ABORT]
            runs = [
                asyncio.ensure_future(executor.execute(codes[n % 4], providers=gate.providers, limits=SHORT))
                for n in range(60)
            ]
            await asyncio.sleep(dice.uniform(0.1, 0.7))
            for pid in workers_alive()[:2]:
                os.kill(pid, dice.choice([signal.SIGKILL, signal.SIGSTOP]))
            for run in dice.sample(runs, 10):
                run.cancel()
            await asyncio.wait_for(executor.aclose(), 15)
            ends = await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 5)
            counts = tally(ends)
            assert counts.get("CLOSED", 0) > 0, counts
            unexpected = set(counts) - {"CLOSED", "CancelledError", "ok", "Execution timed out", "WORKER_CRASHED"}
            assert all(text.startswith("memory limit exceeded") for text in unexpected), counts
            await eventually(lambda gate=gate: gate.inside == 0, "the end of every tool call")


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 40, 200])
async def test_closing_while_a_worker_starts(turns: int, hardening: Hardening) -> None:
    """At every stage of the start: the zygote, the fork, the connection, the greeting."""
    async with fresh(min_workers=2, max_workers=4, hardening=hardening) as executor:
        await works(executor)
        gate = Gate()
        runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.wait_for(executor.aclose(), 10)
        ends = await asyncio.gather(*runs, return_exceptions=True)
        assert tally(ends) == {"CLOSED": 3}


# --- workers that cannot be started ----------------------------------------------------------------


async def test_a_zygote_that_cannot_start_stops_the_pool_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hardening: Hardening
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'no engine on this machine' >&2\nexit 3\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    async with fresh(max_workers=4, hardening=hardening) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", str(script))
            runs = (executor.execute("1") for _ in range(10))
            ends = await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 15)
            assert tally(ends) == {"WORKER_START_FAILED": 10}
            assert all("no engine on this machine" in str(end) for end in ends)
            stats = executor.stats()
            assert stats is not None
            tried = stats.zygotes_started
            assert "no engine on this machine" in stats.broken
            await asyncio.sleep(0.5)
            stats = executor.stats()
            assert stats is not None
            assert (stats.zygotes_started, stats.starting) == (tried, 0), "it goes on trying although nobody asks"
            with pytest.raises(WorkerStartFailed, match="no engine on this machine"):
                await asyncio.wait_for(executor.execute("1"), 5)
            stats = executor.stats()
            assert stats is not None
            assert stats.zygotes_started > tried
        await works(executor, 4)
        stats = executor.stats()
        assert stats is not None
        assert stats.broken == ""


async def test_no_interpreter_to_start(monkeypatch: pytest.MonkeyPatch, hardening: Hardening) -> None:
    async with fresh(max_workers=2, hardening=hardening) as executor:
        for wrong, text in [("", "sys.executable is empty"), ("/nowhere/python", "/nowhere/python")]:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "executable", wrong)
                with pytest.raises(WorkerStartFailed, match=text):
                    await asyncio.wait_for(executor.execute("1"), 5)
        await works(executor)


async def test_a_jail_that_does_not_hold_stops_the_pool_at_once(
    monkeypatch: pytest.MonkeyPatch, hardening: Hardening
) -> None:
    if hardening != "required":
        pytest.skip("nothing is required here")
    from codemode_executor import jail

    def refuse(*_: object, **__: object) -> None:
        raise jail.JailError("seccomp", "thread 7 has no filter", remedy="none: this is a test")

    async with fresh(max_workers=4, hardening=hardening) as executor:
        with monkeypatch.context() as patch:
            patch.setattr("codemode_executor.process.jail.require_sealed", refuse)
            ends = await asyncio.wait_for(
                asyncio.gather(*(executor.execute("1") for _ in range(5)), return_exceptions=True), 10
            )
            assert tally(ends) == {"HARDENING_UNAVAILABLE": 5}
            assert all(isinstance(e, HardeningUnavailable) and "thread 7 has no filter" in str(e) for e in ends)
            await eventually(lambda: not workers_alive(), "the end of workers that were found open")
            await asyncio.sleep(0.2)  # those that were starting at the same time are counted, too
            assert not workers_alive()
        await works(executor, 2)


async def test_a_start_that_fails_in_an_unforeseen_way_is_told_too(
    monkeypatch: pytest.MonkeyPatch, hardening: Hardening
) -> None:
    """For example because /proc may not be looked at."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/1/task")

    async with fresh(max_workers=2, queue_timeout_s=20, hardening=hardening) as executor:
        with monkeypatch.context() as patch:
            patch.setattr("codemode_executor.process.jail.inspect", refuse)
            with pytest.raises(ExecutorError, match="Permission denied"):
                await asyncio.wait_for(executor.execute("1"), 8)
        await works(executor)


async def test_a_host_without_descriptors_says_so_and_recovers(hardening: Hardening) -> None:
    """A worker costs the host a few descriptors; when there are none left the run is told, and nothing hangs."""
    async with fresh(max_workers=8, queue_timeout_s=4, hardening=hardening) as executor:
        await works(executor)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = max(int(name) for name in os.listdir("/proc/self/fd"))
        gate = Gate()
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 3, hard))
            runs = [asyncio.ensure_future(executor.execute(HANG, providers=gate.providers)) for _ in range(8)]
            await asyncio.sleep(1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gate.open.set()
        ends = await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 10)
        assert set(tally(ends)) <= {"ok", "WORKER_START_FAILED"}, tally(ends)
        await works(executor, 8)


async def test_with_nothing_wrong_nothing_is_lost(hardening: Hardening) -> None:
    """The control of this file."""
    async with fresh(max_workers=4, max_queue=300, limits=LIMITS, hardening=hardening) as executor:
        await works(executor, 100)
        stats = executor.stats()
        assert stats is not None
        assert (stats.workers_lost, stats.workers_failed, stats.zygotes_started) == (0, 0, 1)
