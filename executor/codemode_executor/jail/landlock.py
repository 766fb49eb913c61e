"""Landlock: no path, no TCP, no way to processes outside, whatever the system call filter lets through.

A ruleset without a rule forbids everything that it names, so it names all that the kernel knows.
Descriptors that are open already keep what they can do.
"""

from typing import NamedTuple

from codemode_executor.jail import kernel
from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on
from codemode_executor.jail.syscalls import architecture


class Rights(NamedTuple):
    """What a version of Landlock can forbid, and how much of the structure it reads."""

    fs: int
    net: int
    scoped: int
    size: int


# linux/landlock.h. 1: execute, write, read, list, remove and make (13 rights); 2: refer, to move
# between directories; 3: truncate; 4: bind and connect TCP; 5: ioctl of devices; 6: abstract
# sockets and signals to the outside; 7 and 8 add options only; 9: sockets by path.
_BY_ABI: tuple[Rights, ...] = (
    Rights((1 << 13) - 1, 0, 0, 8),
    Rights((1 << 14) - 1, 0, 0, 8),
    Rights((1 << 15) - 1, 0, 0, 8),
    Rights((1 << 15) - 1, 3, 0, 16),
    Rights((1 << 16) - 1, 3, 0, 16),
    Rights((1 << 16) - 1, 3, 3, 24),
    Rights((1 << 16) - 1, 3, 3, 24),
    Rights((1 << 16) - 1, 3, 3, 24),
    Rights((1 << 17) - 1, 3, 3, 24),
)


def rights(version: int) -> Rights:
    """Return all that a version can forbid; of a later one, what this module knows."""
    return _BY_ABI[min(version, len(_BY_ABI)) - 1]


def abi() -> int:
    """Return the version of the kernel's Landlock, 0 if there is none to be used."""
    arch = architecture()
    try:
        return 0 if arch is None else kernel.landlock_abi(arch.numbers["landlock_create_ruleset"])
    except OSError:
        return 0


def ruleset() -> tuple[int, int, str]:
    """Make the ruleset that allows nothing.

    Returns:
        The kernel's version and the descriptor; or 0, -1 and why there is none.
    """
    arch = architecture()
    if arch is None:
        return 0, -1, "there is no system call table for this machine"
    number = arch.numbers["landlock_create_ruleset"]
    try:
        version = kernel.landlock_abi(number)
        fd = kernel.landlock_ruleset(number, *rights(version))
    except OSError as refusal:
        # ENOSYS: not compiled in; EOPNOTSUPP: not switched on; EPERM: a container's filter.
        return 0, -1, refusal.strerror or str(refusal)
    return version, fd, ""


def restrict(context: Context) -> Outcome:
    """The layer: from now on this thread, and every thread it makes, reaches nothing by name."""
    arch = architecture()
    prepared = context.prepared
    if arch is None or prepared.landlock_fd < 0:
        raise LayerFailure(prepared.landlock_problem)
    kernel.syscall(arch.numbers["landlock_restrict_self"], prepared.landlock_fd, 0)
    known = rights(prepared.landlock_abi)
    parts = [f"ABI {prepared.landlock_abi}", f"{known.fs.bit_count()} rights on files"]
    parts.append("no TCP" if known.net else "TCP needs ABI 4")
    parts.append(
        "no signal and no abstract socket to the outside" if known.scoped else "signals and sockets need ABI 6"
    )
    return on(", ".join(parts))
