"""Beginnings and ends: event loops, interpreters, forks, executors that nobody closes. Nobody is left."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from codemode_executor import BadRequest, ExecuteResult, IsolateExecutor, Provider, execute_sync
from codemode_executor.jail import Hardening
from pools import HANG, LIMITS, Gate
from witness import SETTLE_S, Traces, descendants, eventually, is_alive, reap_zombies

pytestmark = pytest.mark.usefixtures("leaves_nothing_sync")

ROOT = Path(__file__).parent.parent


def make(hardening: Hardening, max_workers: int | None = None) -> IsolateExecutor:
    return IsolateExecutor(limits=LIMITS, hardening=hardening, max_workers=max_workers)


async def _rest(executor: IsolateExecutor) -> None:
    """Wait until no worker starts or is busy."""

    def resting() -> bool:
        stats = executor.stats()
        return stats is not None and stats.idle > 0 and stats.starting + stats.busy + stats.finishing == 0

    await eventually(resting, "rest")


def nobody_left() -> bool:
    return not [process for process in descendants() if process.state not in "ZX"]


def wait_for_nobody() -> None:
    """For executors that end without a loop: the workers of a zygote that was killed come to this process, as children
    that it has to reap. Elsewhere they go to init."""
    until = time.monotonic() + SETTLE_S
    while descendants():
        reap_zombies()
        assert time.monotonic() < until, f"still there: {descendants()}"
        time.sleep(0.01)


# --- event loops -----------------------------------------------------------------------------------


def test_a_loop_that_ends_takes_the_engine_with_it(hardening: Hardening) -> None:
    executor = make(hardening)

    async def main() -> object:
        return (await executor.execute("1")).result

    assert asyncio.run(main()) == 1
    assert nobody_left()


def test_two_loops_in_turn_with_one_executor(hardening: Hardening) -> None:
    executor = make(hardening)

    async def main(n: int) -> object:
        outcomes = await asyncio.gather(*(executor.execute(str(n)) for _ in range(3)))
        return [outcome.result for outcome in outcomes]

    assert [asyncio.run(main(n)) for n in range(3)] == [[0] * 3, [1] * 3, [2] * 3]
    assert nobody_left()


@pytest.mark.parametrize("code", [HANG, "async () => { t.hang(); for (;;); }"], ids=["waiting", "computing"])
def test_a_loop_that_ends_with_runs_in_flight(code: str, hardening: Hardening) -> None:
    executor = make(hardening, max_workers=2)
    gate = Gate()

    async def main() -> list[asyncio.Task[ExecuteResult]]:
        runs = [asyncio.create_task(executor.execute(code, providers=gate.providers)) for _ in range(4)]
        while gate.entered < (2 if code is HANG else 0):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return runs

    started = time.monotonic()
    runs = asyncio.run(main())
    assert all(run.cancelled() for run in runs)
    assert gate.inside == 0
    assert time.monotonic() - started < 10
    assert nobody_left()


def test_a_loop_that_ends_before_the_first_worker_is_ready(hardening: Hardening) -> None:
    executor = make(hardening)

    async def main(turns: int) -> None:
        run = asyncio.create_task(executor.execute("1"))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()

    for turns in (0, 1, 2, 5, 20):
        asyncio.run(main(turns))
        assert nobody_left()


def test_a_loop_driven_by_hand(hardening: Hardening) -> None:
    """Closed without ``shutdown_asyncgens``: the processes end when the executor is used again, or goes."""
    executor = make(hardening)
    loop = asyncio.new_event_loop()
    try:
        assert loop.run_until_complete(executor.execute("1")).result == 1
        assert loop.run_until_complete(executor.execute("2")).result == 2
        loop.run_until_complete(executor.aclose())
    finally:
        loop.close()
    assert nobody_left()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_loop_that_is_closed_over_the_executors_head(hardening: Hardening) -> None:
    executor = make(hardening)
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(executor.execute("1")).result == 1
    loop.run_until_complete(_rest(executor))
    pids = [process.pid for process in descendants()]
    loop.close()
    other = asyncio.new_event_loop()
    try:
        assert other.run_until_complete(executor.execute("2")).result == 2
        assert not any(is_alive(pid) for pid in pids)
        other.run_until_complete(executor.aclose())
    finally:
        other.close()
    gc.collect()
    wait_for_nobody()


def test_an_executor_serves_one_open_loop(hardening: Hardening) -> None:
    executor = make(hardening)
    loop, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        loop.run_until_complete(executor.execute("1"))
        with pytest.raises(BadRequest, match="another event loop"):
            other.run_until_complete(executor.execute("1"))
        assert loop.run_until_complete(executor.execute("2")).result == 2
        loop.run_until_complete(executor.aclose())
    finally:
        loop.close()
        other.close()


def test_an_executor_that_is_dropped_in_a_running_loop(hardening: Hardening) -> None:
    async def main() -> None:
        executor = make(hardening)
        assert (await executor.execute("1")).result == 1
        assert not nobody_left()
        del executor
        gc.collect()
        until = time.monotonic() + SETTLE_S
        while not nobody_left() and time.monotonic() < until:
            await asyncio.sleep(0.01)
        assert nobody_left()

    asyncio.run(main())


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_executor_that_is_dropped_after_its_loop(hardening: Hardening) -> None:
    executor = make(hardening)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(executor.execute("1"))
    loop.run_until_complete(_rest(executor))
    loop.close()
    assert not nobody_left()
    del executor, loop
    gc.collect()
    wait_for_nobody()


def test_a_tool_that_never_returns_does_not_hold_the_loop_open(hardening: Hardening) -> None:
    release = threading.Event()
    entered = threading.Event()

    def stuck() -> None:
        entered.set()
        release.wait(60)

    async def main() -> None:
        async with make(hardening, max_workers=1) as executor:
            run = asyncio.create_task(executor.execute(HANG, providers=[Provider("t", {"hang": stuck})]))
            while not entered.is_set():
                await asyncio.sleep(0.005)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)

    started = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - started < 20
    release.set()
    for thread in threading.enumerate():
        if thread.name == "codemode-tool":
            thread.join(5)


# --- the synchronous helper ------------------------------------------------------------------------


def test_the_helper_inside_a_running_loop(hardening: Hardening) -> None:
    """As in a notebook: a cell calls it while the notebook's loop runs."""

    async def cell() -> object:
        tool = Provider("t", {"f": lambda: 20})
        return execute_sync("async () => await t.f() + 1", providers=[tool], hardening=hardening).result

    assert asyncio.run(cell()) == 21
    assert nobody_left()


