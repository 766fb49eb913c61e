"""A whole run: which peer is measured when. Within a workload the peers take turns, round after round, so that what
else the machine does falls on all of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from . import measure
from .host_process import HostFailed, HostProcess
from .peers import Peer
from .results import Result
from .summary import summarize
from .usage import Unreadable
from .workloads import Workload

Say = Callable[[str], None]


class Session:
    """Measures ``workloads`` on ``peers``.

    Args:
        rounds: samples of each peer and workload, where the workload does not say.
        scale: of the time that a sample takes.
        say: told what happens, a line at a time.
    """

    def __init__(self, peers: Sequence[Peer], rounds: int, scale: float, say: Say) -> None:
        self._peers = peers
        self._rounds = rounds
        self._scale = scale
        self._say = say
        self._hosts: dict[str, HostProcess] = {}
        self._results: dict[tuple[str, str], Result] = {}
        self._again: dict[tuple[str, str], str] = {}
        self.versions: dict[str, dict[str, str]] = {}

    async def run(self, workloads: Sequence[Workload]) -> list[Result]:
        """Every result, in the order of the workloads. What fails is a result with a ``failure``; the rest goes on."""
        order = {"cold": 0, "memory": 0, "serial": 1, "burst": 2, "saturate": 3, "arrivals": 4, "growth": 5}
        known = {workload.id: workload for workload in workloads}
        try:
            for workload in sorted(workloads, key=lambda workload: order[workload.kind]):
                self._say(f"{workload.title}")
                if workload.kind == "cold":
                    await self._cold(workload, known.get("memory"))
                elif workload.kind == "growth":
                    await self._growth(workload)
                elif workload.kind == "arrivals":
                    await self._arrivals(workload)
                elif workload.kind != "memory":
                    await self._turns(workload)
        finally:
            await self._close()
        return [self._results[key] for w in workloads for p in self._peers if (key := (w.id, p.id)) in self._results]

    # --- kinds --------------------------------------------------------------------------------------------------------

    async def _cold(self, workload: Workload, memory: Workload | None) -> None:
        times: dict[str, list[float]] = {}
        sizes: dict[str, list[float]] = {}
        for _ in range(self._count(workload)):
            for peer in self._left(workload):
                async with self._failing(workload, peer):
                    look = memory if memory is not None and memory.id not in peer.skips else None
                    try:
                        took, size = await measure.cold_start(peer, workload, look)
                    except Unreadable as error:
                        if look is None:
                            raise
                        self._fail(look, peer, str(error))
                        took, size = await measure.cold_start(peer, workload, None)
                    times.setdefault(peer.id, []).append(took)
                    if size is not None:
                        sizes.setdefault(peer.id, []).append(size)
        self._keep(workload, times)
        if memory is not None:
            self._keep(memory, sizes)

    async def _turns(self, workload: Workload) -> None:
        samples: dict[str, list[float]] = {}
        for peer in self._left(workload):
            async with self._failing(workload, peer):
                await measure.warm(await self._host(peer), workload)
        for _ in range(self._count(workload)):
            for peer in self._left(workload):
                async with self._failing(workload, peer):
                    samples.setdefault(peer.id, []).append(await self._sample(workload, peer))
        self._keep(workload, samples)

    async def _sample(self, workload: Workload, peer: Peer) -> float:
        """One sample; of a new host where the old one failed, which may happen once."""
        try:
            return await measure.sample(await self._host(peer), workload, self._scale)
        except HostFailed as error:
            if (workload.id, peer.id) in self._again:
                raise
            self._again[workload.id, peer.id] = str(error)
            self._say(f"  {peer.id}, once again: {error}")
        await self._close(peer.id)
        host = await self._host(peer)
        await measure.warm(host, workload)
        return await measure.sample(host, workload, self._scale)

    async def _arrivals(self, workload: Workload) -> None:
        found: dict[str, list[float]] = {}
        rates = {peer.id: workload.load * self._saturated(peer) for peer in self._left(workload)}
        for peer in self._left(workload):
            if not rates[peer.id]:
                self._fail(workload, peer, "its throughput was not measured, so there is no rate to run at")
        for number in range(self._count(workload)):
            for peer in self._left(workload):
                async with self._failing(workload, peer):
                    host = await self._host(peer)
                    new = await measure.latencies(host, workload, rates[peer.id], number, self._scale)
                    found.setdefault(peer.id, []).extend(new)
        self._keep(workload, found, rates=rates)

    async def _growth(self, workload: Workload) -> None:
        # Hosts that have just been started: what the other workloads have left in the old ones is not growth.
        await self._close()
        found: dict[str, list[measure.Stretch]] = {}
        for _ in range(self._count(workload)):
            for peer in self._left(workload):
                async with self._failing(workload, peer):
                    host = await self._host(peer)
                    found.setdefault(peer.id, []).append(await measure.stretch(host, workload, self._say))
        self._keep(workload, {peer: [part.ms for part in parts] for peer, parts in found.items()}, parts=found)

    # --- hosts and results --------------------------------------------------------------------------------------------

    def _count(self, workload: Workload) -> int:
        if workload.kind == "growth" and workload.rounds is not None:
            return workload.rounds  # parts of one long stretch, not samples of the same
        return self._rounds if workload.rounds is None else min(workload.rounds, self._rounds)

    def _left(self, workload: Workload) -> list[Peer]:
        """Those that it is to be measured on, and on which it has not failed yet."""
        failed = {peer for (name, peer) in self._results if name == workload.id}
        return [peer for peer in self._peers if workload.id not in peer.skips and peer.id not in failed]

    def _saturated(self, peer: Peer) -> float:
        rates = [
            result.summary.median
            for (name, of), result in self._results.items()
            if of == peer.id and name.startswith("saturated-") and result.summary is not None
        ]
        return max(rates, default=0.0)

    async def _host(self, peer: Peer) -> HostProcess:
        host = self._hosts.get(peer.id)
        if host is None:
            host = HostProcess(peer)
            await host.__aenter__()
            self._hosts[peer.id] = host
            self.versions[peer.id] = host.versions
            await measure.check_fresh(host)
        return host

    async def _close(self, *ids: str) -> None:
        for name in ids or tuple(self._hosts):
            host = self._hosts.pop(name, None)
            if host is not None:
                await host.__aexit__(None, None, None)

    @contextlib.asynccontextmanager
    async def _failing(self, workload: Workload, peer: Peer) -> AsyncIterator[None]:
        try:
            yield
        except (HostFailed, OSError) as error:
            self._fail(workload, peer, str(error))
            await self._close(peer.id)  # the next workload gets a new one

    def _fail(self, workload: Workload, peer: Peer, why: str) -> None:
        self._say(f"  FAILED {peer.id}: {why}")
        self._results[workload.id, peer.id] = Result(workload=workload.id, peer=peer.id, failure=why)

    def _keep(
        self,
        workload: Workload,
        samples: dict[str, list[float]],
        *,
        rates: dict[str, float] | None = None,
        parts: dict[str, list[measure.Stretch]] | None = None,
    ) -> None:
        for peer in self._left(workload):
            if peer.id not in samples:
                continue
            taken = samples[peer.id]
            summary = summarize(taken, tail=rates is not None)
            self._results[workload.id, peer.id] = Result(
                workload=workload.id,
                peer=peer.id,
                samples=[] if rates is not None else taken,
                summary=summary,
                rate=rates[peer.id] if rates is not None else None,
                memory_mb=[part.memory_mb for part in (parts or {}).get(peer.id, []) if part.memory_mb is not None],
                processor_ms=[part.processor_ms for part in (parts or {}).get(peer.id, [])],
                again=self._again.get((workload.id, peer.id)),
            )
            spread = f"{summary.low:9.2f} to {summary.high:9.2f}"
            tail = f"   p99 {summary.p99:9.2f}" if summary.p99 is not None else ""
            self._say(f"  {peer.id:16}{summary.median:10.2f} {workload.unit:7} {spread}{tail}")
