"""What goes wrong around a run: tools, workers, the zygote, the host itself."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from codemode_executor import (
    BadRequest,
    ExecutorClosed,
    ExecutorError,
    IsolateExecutor,
    Limits,
    Provider,
    WorkerCrashed,
)
from codemode_executor.jail import Hardening
from witness import Traces, children, eventually, is_alive, reap_zombies, settle

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

SHORT = Limits(timeout_s=0.4)
FOREVER = "async () => { await t.hang() }"


class Hanging:
    """A tool that never returns, and what becomes of its calls."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.cancelled = 0

    async def __call__(self) -> None:
        self.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    @property
    def providers(self) -> list[Provider]:
        return [Provider("t", {"hang": self})]


# --- tools ----------------------------------------------------------------------------------------


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class BadCode(Exception):
    @property
    def code(self) -> str:
        raise RuntimeError("no code")


class Rich(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = "E_RICH"
        self.details = {"rows": [1, 2]}


def raise_from(error: Exception, cause: Exception | None = None):
    async def tool() -> None:
        raise error from cause

    return tool


@pytest.mark.parametrize(
    ("error", "cause", "expected"),
    [
        (ValueError("no such row"), None, ["ValueError", "no such row", None, None, None]),
        (ValueError(), None, ["ValueError", "ValueError", None, None, None]),
        (Rich("rich"), OSError("disk"), ["Rich", "rich", "E_RICH", {"rows": [1, 2]}, "OSError: disk"]),
        (ValueError("\ud800"), None, ["ValueError", "\ufffd", None, None, None]),
        (Unprintable(), None, ["Unprintable", "Unprintable", None, None, None]),
        (ValueError("x"), Unprintable(), ["ValueError", "x", None, None, ...]),
        (BadCode("x"), None, ["BadCode", "x", None, None, None]),
        (StopAsyncIteration("x"), None, [..., ..., None, None, ...]),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_tool_that_raises(
    executor: IsolateExecutor, error: Exception, cause: Exception | None, expected: list[object]
) -> None:
    code = """async () => {
        try { await t.fail() } catch (e) {
            return [e.name, e.message, e.code, e.details, e.cause, e instanceof Error]
        }
    }"""
    outcome = await executor.execute(code, providers=[Provider("t", {"fail": raise_from(error, cause)})], limits=SHORT)
    assert outcome.error is None
    seen = outcome.result
    assert seen[5] is True
    for got, wanted in zip(seen, expected, strict=False):
        assert wanted is ... or got == wanted, seen


async def test_a_tool_that_raises_and_nobody_catches(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => { console.log('a'); await t.fail() }",
        providers=[Provider("t", {"fail": raise_from(KeyError("k"))})],
    )
    assert (outcome.result, outcome.error, outcome.logs) == (None, "'k'", ["a"])
    assert outcome.detail.name == "KeyError"


async def test_a_tool_whose_own_work_was_cancelled(executor: IsolateExecutor) -> None:
    """asyncio.CancelledError is no Exception; the program must hear of it all the same."""

    async def impatient() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(10))
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner

    started = time.monotonic()
    outcome = await executor.execute(
        "async () => await t.impatient().catch((error) => 'told')",
        providers=[Provider("t", {"impatient": impatient})],
        limits=Limits(timeout_s=1),
    )
    assert (outcome.result, outcome.error) == ("told", None)
    assert time.monotonic() - started < 1


async def test_wrong_arguments_are_the_programs_error(executor: IsolateExecutor) -> None:
    async def one(a: int) -> int:
        return a

    outcome = await executor.execute(
        "async () => [await t.one().catch((e) => e.name), await t.one(1, 2).catch((e) => e.name)]",
        providers=[Provider("t", {"one": one})],
    )
    assert outcome.result == ["TypeError", "TypeError"]


async def test_an_async_tool_that_never_returns(executor: IsolateExecutor) -> None:
    hanging = Hanging()
    outcome = await executor.execute(
        "async () => { console.log('a'); await t.hang() }",
        providers=hanging.providers,
        limits=SHORT,
    )
    assert (outcome.error, outcome.logs) == ("Execution timed out", ["a"])
    assert outcome.usage.tool_s > 0.2
    await asyncio.sleep(0)
    assert hanging.cancelled == 1


async def test_a_sync_tool_that_never_returns(executor: IsolateExecutor) -> None:
    release = threading.Event()
    try:
        outcome = await executor.execute(
            "async () => { await t.hang() }",
            providers=[Provider("t", {"hang": lambda: release.wait(30)})],
            limits=SHORT,
        )
        assert outcome.error == "Execution timed out"
        assert (await executor.execute("1")).result == 1
    finally:
        release.set()


async def test_a_tool_that_refuses_to_be_cancelled(executor: IsolateExecutor) -> None:
    release = asyncio.Event()

    async def stubborn() -> str:
        while True:
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
            return "late"

    outcome = await executor.execute(
        "async () => await t.stubborn()",
        providers=[Provider("t", {"stubborn": stubborn})],
        limits=SHORT,
    )
    assert outcome.error == "Execution timed out"
    assert (await executor.execute("1")).result == 1
    release.set()


# --- workers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [FOREVER, "async () => { console.log('begun'); t.hang(); for (;;); }"],
    ids=["waiting", "computing"],
)
async def test_a_worker_killed_during_a_run(executor: IsolateExecutor, code: str) -> None:
    hanging = Hanging()
    code = code.replace("t.hang(); for", "await t.once(); for")
    entered = asyncio.Event()

    async def once() -> None:
        entered.set()

    providers = [Provider("t", {"hang": hanging, "once": once})]
    run = asyncio.ensure_future(executor.execute(code, providers=providers))
    await eventually(lambda: hanging.entered.is_set() or entered.is_set(), "the tool call")
    await asyncio.sleep(0.02)
    (pid,) = executor.worker_pids
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerCrashed) as caught:
        await run
    assert caught.value.exit_status == -signal.SIGKILL
    assert caught.value.code == "WORKER_CRASHED"
    assert "signal 9" in str(caught.value)
    assert caught.value.logs == (("begun",) if "begun" in code else ())
    assert hanging.cancelled == hanging.entered.is_set()


