"""One sample of one workload on one peer: a function for each kind of workload."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import schedule
from .host_process import HostFailed, HostProcess
from .peers import Peer
from .protocol import Command, Latencies, Times
from .usage import Unreadable, footprint, processor_ms
from .workloads import Answer, Workload

#: How long what a peer does after its last run may go on before the next peer is measured.
_CALM_S = 0.05
#: And before memory is looked at.
_SETTLE_S = 0.5
_KIB = 1024
_WARM_RUNS = 20

_TRACE = "async () => { const seen = globalThis.trace === 1; globalThis.trace = 1; return seen }"


async def check_fresh(host: HostProcess) -> None:
    """A program does not find what the same text has left in the global object the time before, or this raises."""
    command = Command(id=0, do="serial", program=_TRACE, answer=Answer(exactly=False), runs=3, seconds=60)
    await host.ask(command, Times)


def command(workload: Workload, scale: float = 1.0) -> Command:
    """What a host is asked for, in a time that is ``scale`` of the workload's."""
    return Command(
        id=0,
        do="saturate" if workload.kind == "growth" else workload.kind,
        program=workload.program,
        answer=workload.answer,
        runs=workload.runs,
        seconds=3600.0 if workload.kind == "growth" else workload.seconds * scale,
        pause_ms=workload.pause_ms,
        at_once=workload.at_once,
    )


async def warm(host: HostProcess, workload: Workload) -> None:
    """The first run of a kind costs what no later one does."""
    if workload.kind == "serial":
        await host.ask(_few(workload), Times)


def _few(workload: Workload) -> Command:
    asked = command(workload)
    return Command(id=0, do="serial", program=asked.program, answer=asked.answer, runs=2, seconds=1.0)


async def sample(host: HostProcess, workload: Workload, scale: float) -> float:
    """Of the kinds ``serial``, ``burst``, ``saturate`` and ``growth``, in the workload's unit."""
    await asyncio.sleep(_CALM_S)
    times = await host.ask(command(workload, scale), Times)
    if times.runs < 1:
        raise HostFailed(f"{host.peer.id}, {workload.id}: no run was done")
    if workload.kind == "saturate":
        return times.runs / times.total_ms * 1000
    return times.total_ms if workload.kind == "burst" else times.total_ms / times.runs


async def latencies(host: HostProcess, workload: Workload, rate: float, seed: int, scale: float) -> list[float]:
    """Of runs that arrive at ``rate`` a second, in milliseconds."""
    await asyncio.sleep(_CALM_S)
    due = schedule.arrivals_ms(rate, workload.seconds * scale, seed)
    asked = Command(id=0, do="arrivals", program=workload.program, answer=workload.answer, due_ms=due)
    found = (await host.ask(asked, Latencies)).latencies_ms
    if len(found) != len(due):
        raise HostFailed(f"{host.peer.id}, {workload.id}: {len(found)} answers to {len(due)} runs")
    return found


async def cold_start(peer: Peer, workload: Workload, memory: Workload | None) -> tuple[float, float | None]:
    """A new host: milliseconds to its first answer, and then MB of a waiting run if ``memory`` is asked for.

    Raises:
        HostFailed: the host did.
        Unreadable: a process may not be looked at.
    """
    async with HostProcess(peer) as host:
        first = Command(id=0, do="serial", program=workload.program, answer=workload.answer, runs=1, seconds=60.0)
        await host.ask(first, Times)
        took = (time.perf_counter() - host.started) * 1000
        if memory is None:
            return took, None
        warming = Command(
            id=0, do="serial", program=workload.program, answer=workload.answer, runs=_WARM_RUNS, seconds=60.0
        )
        await host.ask(warming, Times)
        await asyncio.sleep(_SETTLE_S)
        before = footprint(host.pid)
        holding = Command(id=0, do="hold", program=memory.program, answer=memory.answer, runs=memory.runs)
        async with host.hold(holding):
            await asyncio.sleep(_SETTLE_S)
            during = footprint(host.pid)
        return took, (during.private - before.private) / memory.runs / _KIB


@dataclass(frozen=True)
class Stretch:
    """Of many runs on one host: milliseconds a run, processor time of all its processes a run, and their memory."""

    ms: float
    processor_ms: float
    memory_mb: float | None


async def stretch(host: HostProcess, workload: Workload, say: Callable[[str], None]) -> Stretch:
    """Of the kind ``growth``. Memory, a proportional set size in MiB, is looked at when all is at rest."""
    before = processor_ms(host.pid)
    took = await sample(host, workload, 1.0)
    await asyncio.sleep(_SETTLE_S)
    spent = (processor_ms(host.pid) - before) / workload.runs
    try:
        return Stretch(took, spent, footprint(host.pid).proportional / _KIB)
    except Unreadable as error:
        say(f"  {host.peer.id}: {error}")
        return Stretch(took, spent, None)
