"""The pool under load: throughput, memory of a waiting run, latency of the host. Printed, never asserted.

python bench/pool.py [--runs N]

Beside it in the same run, if ``bench/upstream`` is installed: upstream's DynamicWorkerExecutor on workerd.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from codemode_executor import IsolateExecutor, Limits, Provider

UPSTREAM = Path(__file__).parent / "upstream"
CONCURRENCY = (1, 4, 16)
LIMITS = Limits(memory_mb=64)
MIB = 1024

#: ``(runs, concurrency) -> seconds``
Load = Callable[[int, int], Awaitable[float]]


# --- loads ------------------------------------------------------------------------------------------------------------


def engine_load(executor: IsolateExecutor) -> Load:
    """Runs on our engine; every text is new, so that nothing is saved by reading it only once."""
    serial = iter(range(1_000_000_000))

    async def load(runs: int, concurrency: int) -> float:
        left = iter(range(runs))

        async def lane() -> None:
            for _ in left:
                n = next(serial)
                outcome = await executor.execute(f"async () => {n}")
                if outcome.result != n:
                    raise RuntimeError(f"the engine answered {outcome}")

        start = time.perf_counter()
        await asyncio.gather(*(lane() for _ in range(concurrency)))
        return time.perf_counter() - start

    return load


class Upstream:
    """Upstream's executor in a workerd of its own, driven over a pipe."""

    @staticmethod
    def missing() -> str:
        """What to do before it can be measured; empty if nothing."""
        if (UPSTREAM / "node_modules").is_dir() and (UPSTREAM / "dist" / "host.mjs").is_file():
            return ""
        return f"cd {os.path.relpath(UPSTREAM)} && npm ci --ignore-scripts && npm run build"

    async def __aenter__(self) -> Upstream:
        self._process = await asyncio.create_subprocess_exec(
            "node", "serve.mjs", cwd=UPSTREAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        await self._line()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()

    async def load(self, runs: int, concurrency: int) -> float:
        """Runs on upstream; every text is new here too."""
        if self._process.stdin is None:
            raise RuntimeError("the peer was started with a pipe")
        self._process.stdin.write(json.dumps({"runs": runs, "concurrency": concurrency}).encode() + b"\n")
        answer = await self._line()
        if "seconds" not in answer:
            raise RuntimeError(f"upstream failed: {answer}")
        return float(answer["seconds"])

    async def _line(self) -> dict[str, float]:
        if self._process.stdout is None:
            raise RuntimeError("the peer was started with a pipe")
        line = await asyncio.wait_for(self._process.stdout.readline(), 120)
        if not line:
            raise RuntimeError("upstream's process ended")
        answer: dict[str, float] = json.loads(line)
        return answer


async def throughput(load: Load, runs: int) -> dict[int, float]:
    """Runs per second by concurrency: the median of three rounds, after one to warm up."""
    rates: dict[int, float] = {}
    for concurrency in CONCURRENCY:
        await load(max(runs // 4, concurrency), concurrency)
        rates[concurrency] = statistics.median([runs / await load(runs, concurrency) for _ in range(3)])
    return rates


def show(name: str, rates: dict[int, float], peer: dict[int, float] | None) -> None:
    """One line of the table, with the ratio to the peer."""
    cells = "".join(
        f"{rate:8.0f}/s" + (f" ({rate / peer[n]:4.2f}x)" if peer else "        ") for n, rate in rates.items()
    )
    print(f"{name:34}{cells}")


# --- memory -----------------------------------------------------------------------------------------------------------


def memory_kib(pid: int) -> dict[str, int] | None:
    """``Pss`` and ``Private_Dirty`` of a process; ``None`` if it may not be read."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    return {row[0].rstrip(":"): int(row[1]) for row in rows if len(row) == 3}


async def waiting_runs(count: int) -> None:
    """What a run costs that only waits for a tool."""
    inside = 0
    gate = asyncio.Event()

    async def wait() -> None:
        nonlocal inside
        inside += 1
        await gate.wait()

    providers = [Provider("t", {"wait": wait})]
    async with IsolateExecutor(limits=LIMITS, min_workers=1, max_workers=count, max_queue=count) as executor:
        code = "async () => await t.wait()"
        runs = [asyncio.ensure_future(executor.execute(code, providers=providers)) for _ in range(count)]
        while inside < count:
            await asyncio.sleep(0.01)
        sizes = [size for size in map(memory_kib, executor.worker_pids) if size]
        gate.set()
        await asyncio.gather(*runs)
    if not sizes:
        print("memory of a waiting run: not readable. Workers are not dumpable, so it takes root to look.")
        return
    dirty = statistics.median(size["Private_Dirty"] for size in sizes) / MIB
    pss = statistics.median(size["Pss"] for size in sizes) / MIB
    print(f"memory of a waiting run, median of {len(sizes)}: {dirty:.1f} MB private and dirty, {pss:.1f} MB PSS")


# --- latency ----------------------------------------------------------------------------------------------------------


async def overshoot(seconds: float) -> str:
    """How much later than asked ``asyncio.sleep(0.001)`` returns."""
    late: list[float] = []
    until = time.perf_counter() + seconds
    while (start := time.perf_counter()) < until:
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - start - 0.001) * 1000)
    late.sort()
    return f"median {statistics.median(late):6.2f} ms   p99 {late[int(0.99 * (len(late) - 1))]:6.2f} ms"


async def host_latency(hostile: int, seconds: float) -> None:
    """The host's own loop, alone and beside programs that compute without end."""
    async with IsolateExecutor(limits=LIMITS, max_workers=hostile, max_queue=hostile) as executor:
        await executor.execute("1")
        print(f"{'host loop, nothing running':34}{await overshoot(seconds)}")
        started = asyncio.Semaphore(0)

        async def begin() -> None:
            started.release()

        providers = [Provider("t", {"begin": begin})]
        code = "async () => { await t.begin(); for (;;); }"
        loops = [asyncio.ensure_future(executor.execute(code, providers=providers)) for _ in range(hostile)]
        for _ in loops:
            await started.acquire()
        print(f"{f'host loop, {hostile} hostile loops':34}{await overshoot(seconds)}")
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


async def main(runs: int) -> None:
    print(f"{os.cpu_count()} cores, {runs} runs a round, without tools\n")
    peer: dict[int, float] | None = None
    missing = Upstream.missing()
    if missing:
        print(f"UPSTREAM IS NOT MEASURED, so there are no ratios. Install it with:\n    {missing}\n", file=sys.stderr)
    heads = "".join(f"{f'{n} at once':20}" for n in CONCURRENCY)
    print(f"{'throughput':36}{heads}")
    if not missing:
        async with Upstream() as upstream:
            peer = await throughput(upstream.load, runs)
        show("upstream on workerd", peer, None)
    modes: tuple[Literal["worker", "process"], ...] = ("worker", "process")
    for isolation in modes:
        for workers in (2, 16):
            async with IsolateExecutor(
                limits=LIMITS, isolation=isolation, min_workers=2, max_workers=workers, max_queue=100
            ) as executor:
                show(f"engine, {isolation}, {workers} workers", await throughput(engine_load(executor), runs), peer)
    print()
    await waiting_runs(16)
    print()
    await host_latency(16, 3.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    asyncio.run(main(parser.parse_args().runs))
