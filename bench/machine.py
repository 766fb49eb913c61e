"""The machine that is measured on."""

from __future__ import annotations

import datetime
import os
import platform

from .results import Machine


def describe() -> Machine:
    """This one, now."""
    return Machine(
        processor=_field("/proc/cpuinfo", "model name") or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 1024**2, 1),
        kernel=platform.release(),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        load=os.getloadavg()[0],
    )


def _field(file: str, name: str) -> str:
    with open(file) as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""
