"""The layers of the jail, in the order in which they must be applied.

Each layer takes the context and returns what it did. It raises OSError, or LayerFailure when no
call failed but the layer does not hold. Landlock and namespaces join `LAYERS` where their order
allows: namespaces before "identity", Landlock before "seccomp".
"""

import os
import signal
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple

from codemode_executor.jail import kernel
from codemode_executor.jail.bpf import FilterProgram, assemble
from codemode_executor.jail.policy import JailPolicy, SeccompAction
from codemode_executor.jail.report import LayerState
from codemode_executor.jail.syscalls import architecture

if sys.platform != "win32":
    import resource

# The overflow uid and gid, "nobody": they own nothing.
NOBODY_UID = 65534
NOBODY_GID = 65534

STANDARD_ERROR = 2


class LayerFailure(Exception):
    """A layer does not hold although no system call failed."""


class Context(NamedTuple):
    """What the layers are given."""

    policy: JailPolicy
    keep_fds: Collection[int]
    parent_pid: int


class Outcome(NamedTuple):
    """What a layer did."""

    state: LayerState
    detail: str


class Layer(NamedTuple):
    """One layer; `hygiene` layers are applied even when hardening is off."""

    name: str
    apply: Callable[[Context], Outcome]
    remedy: str
    hygiene: bool = False
    linux_only: bool = True


def _on(detail: str) -> Outcome:
    return Outcome("on", detail)


