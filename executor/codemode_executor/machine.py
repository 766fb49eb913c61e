"""How much memory there is for workers: the machine's, or the control group's if that is less."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import BadRequest
from .limits import MIB

#: Workers that a pool has at most by default, memory permitting. Far above the number of cores: a run that waits for
#: its tools holds a worker and uses nothing.
DEFAULT_MAX_WORKERS = 32

#: The part of the memory that workers may be promised by default; the rest is the host's.
_DEFAULT_SHARE = 0.8

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60


def memory_bytes() -> int | None:
    """Memory that this process and its children may use; ``None`` where it cannot be told."""
    candidates = [limit for limit in (_physical(), _cgroup()) if limit is not None]
    return min(candidates, default=None)


def default_max_workers(memory_mb: int, memory: int | None) -> int:
    """As many workers as fit into the default share of ``memory`` bytes, at least 1 and at most 32."""
    if memory is None:
        return DEFAULT_MAX_WORKERS
    return max(1, min(DEFAULT_MAX_WORKERS, int(memory * _DEFAULT_SHARE) // (memory_mb * MIB)))


def check(max_workers: int, memory_mb: int, memory: int | None) -> None:
    """Refuse a pool whose workers, all at their limit, would not fit into memory.

    Raises:
        BadRequest: they would not.
    """
    if memory is None:
        return
    wanted = max_workers * memory_mb * MIB
    if wanted > memory:
        raise BadRequest(
            f"max_workers={max_workers} times Limits.memory_mb={memory_mb} is {wanted // MIB} MiB, but there are"
            f" {memory // MIB} MiB of memory: lower one of them, or pass allow_overcommit=True"
        )


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # the first of them on Windows
        return None


def _cgroup() -> int | None:
    """The tightest limit on the way from this process's group to the root, of version 2 or 1."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    limits: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            limits += _limits_along(_CGROUP_ROOT, path, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _limits_along(_CGROUP_ROOT / "memory", path, "memory.limit_in_bytes")
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


def _limits_along(root: Path, path: str, name: str) -> list[int]:
    limits: list[int] = []
    group = root / path.lstrip("/")
    while True:
        try:
            text = (group / name).read_text().strip()
        except OSError:
            text = "max"
        if text.isdigit():
            limits.append(int(text))
        if group in (root, group.parent):
            return limits
        group = group.parent
