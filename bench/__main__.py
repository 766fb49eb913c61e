"""Measure the engine beside its peers and write the report: docs/benchmark.md, its charts and bench/results.json.

python -m bench [--quick] [--rounds N] [--peers engine,upstream] [--workloads no-tool,growth] [--out DIRECTORY]
python -m bench --page     write the page again from bench/results.json
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

import msgspec

from . import page, peers, results, workloads
from .machine import describe
from .session import Session

_HERE = Path(__file__).resolve().parent
_ROUNDS = 7
_QUICK_ROUNDS = 2
_QUICK_SCALE = 0.4
_QUICK_RUNS = 50  # of a burst, and of a round of the growth


def main() -> int:
    """Exit status: 0, or 1 if something failed or is not installed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="two short rounds: shows that it works, not how fast it is"
    )
    parser.add_argument("--rounds", type=int, help=f"samples of each peer and workload; default {_ROUNDS}")
    parser.add_argument("--peers", default="", help=f"of {', '.join(peer.id for peer in peers.PEERS)}; default all")
    parser.add_argument("--workloads", default="", help="ids in workloads.json; default all")
    parser.add_argument("--out", type=Path, default=peers.ROOT, help="where docs/ and bench/ are written; the project")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from bench/results.json")
    options = parser.parse_args()
    file = options.out / "bench" / "results.json"
    if options.page:
        page.write(results.read(file), workloads.read(), options.out)
        return 0
    try:
        chosen = peers.chosen(_names(options.peers))
        wanted = _workloads(_names(options.workloads))
        rounds = options.rounds if options.rounds is not None else (_QUICK_ROUNDS if options.quick else _ROUNDS)
        if rounds < 1:
            raise ValueError(f"--rounds must be at least 1, not {rounds}")
    except ValueError as error:
        parser.error(str(error))
    absent = {peer.id: peer.missing() for peer in chosen if peer.missing()}
    for name, hint in absent.items():
        print(f"NOT MEASURED: {name}: {hint}", file=sys.stderr)
    report = asyncio.run(_measure([p for p in chosen if p.id not in absent], wanted, rounds, quick=options.quick))
    file.parent.mkdir(parents=True, exist_ok=True)
    results.write(report, file)
    page.write(report, workloads.read(), options.out)
    print(f"\n{report.seconds:.0f} s; written: {file.name}, benchmark.md and its charts")
    if report.failures:
        print(f"{len(report.failures)} measurements FAILED: see above", file=sys.stderr)
    return 1 if report.failures or absent else 0


async def _measure(
    chosen: list[peers.Peer], wanted: list[workloads.Workload], rounds: int, *, quick: bool
) -> results.Report:
    machine = describe()
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - start:5.0f} s  {text}", flush=True)

    if machine.load > 0.3 * machine.cores:
        say(f"THE MACHINE IS BUSY: its load is {machine.load:.1f} on {machine.cores} cores")
    session = Session(chosen, rounds, _QUICK_SCALE if quick else 1.0, say)
    if quick:
        wanted = [_shortened(workload) for workload in wanted]
    found = await session.run(wanted)
    return results.Report(
        machine=machine,
        quick=quick,
        rounds=rounds,
        seconds=time.monotonic() - start,
        peers={
            peer.id: results.PeerInfo(
                title=peer.title,
                what=peer.what,
                process=peer.process,
                memory=peer.memory,
                system_calls=peer.system_calls,
                deadline=peer.deadline,
                versions=session.versions.get(peer.id, {}),
            )
            for peer in chosen
        },
        results=found,
    )


def _shortened(workload: workloads.Workload) -> workloads.Workload:
    if workload.rounds is None:
        return workload
    runs = min(workload.runs, _QUICK_RUNS) if workload.kind in ("burst", "growth") else workload.runs
    return msgspec.structs.replace(workload, runs=runs, rounds=5 if workload.kind == "growth" else 1)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _workloads(names: list[str]) -> list[workloads.Workload]:
    known = {workload.id: workload for workload in workloads.read()}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no workload {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


if __name__ == "__main__":
    sys.exit(main())
