"""Eyes on what the engine does, without asking it: processes, memory, descriptors, threads, tasks.

They are looked up where the operating system and the event loop keep them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SETTLE_S = 10.0
"""How long replaced processes may take to come and go before they count as left behind."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One line of /proc/<pid>/stat."""

    pid: int
    parent: int
    state: str
    born: int


def _read_process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(fields[1]), fields[0].decode(), int(fields[19]))


def descendants() -> list[Process]:
    """Every process that this one brought into the world, zombies included."""
    known = [_read_process(int(name)) for name in os.listdir("/proc") if name.isdigit()]
    living = [process for process in known if process is not None]
    family = {os.getpid()}
    found: list[Process] = []
    while True:
        more = [p for p in living if p.parent in family and p.pid not in family]
        if not more:
            return found
        family.update(process.pid for process in more)
        found += more


def children() -> list[int]:
    """The processes whose parent is this one: the zygotes."""
    return [process.pid for process in descendants() if process.parent == os.getpid()]


def is_alive(pid: int) -> bool:
    """A zombie is not alive."""
    process = _read_process(pid)
    return process is not None and process.state not in ("Z", "X")


def _descriptors() -> Counter[str]:
    kinds: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        try:
            kinds[os.readlink(f"/proc/self/fd/{name}").partition(":[")[0]] += 1
        except OSError:
            continue  # the directory's own, closed meanwhile
    return kinds


@dataclass(frozen=True)
class Traces:
    """What this process has at a moment. Descriptors and processes by number, the rest by identity."""

    descriptors: Counter[str]
    families: tuple[int, int]
    threads: frozenset[threading.Thread]
    tasks: frozenset[asyncio.Task[object]]

    @classmethod
    def take(cls) -> Traces:
        processes = descendants()
        direct = sum(process.parent == os.getpid() for process in processes)
        try:
            tasks = frozenset(asyncio.all_tasks())
        except RuntimeError:
            tasks = frozenset()
        return cls(
            _descriptors(),
            (direct, len(processes) - direct),
            frozenset(threading.enumerate()),
            tasks,
        )

    def beyond(self, before: Traces) -> str:
        """What is here and was not there, or is missing; empty if nothing."""
        found: list[str] = []
        if self.descriptors != before.descriptors:
            more = {k: n - before.descriptors[k] for k, n in self.descriptors.items()}
            less = {k: -n for k, n in before.descriptors.items() if k not in self.descriptors}
            changed = {kind: n for kind, n in (more | less).items() if n}
            found.append(f"descriptors: {changed}")
        if self.families != before.families:
            states = [(p.pid, p.parent, p.state) for p in descendants()]
            found.append(f"(children, grandchildren): {before.families} -> {self.families}: {states}")
        threads = self.threads - before.threads
        if threads:
            found.append(f"threads: {sorted(thread.name for thread in threads)}")
        tasks = {task for task in self.tasks - before.tasks if not task.done()}
        current = None
        with contextlib.suppress(RuntimeError):
            current = asyncio.current_task()
        tasks.discard(current)
        if tasks:
            found.append(f"tasks: {sorted(str(task.get_coro()) for task in tasks)}")
        return "; ".join(found)


async def settle(before: Traces) -> str:
    """Wait until this process has again what it had; otherwise, what is left behind."""
    until = time.monotonic() + SETTLE_S
    while True:
        left = Traces.take().beyond(before)
        if not left or time.monotonic() > until:
            return left
        await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that the host can see, and fail with ``what`` if it does not come."""
    until = time.monotonic() + SETTLE_S
    while not condition():
        assert time.monotonic() < until, f"never seen: {what}"
        await asyncio.sleep(0.002)


@contextlib.contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Highest resident memory of any worker, in bytes, sampled by a thread of the host."""
    highest = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not over.wait(0.004):
            for process in descendants():
                with (
                    contextlib.suppress(OSError, IndexError),
                    open(f"/proc/{process.pid}/statm", "rb") as file,
                ):
                    highest = max(highest, int(file.read().split()[1]) * _PAGE)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: highest
    finally:
        over.set()
        thread.join()


def reap_zombies() -> None:
    """So that one test's zombie is not found again by the next.

    What the programs of a test started comes to this process too when they end.
    """
    for pid in children():
        if not is_alive(pid):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
