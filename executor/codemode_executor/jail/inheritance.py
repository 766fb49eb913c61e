"""What a worker is rid of before anything else, and what it may use: it inherits nothing it does not need."""

import os
import stat
import sys
from collections.abc import Iterator

from codemode_executor.jail import kernel
from codemode_executor.jail.layer import Context, LayerFailure, Outcome, on

if sys.platform != "win32":
    import resource

STANDARD_ERROR = 2
#: Of a worker: its own, one for each of three isolates, one that frees one, and room for the libraries'.
_MAX_THREADS = 64


def _read_proc(name: str) -> bytes:
    fd = os.open(f"/proc/self/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)


def threads(context: Context) -> Outcome:
    """There is one thread: the layers that bind only the calling thread then bind all."""
    count = len(os.listdir("/proc/self/task"))
    if count != 1:
        raise LayerFailure(f"the process already has {count} threads and may have only 1")
    return on("one thread")


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


def descriptors(context: Context) -> Outcome:
    """Only what is kept on purpose stays open; standard input and output are the null device."""
    for fd in context.keep_fds:
        if not _is_open(fd):
            raise LayerFailure(f"descriptor {fd} is to be kept but is not open")
    kept = {STANDARD_ERROR, *context.keep_fds}
    # What later layers use and close.
    lent = context.prepared.descriptors
    null = os.open(os.devnull, os.O_RDWR)
    # Without an open descriptor 2 the text of a fatal error would go to whatever takes the number.
    for fd in (0, 1) if _is_open(STANDARD_ERROR) else (0, 1, STANDARD_ERROR):
        if fd != null:
            os.dup2(null, fd)
    closed = 0
    for fd in list(_open_descriptors()):
        if fd > 1 and fd not in kept and fd not in lent:
            os.close(fd)
            closed += fd != null
    return on(f"closed {closed}, kept {len(kept)}, 0 and 1 are {os.devnull}")


def environment(context: Context) -> Outcome:
    """No variable, neither for Python, nor for the C library, nor in the memory that held them."""
    count = len(os.environ)
    os.environ.clear()
    if sys.platform != "linux":
        return on(f"removed {count} variables")
    kernel.clear_environment()
    # The strings the process was started with stay in its memory, and visible in
    # /proc/<pid>/environ. Nothing points to them any more.
    fields = _read_proc("stat").rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # fields 50 and 51 of proc(5), env_start, env_end
    if end > start > 0:
        kernel.wipe(start, end - start)
    elif end != start:
        raise LayerFailure(f"the kernel gives the environment as {start} to {end}")
    return on(f"removed {count} variables, wiped {end - start} bytes")


def session(context: Context) -> Outcome:
    """No terminal's signals reach the worker, and no directory is kept busy by it."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.chdir("/")
    return on("own session, directory /")


def priority(context: Context) -> Outcome:
    """A program that computes does not slow its host down; when memory runs out it goes first."""
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
    return on(", ".join(done))


def _lower_limit(which: int, wanted: int) -> int:
    hard = resource.getrlimit(which)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(which, (value, value))
    return value


def limits(context: Context) -> Outcome:
    """Memory, files, descriptors and threads that the worker may get; only ever lowered."""
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
    most_threads = _threads()  # it opens a file, which nobody can from here on
    # poll() refuses more entries than this limit, so it is the count of what was kept, not 0.
    files = _lower_limit(resource.RLIMIT_NOFILE, max((STANDARD_ERROR, *context.keep_fds)) + 1)
    return on(", ".join([*done, "core 0", f"descriptors below {files}", most_threads]))


def _threads() -> str:
    """Forking is refused by seccomp, but threads are needed; too many would use up the machine's pids.

    The limit counts every process and thread of a uid in a user namespace. Only in a namespace of its own can one
    worker not starve the others, and everybody else who has this uid.
    """
    if sys.platform != "linux" or _read_proc("uid_map").strip():
        return "threads unlimited: its user namespace is not its own"
    return f"threads up to {_lower_limit(resource.RLIMIT_NPROC, _MAX_THREADS)}"
