"""Cost of the spine's parts on this machine: medians, printed, never asserted.

python bench/spine.py [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from codemode_executor import IsolateExecutor, LogLine, Provider

MIB = 1024 * 1024


async def median_ms(rounds: int, action: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Median and 95th percentile of ``action``, in milliseconds, after two rounds to warm up."""
    times: list[float] = []
    for number in range(rounds + 2):
        start = time.perf_counter()
        await action()
        if number >= 2:
            times.append((time.perf_counter() - start) * 1000)
    times.sort()
    return statistics.median(times), times[int(0.95 * (len(times) - 1))]


async def main(rounds: int) -> None:
    async def echo(value: object) -> object:
        return value

    async def big(size: int) -> str:
        return "x" * size

    providers = [Provider("codemode", {"echo": echo, "big": big})]

    async def report(name: str, executor: IsolateExecutor, code: str, count: int, pause_s: float = 0.0) -> None:
        async def once() -> None:
            if pause_s:
                await asyncio.sleep(pause_s)
            start = time.perf_counter()
            envelope = await executor.execute(code, providers=providers)
            if envelope.error is not None:
                raise RuntimeError(envelope.error)
            walls.append((time.perf_counter() - start) * 1000)

        walls: list[float] = []
        await median_ms(count, once)
        walls = sorted(walls[2:])
        print(f"{name:44} {statistics.median(walls):9.2f} ms   p95 {walls[int(0.95 * (len(walls) - 1))]:9.2f} ms")

    for hardening in ("required", "off"):
        start = time.perf_counter()
        async with IsolateExecutor(hardening=hardening) as executor:
            await executor.execute("1")
            print(f"\nhardening={hardening}: first answer after {(time.perf_counter() - start) * 1000:.0f} ms")
            await report("no tool, worker idle", executor, "async () => 1", rounds, pause_s=0.01)
            await report("no tool, back to back", executor, "async () => 1", rounds)

    async with IsolateExecutor() as executor:
        print()
        await report(
            "ten sequential calls", executor, "for (let i = 0; i < 10; i++) await codemode.echo(i)", rounds, 0.01
        )
        await report(
            "1 000 sequential calls", executor, "for (let i = 0; i < 1000; i++) await codemode.echo(i)", rounds // 10
        )
        await report(
            "1 000 parallel calls",
            executor,
            "await Promise.all(Array.from({ length: 1000 }, (_, i) => codemode.echo(i)))",
            rounds // 10,
        )
        await report("10 MB tool result", executor, f"(await codemode.big({10 * MIB})).length", rounds // 10)
        await report(
            "10 MB tool argument", executor, f"(await codemode.echo('x'.repeat({10 * MIB}))).length", rounds // 10
        )
        await report("10 MB result", executor, f"'x'.repeat({10 * MIB})", rounds // 10)

        delays: list[float] = []

        def seen(line: LogLine) -> None:
            delays.append(time.time() * 1000 - float(line.text))

        for _ in range(rounds // 5):
            await executor.execute(
                "console.log(Date.now()); for (const end = Date.now() + 30; Date.now() < end;);", on_log=seen
            )
        print(f"{'log line seen by the host while it loops':44} {statistics.median(delays):9.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    asyncio.run(main(parser.parse_args().rounds))