def test_the_helper_beside_an_executor_on_the_same_thread(hardening: Hardening) -> None:
    async def cell() -> list[object]:
        async with make(hardening, max_workers=1) as executor:
            first = await executor.execute("1")
            second = execute_sync("2", hardening=hardening)
            third = await executor.execute("3")
            return [first.result, second.result, third.result]

    assert asyncio.run(cell()) == [1, 2, 3]
    assert nobody_left()


def test_the_helper_from_many_threads(hardening: Hardening) -> None:
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(execute_sync(str(n), hardening=hardening).result))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(str, results)) == ["0", "1", "2", "3"]


def test_an_executor_in_each_of_two_threads(hardening: Hardening) -> None:
    results: list[object] = []

    async def main(n: int) -> None:
        async with make(hardening, max_workers=2) as executor:
            outcomes = await asyncio.gather(*(executor.execute(f"{n} * {k}") for k in range(10)))
            results.append([outcome.result for outcome in outcomes])

    threads = [threading.Thread(target=lambda n=n: asyncio.run(main(n))) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(str, results)) == [str(list(range(10))), str([2 * k for k in range(10)])]


# --- whole interpreters ----------------------------------------------------------------------------

PRELUDE = f"""
import asyncio, gc, os, signal, sys, threading, time, multiprocessing
sys.path.insert(0, {str(ROOT / "tests")!r})
from codemode_executor import IsolateExecutor, Limits, Provider, execute_sync
from witness import descendants, is_alive

LIMITS = Limits(timeout_s=20, memory_mb=64)
"""


def script(text: str, hardening: Hardening) -> subprocess.CompletedProcess[str]:
    """Run ``text`` in an interpreter of its own, where warnings are errors."""
    code = PRELUDE + f"HARDENING = {hardening!r}\n" + textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def clean(done: subprocess.CompletedProcess[str], expected: str) -> None:
    # asyncio's debug mode remarks on slow callbacks, which on a busy machine says nothing.
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, done.stdout.split(), complaints) == (0, expected.split(), [])


def test_an_interpreter_that_ends_without_closing(hardening: Hardening) -> None:
    done = script(
        """
        executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING)
        async def main():
            print((await executor.execute("1")).result)
        asyncio.run(main())
        """,
        hardening,
    )
    clean(done, "1")


def test_an_interpreter_that_ends_with_an_open_loop(hardening: Hardening) -> None:
    """Nothing is closed: the processes go all the same, and the interpreter does not hang."""
    done = script(
        """
        executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING)
        loop = asyncio.new_event_loop()
        print(loop.run_until_complete(executor.execute("1")).result)
        print(*(p.pid for p in descendants()))
        sys.stdout.flush()
        """,
        hardening,
    )
    assert done.returncode == 0
    first, *pids = done.stdout.split()
    assert first == "1"
    assert len(pids) >= 2
    _all_gone([int(pid) for pid in pids])


