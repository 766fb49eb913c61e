"""What a process and all its descendants use of memory and processors, as the kernel counts it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass


class Unreadable(Exception):
    """A process of the family may not be looked at. Worker processes are not dumpable: it takes root."""


@dataclass(frozen=True)
class Footprint:
    """Sums over a family of processes, in KiB.

    Attributes:
        private: pages that only one process has, clean or dirty.
        proportional: those, and of shared pages each process's part.
    """

    processes: int
    private: int
    proportional: int


def footprint(pid: int) -> Footprint:
    """Of ``pid`` and all its descendants. Processes that end meanwhile do not count. Raises :class:`Unreadable`."""
    private = proportional = processes = 0
    for member in family(pid):
        try:
            with open(f"/proc/{member}/smaps_rollup") as file:
                rows = {row[0]: int(row[1]) for row in map(str.split, file) if len(row) == 3 and row[1].isdigit()}
        except PermissionError:
            raise Unreadable(f"process {member} may not be looked at: run the benchmark as root") from None
        except (FileNotFoundError, ProcessLookupError):
            continue
        if not rows:
            continue  # ended, and not yet waited for
        processes += 1
        private += rows["Private_Clean:"] + rows["Private_Dirty:"]
        proportional += rows["Pss:"]
    return Footprint(processes, private, proportional)


def family(pid: int) -> set[int]:
    """``pid`` and its descendants."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def processor_ms(pid: int) -> float:
    """Processor time that ``pid`` and its descendants have taken so far, ended ones that were waited for included."""
    ticks = 0
    for member in family(pid):
        with contextlib.suppress(OSError), open(f"/proc/{member}/stat", "rb") as file:
            ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")
