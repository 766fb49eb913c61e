"""The self-test: tries what the jail forbids, and notices when it is allowed.

A probe that succeeds leaves the host as it was: signal 0, a child that leaves at once, a file
that is removed, a limit that is put back.
"""

import ctypes
import errno
import os
import socket
import sys
import threading
from collections.abc import Callable

from codemode_executor.jail import kernel
from codemode_executor.jail.errors import JailError
from codemode_executor.jail.namespaces import HOST_NAME
from codemode_executor.jail.policy import JailPolicy
from codemode_executor.jail.report import JailReport, ProbeResult
from codemode_executor.jail.syscalls import architecture

_REFUSALS = frozenset({errno.EPERM, errno.EACCES, errno.ENOSYS})

PTRACE_DETACH = 17
RLIMIT_DATA = 2
DISCARD_PORT = 9
KEY_BASE = 0x636D_0000


_remembered_parent: int | None = None


def remember_parent(pid: int) -> None:
    """Keep the parent's process id: a jailed process cannot ask for it."""
    global _remembered_parent
    _remembered_parent = pid


def _parent() -> int:
    return os.getppid() if _remembered_parent is None else _remembered_parent


def _read_file() -> str:
    os.close(os.open("/etc/passwd", os.O_RDONLY))
    return "opened /etc/passwd"


def _write_file() -> str:
    path = f"/tmp/codemode-jail-probe-{os.urandom(8).hex()}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(fd)
    os.unlink(path)
    return f"created {path}"


def _read_environment() -> str:
    os.close(os.open("/proc/self/environ", os.O_RDONLY))
    return "opened /proc/self/environ"


def _inet_socket() -> str:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    return "made an internet socket"


def _unix_socket() -> str:
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()
    return "made a unix socket"


def _connect() -> str:
    # With no socket to be had, the call itself is tried on a descriptor that cannot exist: a
    # kernel that considers it answers EBADF.
    try:
        channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    except OSError:
        kernel.syscall(_number("connect"), -1, 0, 0)
        return "connect went through"
    with channel:
        channel.connect(("127.0.0.1", DISCARD_PORT))
    return "connected a datagram socket"


def _fork() -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


def _spawn() -> str:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return "started /bin/true"


def _execute() -> str:
    # The empty path exists nowhere: a kernel that considers it answers ENOENT, and the process
    # is never replaced.
    os.execve("", ["none"], {})


def _signal_parent() -> str:
    pid = _parent()
    os.kill(pid, 0)
    return f"may signal process {pid}"


def _unshare() -> str:
    kernel.syscall(_number("unshare"), 0)
    return "unshare is answered"


def _trace() -> str:
    pid = _parent()
    # Detaching from a process that is not traced changes nothing and answers ESRCH.
    kernel.syscall(_number("ptrace"), PTRACE_DETACH, pid, 0, 0)
    return f"ptrace of process {pid} is answered"


def _raise_limit() -> str:
    # Not through `resource`, which turns EPERM into a ValueError.
    number = _number("prlimit64")
    before = kernel.Rlimit()
    unlimited = kernel.Rlimit(kernel.RLIM_INFINITY, kernel.RLIM_INFINITY)
    kernel.syscall(number, 0, RLIMIT_DATA, ctypes.addressof(unlimited), ctypes.addressof(before))
    kernel.syscall(number, 0, RLIMIT_DATA, ctypes.addressof(before))
    return "lifted RLIMIT_DATA"


def _become_root() -> str:
    # The bare call changes this thread alone; the C library would signal all of them. The real
    # uid stays, and is what the effective one goes back to.
    kernel.syscall(_number("setresuid"), -1, 0, -1)
    kernel.syscall(_number("setresuid"), -1, os.getuid(), -1)
    return "took uid 0"


def _look_at_file() -> str:
    # The one thing that Landlock lets pass: to see that a file is there.
    return f"/etc/passwd has {os.stat('/etc/passwd').st_size} bytes"


def _reach_loopback() -> str:
    # A datagram to nobody: whoever has the host's network can send it.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(b"", ("127.0.0.1", DISCARD_PORT))
    return "sent a datagram to 127.0.0.1"


def _listen() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        return f"took a port of 127.0.0.1, {listener.getsockname()[1]}"


def _new_user_namespace() -> str:
    # In a process of its own: one with threads cannot, jail or no jail.
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            kernel.unshare(kernel.CLONE_NEWUSER)
            status = 0
        except OSError as refusal:
            status = refusal.errno or 255
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise OSError(status, os.strerror(status))
    return "made a user namespace"


