"""Many mixed runs on one executor, and a look at what has grown since.

python bench/soak.py [--runs 10000] [--every 1000] [--workers 4] [--isolation worker|process]

Every ``--every`` runs it waits until nothing is busy and prints what the kernel says of the host, the zygote and the
workers. It ends with exit status 1 if anything has grown beyond the slack stated in ``SLACK`` since the first look, or
if a run ended otherwise than it should have.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass

from codemode_executor import ExecuteResult, ExecutorError, IsolateExecutor, Limits, Provider, WorkerCrashed
from codemode_executor.errors import QueueFull

MIB = 1024 * 1024
_AT_ONCE = 16


@dataclass(frozen=True)
class Look:
    """What is there at a quiet moment. Sizes in KiB, zygote and worker: of the largest one.

    Host and workers are PSS, which counts shared pages in parts. The zygote is resident memory: its PSS depends on how
    many workers share its pages, and is highest when it has just been renewed.
    """

    processes: int
    zombies: int
    host_descriptors: int
    host_threads: int
    host_kib: int
    zygote_descriptors: int
    zygote_kib: int
    worker_kib: int


#: How much each may have grown. Processes: a zygote that renews another, and its last worker. Host: what allocators
#: keep of the largest result. Worker: isolates differ, and what its zygote's other workers share changes.
SLACK = Look(
    processes=3,
    zombies=0,
    host_descriptors=8,
    host_threads=2,
    host_kib=32 * 1024,
    zygote_descriptors=6,
    zygote_kib=8 * 1024,
    worker_kib=24 * 1024,
)


def grown(first: Look, now: Look, slack: Look = SLACK) -> list[str]:
    """Everything that has grown beyond ``slack``, in words."""
    before, after, allowed = asdict(first), asdict(now), asdict(slack)
    return [
        f"{name} grew from {before[name]} to {after[name]}, which is more than {allowed[name]}"
        for name in before
        if after[name] - before[name] > allowed[name]
    ]


# --- looking ----------------------------------------------------------------------------------------------------------


def _family() -> dict[int, tuple[int, str]]:
    """``{pid: (parent, state)}`` of every descendant."""
    known: dict[int, tuple[int, str]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            known[int(name)] = (int(fields[1]), fields[0].decode())
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in known.items() if parent in family} - family:
        family |= more
    return {pid: known[pid] for pid in family if pid != os.getpid()}


def _pss_kib(pid: int) -> int:
    """Proportional set size; resident size where the kernel does not let it be read."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
    except OSError:
        pass  # a worker is not dumpable: only root may read this
    return _resident_kib(pid)