def _read_proc(name: str) -> bytes:
    fd = os.open(f"/proc/self/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def _threads(context: Context) -> Outcome:
    # Everything but seccomp binds only the calling thread, which must therefore be the only one.
    count = len(os.listdir("/proc/self/task"))
    if count != 1:
        raise LayerFailure(f"the process already has {count} threads and may have only 1")
    return _on("one thread")


def _open_descriptors() -> Iterator[int]:
    directory = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    # The listing holds the descriptor of the listing itself, closed by now: is_open sorts it out.
    return filter(_is_open, map(int, os.listdir(directory)))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _descriptors(context: Context) -> Outcome:
    for fd in context.keep_fds:
        if not _is_open(fd):
            raise LayerFailure(f"descriptor {fd} is to be kept but is not open")
    kept = {STANDARD_ERROR, *context.keep_fds}
    null = os.open(os.devnull, os.O_RDWR)
    # Without an open descriptor 2 the text of a fatal error would go to whatever takes the number.
    for fd in (0, 1) if _is_open(STANDARD_ERROR) else (0, 1, STANDARD_ERROR):
        if fd != null:
            os.dup2(null, fd)
    closed = 0
    for fd in list(_open_descriptors()):
        if fd > 1 and fd not in kept:
            os.close(fd)
            closed += fd != null
    return _on(f"closed {closed}, kept {len(kept)}, 0 and 1 are {os.devnull}")


def _environment(context: Context) -> Outcome:
    count = len(os.environ)
    os.environ.clear()
    if sys.platform != "linux":
        return _on(f"removed {count} variables")
    kernel.clear_environment()
    # The strings the process was started with stay in its memory, and visible in
    # /proc/<pid>/environ. Nothing points to them any more.
    fields = _read_proc("stat").rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # fields 50 and 51 of proc(5), env_start, env_end
    if end > start > 0:
        kernel.wipe(start, end - start)
    elif end != start:
        raise LayerFailure(f"the kernel gives the environment as {start} to {end}")
    return _on(f"removed {count} variables, wiped {end - start} bytes")


def _session(context: Context) -> Outcome:
    # No terminal signals, and no working directory that holds a mount busy.
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.chdir("/")
    return _on("own session, directory /")


def _priority(context: Context) -> Outcome:
    policy = context.policy
    if policy.nice == 0 and policy.oom_score_adj is None:
        return Outcome("off", "not asked for")
    done: list[str] = []
    if policy.nice != 0:
        done.append(f"nice {os.nice(policy.nice)}")
    if policy.oom_score_adj is not None:
        if sys.platform == "linux":
            fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(fd, b"%d" % policy.oom_score_adj)
            finally:
                os.close(fd)
            done.append(f"oom_score_adj {policy.oom_score_adj}")
        else:
            done.append(f"no oom_score_adj on {sys.platform}")
    return _on(", ".join(done))


def _lower_limit(which: int, wanted: int) -> int:
    hard = resource.getrlimit(which)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(which, (value, value))
    return value


def _limits(context: Context) -> Outcome:
    # RLIMIT_NPROC is left alone: it counts every process of the uid, so one worker could starve
    # the others, and it would count threads. Forking is refused by seccomp.
    done: list[str] = []
    headroom = context.policy.data_bytes
    if headroom is not None and sys.platform == "linux":
        for line in _read_proc("status").splitlines():
            if line.startswith(b"VmData:"):
                present = int(line.split()[1]) * 1024
                break
        else:
            raise LayerFailure("/proc/self/status has no VmData")
        limit = _lower_limit(resource.RLIMIT_DATA, present + headroom)
        done.append(f"data {limit} bytes ({present} in use)")
    elif headroom is not None:
        done.append(f"data unlimited: its size cannot be read on {sys.platform}")
    _lower_limit(resource.RLIMIT_CORE, 0)
    if stat.S_ISREG(os.fstat(STANDARD_ERROR).st_mode):
        # The limit would swallow the text of every fatal error.
        done.append("file size unlimited: standard error is a regular file")
    else:
        done.append(f"file size {_lower_limit(resource.RLIMIT_FSIZE, 0)}")
    # poll() refuses more entries than this limit, so it is the count of what was kept, not 0.
    files = _lower_limit(resource.RLIMIT_NOFILE, max(STANDARD_ERROR, *context.keep_fds) + 1)
    return _on(", ".join([*done, "core 0", f"descriptors below {files}"]))


def _identity(context: Context) -> Outcome:
    if 0 not in (os.getuid(), os.geteuid()):
        return Outcome("off", f"not root: stays uid {os.getuid()}")
    os.setgroups([])
    os.setgid(NOBODY_GID)
    os.setuid(NOBODY_UID)
    if sys.platform == "linux":
        seen = os.getresuid() + os.getresgid()
        if seen != (NOBODY_UID,) * 3 + (NOBODY_GID,) * 3 or os.getgroups():
            raise LayerFailure(f"after the drop the ids are {seen}, the groups {os.getgroups()}")
    return _on(f"uid {NOBODY_UID}, gid {NOBODY_GID}, no groups")


def _capabilities(context: Context) -> Outcome:
    # Leaving uid 0 empties all but the inheritable set; a process that was never root may have
    # been given some.
    kernel.drop_capabilities()
    return _on("none")


def _no_new_privs(context: Context) -> Outcome:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise LayerFailure("the flag did not stay set")
    return _on("set")


def _core_dumps(context: Context) -> Outcome:
    # A core limit of 0 does not stop a kernel that pipes core dumps to a program. Not being
    # dumpable does, and keeps other processes of the same uid from attaching.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    if kernel.prctl(kernel.PR_GET_DUMPABLE) != 0:
        raise LayerFailure("the process is still dumpable")
    return _on("not dumpable")


def _parent_death(context: Context) -> Outcome:
    # After the drop, because a change of uid clears it. An extra only: it follows the thread that
    # forked, not the process.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != context.parent_pid:
        raise LayerFailure(f"the parent {context.parent_pid} ended before its signal was set")
    return _on(f"SIGKILL when {context.parent_pid} ends")


@cache
def filter_program(action: SeccompAction) -> FilterProgram:
    """Return the filter for this machine, assembled once.

    Raises:
        LayerFailure: there is no table for this machine.
    """
    arch = architecture()
    if arch is None:
        raise LayerFailure("there is no system call table for this machine")
    return assemble(arch, action)


def _seccomp(context: Context) -> Outcome:
    arch = architecture()
    action = context.policy.seccomp_action
    program = filter_program(action).for_pid(os.getpid())
    if arch is None:
        raise LayerFailure("there is no system call table for this machine")
    kernel.load_filter(arch.numbers["seccomp"], program)
    return _on(f"{arch.name}, {len(program) // 8} instructions, unforeseen calls: {action}")


_USED = 'or accept a weaker jail with hardening="used"'

LAYERS: tuple[Layer, ...] = (
    Layer("threads", _threads, "apply the jail right after the fork, before any thread starts"),
    Layer(
        "descriptors", _descriptors, "pass descriptors that are open and mount /proc",
        hygiene=True, linux_only=False,
    ),
    Layer("environment", _environment, "mount /proc", hygiene=True, linux_only=False),
    Layer(
        "session", _session, "apply the jail in a process of its own",
        hygiene=True, linux_only=False,
    ),
    Layer(
        "priority", _priority,
        "ask for a niceness and an oom_score_adj no lower than the host's own",
        hygiene=True, linux_only=False,
    ),
    Layer("limits", _limits, f"mount /proc, {_USED}", linux_only=False),
    Layer(
        "identity", _identity,
        f"run as an ordinary user, or grant CAP_SETUID and CAP_SETGID and map uid and gid "
        f"{NOBODY_UID} into the user namespace, {_USED}",
        linux_only=False,
    ),
    Layer("capabilities", _capabilities, f"allow capset, {_USED}"),
    Layer("no_new_privs", _no_new_privs, f"use Linux 3.5 or newer, {_USED}"),
    Layer("core_dumps", _core_dumps, f"allow prctl(PR_SET_DUMPABLE), {_USED}"),
    Layer("parent_death", _parent_death, "keep the zygote alive while it starts workers"),
    Layer(
        "seccomp", _seccomp,
        f"use Linux 3.17 or newer with CONFIG_SECCOMP_FILTER on x86_64 or aarch64, {_USED}",
    ),
)  # fmt: skip
