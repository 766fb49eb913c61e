"""The engine behind: shared by a loop's executors, and gone with the last of them or with the loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from codemode_compat import DynamicWorkerExecutor, ExecuteResult, ResolvedProvider, normalize_code
from codemode_compat.engines import shared_engine
from codemode_executor import ExecutorClosed, IsolateExecutor
from witness import eventually, is_alive, reap_zombies

pytestmark = pytest.mark.usefixtures("leaves_nothing_sync")

ANSWER = ExecuteResult(1, None, [])


def test_nothing_has_to_be_closed() -> None:
    async def twice() -> list[ExecuteResult]:
        return [await DynamicWorkerExecutor().execute("async () => 1", []) for _ in range(2)]

    assert asyncio.run(twice()) == [ANSWER, ANSWER]


def test_one_executor_serves_one_loop_after_the_other() -> None:
    executor = DynamicWorkerExecutor()
    for _ in range(2):
        assert asyncio.run(executor.execute("async () => 1", [])) == ANSWER


def test_one_executor_serves_several_loops_at_the_same_time() -> None:
    executor = DynamicWorkerExecutor()
    outcomes: list[ExecuteResult] = []
    barrier = threading.Barrier(2)

    def work() -> None:
        async def main() -> None:
            await asyncio.to_thread(barrier.wait)
            outcomes.append(await executor.execute("async () => 1", []))

        asyncio.run(main())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert outcomes == [ANSWER, ANSWER]


async def test_executors_of_a_loop_share_their_processes() -> None:
    first, second = DynamicWorkerExecutor(), DynamicWorkerExecutor()
    await first.execute("async () => 1", [])
    pids = shared_engine(first).worker_pids
    await second.execute("async () => 1", [])
    assert shared_engine(second) is shared_engine(first)
    assert set(pids) <= set(shared_engine(second).worker_pids)
    await first.aclose()
    assert await second.execute("async () => 1", []) == ANSWER
    assert all(map(is_alive, pids))
    await second.aclose()
    await eventually(lambda: not any(map(is_alive, pids)), "the processes are gone")
    await second.aclose()
    third = DynamicWorkerExecutor()
    assert await third.execute("async () => 1", []) == ANSWER
    await third.aclose()


async def test_a_closed_executor_runs_nothing() -> None:
    async with DynamicWorkerExecutor() as executor:
        pass
    with pytest.raises(ExecutorClosed, match=r"^the executor is closed$"):
        await executor.execute("async () => 1", [])


@pytest.mark.parametrize("others", [0, 1])
async def test_closing_ends_what_runs(others: int) -> None:
    neighbours = [DynamicWorkerExecutor() for _ in range(others)]
    for neighbour in neighbours:
        await neighbour.execute("async () => 1", [])
    executor = DynamicWorkerExecutor()
    waiting = asyncio.Event()

    async def wait() -> None:
        waiting.set()
        await asyncio.Event().wait()

    run = asyncio.create_task(executor.execute("async () => t.wait()", [ResolvedProvider("t", {"wait": wait})]))
    await waiting.wait()
    await executor.aclose()
    with pytest.raises(ExecutorClosed, match="the executor was closed while the run was in flight"):
        await run
    assert run.cancelling() == 0
    for neighbour in neighbours:
        assert await neighbour.execute("async () => 1", []) == ANSWER
        await neighbour.aclose()


async def test_the_callers_own_cancellation_stays_one() -> None:
    async with DynamicWorkerExecutor() as executor:
        waiting = asyncio.Event()

        async def wait() -> None:
            waiting.set()
            await asyncio.Event().wait()

        run = asyncio.create_task(executor.execute("async () => t.wait()", [ResolvedProvider("t", {"wait": wait})]))
        await waiting.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await executor.execute("async () => 1", []) == ANSWER


async def test_an_engine_of_the_hosts_own_stays_open() -> None:
    async with IsolateExecutor(min_workers=1) as engine:
        async with DynamicWorkerExecutor(engine=engine) as executor:
            assert await executor.execute("async () => 1", []) == ANSWER
        assert (await engine.execute("async () => 1")).result == 1


async def test_normalising_needs_no_executor() -> None:
    assert await normalize_code("```js\n1 + 1\n```") == "async () => {\nreturn (1 + 1)\n}"
    async with DynamicWorkerExecutor() as executor:
        pids = shared_engine(executor).worker_pids
        assert pids
    await eventually(lambda: not any(map(is_alive, pids)), "the processes are gone")


_SCRIPT = """
import asyncio
from codemode_compat import DynamicWorkerExecutor
executor = DynamicWorkerExecutor()
async def main():
    return await executor.execute("async () => { console.log('x'); return 1 }", [])
print(asyncio.run(main()))
"""

# asyncio itself complains about this way of ending a loop.
_ABRUPT = """
import asyncio
from codemode_compat import DynamicWorkerExecutor, engines
executor = DynamicWorkerExecutor()
for _ in range(2):
    loop = asyncio.new_event_loop()
    print(loop.run_until_complete(executor.execute("async () => 1", [])).result, len(engines._shared))
    loop.close()
"""


def test_a_script_ends_in_silence() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", _SCRIPT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ExecuteResult(result=1, error=None, logs=['x'])\n"
    reap_zombies()


def test_a_loop_that_is_closed_without_notice_is_forgotten() -> None:
    done = subprocess.run([sys.executable, "-c", _ABRUPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "1 1\n1 1\n")
    reap_zombies()