def test_an_interpreter_that_is_killed(hardening: Hardening) -> None:
    done = script(
        """
        async def main():
            executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING)
            await executor.execute("1")
            spin = [asyncio.create_task(executor.execute("for (;;);")) for _ in range(2)]
            await asyncio.sleep(0.3)
            print(*(p.pid for p in descendants()), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
        """,
        hardening,
    )
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) >= 3
    _all_gone(pids)


def test_an_interrupt_from_the_keyboard(hardening: Hardening) -> None:
    done = script(
        """
        async def main():
            async with IsolateExecutor(limits=LIMITS, hardening=HARDENING) as executor:
                await executor.execute("1")
                threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                await executor.execute("async () => { for (;;); }")
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("interrupted", len([p for p in descendants() if p.state not in "ZX"]))
        """,
        hardening,
    )
    clean(done, "interrupted 0")


def _all_gone(pids: list[int]) -> None:
    until = time.monotonic() + SETTLE_S
    while any(map(is_alive, pids)):
        assert time.monotonic() < until, f"outlived their host: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.01)
    for pid in pids:  # orphans come to the test process, which has to reap them
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


# --- forks -----------------------------------------------------------------------------------------


def test_a_fork_of_the_host_with_a_live_executor(hardening: Hardening) -> None:
    """The child starts anew, the parent's processes are the parent's, and neither disturbs the other."""
    done = script(
        """
        executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING, max_workers=2)

        async def child():
            mine = await executor.execute("1 + 1")
            assert set(executor.worker_pids).isdisjoint(parents), "the child used its parent's worker"
            return mine.result

        async def main():
            global parents
            await executor.execute("1")
            slow = asyncio.create_task(executor.execute(
                "async () => await t.wait()", providers=[Provider("t", {"wait": lambda: time.sleep(1.0) or "waited"})]))
            await asyncio.sleep(0.2)
            parents = set(executor.worker_pids)
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    asyncio.events._set_running_loop(None)
                    code = 0 if asyncio.run(child()) == 2 else 2
                    if [p for p in descendants() if p.state not in "ZX"]:
                        code = 3
                finally:
                    os._exit(code)
            print((await slow).result)
            _, status = await asyncio.to_thread(os.waitpid, pid, 0)
            print("child", os.waitstatus_to_exitcode(status))
            print((await executor.execute("3")).result)
            await executor.aclose()
            print(len([p for p in descendants() if p.state not in "ZX"]))
        asyncio.run(main())
        """,
        hardening,
    )
    clean(done, "waited child 0 3 0")


def test_a_child_that_never_uses_the_executor_holds_nothing_open(hardening: Hardening) -> None:
    """The parent dies; a child that merely inherited its sockets must not keep its workers alive."""
    done = script(
        """
        executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING)
        async def main():
            await executor.execute("1")
            pids = [p.pid for p in descendants()]
            child = os.fork()
            if child == 0:
                os.close(1); os.close(2)
                time.sleep(20)
                os._exit(0)
            print(child, *pids, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
        """,
        hardening,
    )
    assert done.returncode == -signal.SIGKILL
    child, *pids = (int(pid) for pid in done.stdout.split())
    try:
        _all_gone(pids)
        assert is_alive(child)
    finally:
        os.kill(child, signal.SIGKILL)
        _all_gone([child])


@pytest.mark.parametrize("when", ["before its first use", "after a use"])
def test_multiprocessing_by_fork(when: str, hardening: Hardening) -> None:
    done = script(
        f"""
        executor = IsolateExecutor(limits=LIMITS, hardening=HARDENING, max_workers=2)

        async def run(n):
            return (await executor.execute(f"{{n}} * 2")).result

        def work(n):
            return asyncio.run(run(n))

        if __name__ == "__main__":
            if {when == "after a use"}:
                print(asyncio.run(run(0)))
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(*pool.map(work, range(1, 5)))
            print(asyncio.run(run(9)))
            print(len([p for p in descendants() if p.state not in "ZX"]))
        """,
        hardening,
    )
    clean(done, ("0 " if when == "after a use" else "") + "2 4 6 8 18 0")


def test_threads_of_the_executor_are_daemons(hardening: Hardening) -> None:
    """An interpreter with a tool that never returns ends all the same."""
    done = script(
        """
        stuck = Provider("t", {"hang": lambda: time.sleep(50)})
        outcome = execute_sync("async () => { await t.hang() }", providers=[stuck], hardening=HARDENING,
                               limits=Limits(timeout_s=0.3))
        print(outcome.error)
        """,
        hardening,
    )
    clean(done, "Execution timed out")


def test_traces_are_seen(hardening: Hardening) -> None:
    """The control of this file: an executor that lives is noticed."""
    reap_zombies()
    before = Traces.take()

    async def main() -> str:
        async with make(hardening) as executor:
            await executor.execute("1")
            assert not nobody_left()
            return Traces.take().beyond(before)

    assert "grandchildren" in asyncio.run(main())