def _resident_kib(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except OSError:
        return 0  # gone meanwhile


def _descriptors(pid: int | str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0  # gone meanwhile


def look() -> Look:
    """What the kernel says now."""
    gc.collect()
    family = _family()
    alive = {pid: parent for pid, (parent, state) in family.items() if state not in "ZX"}
    zygotes = [pid for pid, parent in alive.items() if parent == os.getpid()]
    workers = [pid for pid in alive if pid not in zygotes]
    return Look(
        processes=len(alive),
        zombies=len(family) - len(alive),
        host_descriptors=_descriptors("self"),
        host_threads=len(os.listdir("/proc/self/task")),
        host_kib=_pss_kib(os.getpid()),
        zygote_descriptors=max(map(_descriptors, zygotes), default=0),
        zygote_kib=max(map(_resident_kib, zygotes), default=0),
        worker_kib=max(map(_pss_kib, workers), default=0),
    )


# --- running ----------------------------------------------------------------------------------------------------------


class Soak:
    """Mixed runs, each with the one end that is right for it.

    Args:
        executor: where they run.
        seed: of the mixture.
    """

    def __init__(self, executor: IsolateExecutor, seed: int = 1) -> None:
        self.wrong: list[str] = []
        self.ends: dict[str, int] = {}
        self._executor = executor
        self._dice = random.Random(seed)
        self._providers = [Provider("t", {"double": self._double, "slow": self._slow, "sync": len})]

    @staticmethod
    async def _double(value: int) -> int:
        return 2 * value

    @staticmethod
    async def _slow() -> None:
        await asyncio.Event().wait()

    async def _execute(self, code: str, limits: Limits | None = None) -> ExecuteResult | ExecutorError:
        try:
            return await self._executor.execute(code, providers=self._providers, limits=limits)
        except QueueFull as error:
            raise RuntimeError("the soak asks for more at once than the queue takes") from error
        except ExecutorError as error:
            return error

    async def once(self, number: int) -> None:
        """One run of a kind that the dice choose."""
        kinds = ("plain", "calls", "logs", "throws", "large", "timeout", "loop", "cancelled", "memory", "killed")
        weights = (40, 20, 10, 10, 10, 2, 2, 3, 1, 2)
        (kind,) = self._dice.choices(kinds, weights)
        try:
            problem = await getattr(self, f"_{kind}")(number)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        self.ends[kind] = self.ends.get(kind, 0) + 1
        if problem:
            self.wrong.append(f"run {number} ({kind}): {problem}")

    async def _answers(self, code: str, expected: object) -> str:
        end = await self._execute(code)
        if isinstance(end, WorkerCrashed) and end.exit_status == -signal.SIGKILL:
            return ""  # `_killed` has hit the wrong worker, which it cannot help
        return "" if isinstance(end, ExecuteResult) and end.result == expected else repr(end)[:500]

    async def _plain(self, n: int) -> str:
        return await self._answers(f"async () => {n} + 1", n + 1)

    async def _calls(self, n: int) -> str:
        return await self._answers(f"async () => await t.double({n}) + await t.sync('abc')", 2 * n + 3)

    async def _logs(self, n: int) -> str:
        code = f"async () => {{ for (let i = 0; i < 50; i++) console.log('x'.repeat(200)); return {n} }}"
        return await self._answers(code, n)

    async def _large(self, n: int) -> str:
        return await self._answers(f"async () => ['y'.repeat(200000), {n}]", ["y" * 200_000, n])

    async def _throws(self, n: int) -> str:
        return self._failed(await self._execute(f"async () => {{ throw new Error('e{n}') }}"), f"e{n}")

    async def _timeout(self, _: int) -> str:
        limits = Limits(timeout_s=0.05)
        return self._failed(await self._execute("async () => await t.slow()", limits), "Execution timed out")

    async def _loop(self, _: int) -> str:
        return self._failed(await self._execute("for (;;);", Limits(timeout_s=0.05)), "Execution timed out")

    async def _memory(self, _: int) -> str:
        end = await self._execute("const a = []; for (;;) a.push(new Array(1000).fill(1.5))")
        return self._failed(end, "memory limit exceeded")

    async def _cancelled(self, _: int) -> str:
        run = asyncio.ensure_future(self._execute("async () => await t.slow()"))
        await asyncio.sleep(self._dice.uniform(0, 0.02))
        run.cancel()
        (end,) = await asyncio.gather(run, return_exceptions=True)
        return "" if isinstance(end, asyncio.CancelledError | WorkerCrashed) else repr(end)[:500]

    async def _killed(self, _: int) -> str:
        pids = self._executor.worker_pids
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._dice.choice(pids), signal.SIGKILL)
        return ""

    @staticmethod
    def _failed(end: object, text: str) -> str:
        if isinstance(end, WorkerCrashed) and end.exit_status == -signal.SIGKILL:
            return ""
        right = isinstance(end, ExecuteResult) and end.error is not None and end.error.startswith(text)
        return "" if right else repr(end)[:500]


async def quiet(executor: IsolateExecutor) -> None:
    """Wait until every worker is idle, for at most 15 s: what is not idle by then counts."""
    until = time.monotonic() + 15
    calm = 0
    while calm < 10 and time.monotonic() < until:
        stats = executor.stats()
        busy = stats is None or stats.starting + stats.busy + stats.finishing + stats.queued > 0
        calm = 0 if busy else calm + 1
        await asyncio.sleep(0.02)


async def main(runs: int, every: int, workers: int, isolation: str) -> int:
    problems: list[str] = []
    first: Look | None = None
    started = time.monotonic()
    async with IsolateExecutor(
        limits=Limits(timeout_s=20, memory_mb=64),
        isolation="process" if isolation == "process" else "worker",
        min_workers=workers,
        max_workers=workers,
        max_queue=_AT_ONCE,
    ) as executor:
        soak = Soak(executor)
        numbers = iter(range(runs))
        done = 0

        async def lane(until: int) -> None:
            nonlocal done
            while done < until:
                done += 1
                await soak.once(next(numbers))

        while done < runs:
            target = min(done + every, runs)
            await asyncio.gather(*(lane(target) for _ in range(_AT_ONCE)))
            await quiet(executor)
            now = look()
            rate = done / (time.monotonic() - started)
            print(f"{done:7} runs, {rate:5.0f}/s  " + "  ".join(f"{k}={v}" for k, v in asdict(now).items()), flush=True)
            if first is None:
                first = now
            problems += [f"after {done} runs: {text}" for text in grown(first, now)]
        stats = executor.stats()
        problems += soak.wrong
    left = look()
    if left.processes or left.zombies:
        problems.append(f"after closing: {left.processes} processes and {left.zombies} zombies are left")
    print(f"ends: {dict(sorted(soak.ends.items()))}\nstats: {stats}")
    for problem in problems[:20]:
        print(f"PROBLEM {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--isolation", choices=("worker", "process"), default="worker")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.runs, given.every, given.workers, given.isolation)))
