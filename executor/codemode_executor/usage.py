"""What the operating system says of a worker process. Linux only; elsewhere nothing is known and nothing is claimed."""

from __future__ import annotations

import mmap
import os

_PAGE = mmap.PAGESIZE


def resident_bytes(pid: int) -> int | None:
    """Resident memory of a process, ``None`` if it cannot be read."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return None


def processor_seconds(pid: int) -> float | None:
    """Processor time of a process, all threads, ``None`` if it cannot be read. Resolution 10 ms."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name stands in brackets and may hold anything; the numbers follow the last one.
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None