async def test_a_worker_killed_while_it_waits(executor: IsolateExecutor) -> None:
    (pid,) = executor.worker_pids
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: executor.worker_pids not in ((pid,), ()), "another worker")
    assert (await executor.execute("1")).result == 1


async def test_a_worker_killed_and_used_in_the_same_breath(executor: IsolateExecutor) -> None:
    """The run may be lost, but loudly; it is never started twice and never hangs."""
    (pid,) = executor.worker_pids
    calls = 0

    async def count() -> None:
        nonlocal calls
        calls += 1

    os.kill(pid, signal.SIGKILL)
    run = executor.execute(
        "async () => { await t.count(); return 1 }",
        providers=[Provider("t", {"count": count})],
    )
    (outcome,) = await asyncio.wait_for(asyncio.gather(run, return_exceptions=True), 10)
    if isinstance(outcome, WorkerCrashed):
        assert (outcome.exit_status, calls) == (-signal.SIGKILL, 0)
    else:
        assert not isinstance(outcome, BaseException)
        assert (outcome.result, calls) == (1, 1)


async def test_a_worker_that_stands_still(executor: IsolateExecutor) -> None:
    """SIGSTOP: it neither answers nor ends. The supervisor's own clock ends the run."""
    hanging = Hanging()
    run = asyncio.ensure_future(executor.execute(FOREVER, providers=hanging.providers, limits=SHORT))
    await hanging.entered.wait()
    (pid,) = executor.worker_pids
    os.kill(pid, signal.SIGSTOP)
    outcome = await asyncio.wait_for(run, 10)
    assert (outcome.error, outcome.detail.bound) == ("Execution timed out", "timeout")
    await eventually(lambda: not is_alive(pid), "the end of the stopped worker")


def _end_zygote(executor: IsolateExecutor) -> tuple[int, int]:
    (worker,) = executor.worker_pids
    zygote = next(pid for pid in children() if pid != worker)
    os.kill(zygote, signal.SIGKILL)
    return zygote, worker


async def _orphan_gone(executor: IsolateExecutor, worker: int) -> None:
    """The worker of a dead zygote is this process's child now: end it if it serves on, and reap."""
    if is_alive(worker):
        os.kill(worker, signal.SIGKILL)
    await eventually(lambda: not is_alive(worker), "the end of the orphan")
    reap_zombies()
    await eventually(lambda: worker not in executor.worker_pids, "notice of its end")


async def test_the_zygote_killed_between_runs(executor: IsolateExecutor) -> None:
    zygote, worker = _end_zygote(executor)
    await eventually(lambda: not is_alive(zygote), "the end of the zygote")
    await asyncio.sleep(0.1)  # its workers may go with it
    assert (await executor.execute("1")).result == 1
    await _orphan_gone(executor, worker)
    assert (await executor.execute("2")).result == 2


async def test_the_zygote_killed_during_a_run(executor: IsolateExecutor) -> None:
    hanging = Hanging()
    run = asyncio.ensure_future(executor.execute(FOREVER, providers=hanging.providers, limits=SHORT))
    await hanging.entered.wait()
    _, worker = _end_zygote(executor)
    try:
        outcome = await asyncio.wait_for(run, 10)
    except WorkerCrashed:
        pass
    else:
        assert outcome.error == "Execution timed out"
    assert (await executor.execute("1")).result == 1
    await _orphan_gone(executor, worker)
    assert (await executor.execute("2")).result == 2