def _shared_memory() -> str:
    kernel.syscall(_number("shmget"), probe_key(_parent()), 0, 0)
    return "found the shared memory of another process"


def _host_name() -> str:
    name = os.uname().nodename
    if name == HOST_NAME:
        raise OSError(errno.EPERM, "only the jail's own name is to be read")
    return f"the host is named {name}"


def _change_root() -> str:
    os.chroot("/")
    return "chose a root directory"


def probe_key(pid: int) -> int:
    """The key of the System V shared memory by which a process shows its children that it can be found."""
    return KEY_BASE + pid


def _number(name: str) -> int:
    arch = architecture()
    if arch is None:
        raise OSError(errno.EINVAL, "no system call table for this machine")
    return arch.numbers[name]


PROBES: tuple[tuple[str, Callable[[], str]], ...] = (
    ("read_file", _read_file),
    ("write_file", _write_file),
    ("read_environment", _read_environment),
    ("inet_socket", _inet_socket),
    ("unix_socket", _unix_socket),
    ("connect", _connect),
    ("fork", _fork),
    ("spawn", _spawn),
    ("execute", _execute),
    ("signal_parent", _signal_parent),
    ("look_at_file", _look_at_file),
    ("reach_loopback", _reach_loopback),
    ("listen", _listen),
)

LINUX_PROBES: tuple[tuple[str, Callable[[], str]], ...] = (
    ("unshare", _unshare),
    ("trace", _trace),
    ("raise_limit", _raise_limit),
    ("become_root", _become_root),
    ("user_namespace", _new_user_namespace),
    ("shared_memory", _shared_memory),
    ("host_name", _host_name),
    ("change_root", _change_root),
)


def self_test() -> tuple[ProbeResult, ...]:
    """Try everything the jail forbids, in the calling thread, and return what happened.

    Never raises for what a probe met. Call it in a thread made after `apply`, to prove that the
    jail covers later threads; `run_self_test` does that.
    """
    return attempt(PROBES + (LINUX_PROBES if sys.platform == "linux" else ()))


def attempt(probes: tuple[tuple[str, Callable[[], str]], ...]) -> tuple[ProbeResult, ...]:
    """Try each of these; a probe says what it did, or raises what it was answered."""
    return tuple(_try(name, probe) for name, probe in probes)


def error_name(number: int) -> str:
    """Return the name of an error number, for example EPERM."""
    return errno.errorcode.get(number, str(number))


def _try(name: str, probe: Callable[[], str]) -> ProbeResult:
    try:
        return ProbeResult(name, False, probe())
    except OSError as refusal:
        number = refusal.errno or 0
        code = error_name(number)
        if number in _REFUSALS:
            return ProbeResult(name, True, code, number)
        return ProbeResult(name, False, f"reached the kernel, which answered {code}", number)


def run_self_test(timeout_s: float = 5.0) -> tuple[ProbeResult, ...]:
    """Run `self_test` in a thread of its own and wait for it.

    Raises:
        JailError: the thread could not start, failed, or did not end within `timeout_s` seconds.
    """
    results: list[tuple[ProbeResult, ...]] = []
    thread = threading.Thread(target=lambda: results.append(self_test()), name="jail-self-test", daemon=True)
    remedy = "report this with the kernel's version: the self-test must run in any jail"
    try:
        thread.start()
    except RuntimeError as failure:
        raise JailError("self_test", str(failure), remedy=remedy) from failure
    thread.join(timeout_s)
    if thread.is_alive():
        raise JailError("self_test", f"no answer within {timeout_s} s", remedy=remedy)
    if not results:
        # The thread has printed its traceback to standard error.
        raise JailError("self_test", "its thread failed, see standard error", remedy=remedy)
    return results[0]


def require_blocked(results: tuple[ProbeResult, ...], report: JailReport, *, policy: JailPolicy | None = None) -> None:
    """Check a self-test; says nothing unless the filter, which answers every probe, is required.

    Args:
        results: of `run_self_test`.
        report: what the process says of its layers.
        policy: what was asked for; without it, `report.hardening` for every layer.

    Raises:
        JailError: a probe got through, or nothing was probed.
    """
    asked = policy or JailPolicy(hardening=report.hardening)
    if asked.wanted("seccomp") != "required":
        return
    remedy = 'do not run programs on this system, or choose hardening="used" knowingly'
    if not results:
        raise JailError("self_test", "no probe was run", remedy=remedy)
    breaches = [f"{result.name}: {result.detail}" for result in results if not result.blocked]
    if breaches:
        raise JailError("self_test", "not blocked: " + "; ".join(breaches), remedy=remedy)