# --- the host -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [FOREVER, "async () => { t.hang(); await 0; for (;;); }",
     "async () => { t.hang(); await new Promise((d) => setTimeout(d, 1)); "
     "const a = []; a[4294967293] = 1; a.sort() }"],
    ids=["waiting", "computing", "native"],
)  # fmt: skip
async def test_the_hosts_task_cancelled(executor: IsolateExecutor, code: str) -> None:
    hanging = Hanging()
    run = asyncio.ensure_future(executor.execute(code, providers=hanging.providers))
    await hanging.entered.wait()
    await asyncio.sleep(0.02)
    assert run.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - started < 0.2
    await eventually(lambda: hanging.cancelled == 1, "the cancelled tool")
    assert (await asyncio.wait_for(executor.execute("1"), 10)).result == 1


async def test_cancelled_while_it_waits_for_a_worker(executor: IsolateExecutor) -> None:
    hanging = Hanging()
    first = asyncio.ensure_future(executor.execute(FOREVER, providers=hanging.providers))
    await hanging.entered.wait()
    second = asyncio.ensure_future(executor.execute("1"))
    third = asyncio.ensure_future(executor.execute("3"))
    await asyncio.sleep(0.01)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    first.cancel()
    outcome = await third
    assert outcome.result == 3
    assert outcome.usage.queue_s > 0
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_timeout_of_the_host_around_execute(executor: IsolateExecutor) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await executor.execute("async () => { for (;;); }")


async def test_closing_with_runs_in_flight(hardening: Hardening) -> None:
    reap_zombies()
    before = Traces.take()
    hanging = Hanging()
    executor = IsolateExecutor(hardening=hardening, max_workers=1)
    running = asyncio.ensure_future(executor.execute(FOREVER, providers=hanging.providers))
    await hanging.entered.wait()
    waiting = asyncio.ensure_future(executor.execute("1"))
    await asyncio.sleep(0.01)
    await executor.aclose()
    for run in (running, waiting):
        with pytest.raises(ExecutorClosed) as caught:
            await run
        assert caught.value.code == "CLOSED"
    assert hanging.cancelled == 1
    with pytest.raises(ExecutorClosed):
        await executor.execute("1")
    await executor.aclose()
    assert executor.worker_pids == ()
    assert not await settle(before)


async def test_closing_ends_calls_that_nobody_awaited(hardening: Hardening) -> None:
    hanging = Hanging()
    async with IsolateExecutor(hardening=hardening) as executor:
        outcome = await executor.execute("async () => { t.hang(); return 'done' }", providers=hanging.providers)
        assert outcome.result == "done"
        await hanging.entered.wait()
        assert hanging.cancelled == 0
    await asyncio.sleep(0)
    try:
        assert hanging.cancelled == 1
    finally:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if "_serve" in str(task.get_coro()):
                task.cancel()


@pytest.mark.parametrize("delay_s", [0, 0.001, 0.05, 0.12, 0.15, 0.17, 0.2])
async def test_closing_while_workers_start(hardening: Hardening, delay_s: float) -> None:
    reap_zombies()
    before = Traces.take()
    async with IsolateExecutor(hardening=hardening, min_workers=3):
        await asyncio.sleep(delay_s)
    assert not await settle(before)


async def test_an_executor_belongs_to_one_loop(executor: IsolateExecutor) -> None:
    def elsewhere() -> None:
        asyncio.run(executor.execute("1"))

    with pytest.raises(BadRequest, match="event loop"):
        await asyncio.to_thread(elsewhere)
    await asyncio.get_running_loop().shutdown_default_executor()


async def test_two_executors_at_once(executor: IsolateExecutor, hardening: Hardening) -> None:
    async with IsolateExecutor(hardening=hardening, limits=SHORT) as other:
        looping = asyncio.ensure_future(other.execute("async () => { for (;;); }"))
        results = [(await executor.execute(f"{n} + {n}")).result for n in range(20)]
        assert results == [2 * n for n in range(20)]
        assert (await looping).error == "Execution timed out"
        assert set(other.worker_pids).isdisjoint(executor.worker_pids)
    assert (await executor.execute("1")).result == 1


async def test_runs_share_workers_and_do_not_meet(hardening: Hardening) -> None:
    async with IsolateExecutor(hardening=hardening, min_workers=2, max_workers=2) as executor:

        async def one(n: int) -> object:
            async def mine() -> int:
                await asyncio.sleep(0.001 * (n % 3))
                return n

            outcome = await executor.execute(
                f"async () => {{ console.log({n}); return [await t.mine(), {n}] }}",
                providers=[Provider("t", {"mine": mine})],
            )
            return outcome.result, outcome.logs

        results = await asyncio.gather(*(one(n) for n in range(60)))
    assert results == [([n, n], [str(n)]) for n in range(60)]


async def test_a_run_that_cannot_be_encoded_costs_no_worker(executor: IsolateExecutor) -> None:
    (pid,) = executor.worker_pids
    for code, env in (("1 + 1", {"\ud800": "\ud800"}), ("'\ud800'.length + 1", {})):
        try:
            outcome = await executor.execute(code, env=env)
        except ExecutorError:
            continue
        assert (outcome.result, outcome.error) == (2, None)
    assert executor.worker_pids == (pid,)
