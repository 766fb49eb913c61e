"""What each layer is worth alone: attempts made behind layers that are taken as broken already.

In a whole jail nearly everything is refused by the first layer that is asked, the system call filter,
and the others cannot be seen to work. So a child process builds the same jail without the layers that
stand in front of the one in question, and tries, in a thread made afterwards. Each case has its
control: without the layer in question too, the attempt must be seen to get through.
"""

import errno
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from codemode_executor.jail import kernel, landlock, probes, sealing
from codemode_executor.jail.errors import JailError
from codemode_executor.jail.inspection import inspect, inspect_process
from codemode_executor.jail.layer import Layer
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import JailPolicy, LayerName
from codemode_executor.jail.report import LayerState, ProbeResult, ProcessStatus, ThreadStatus
from codemode_executor.jail.syscalls import architecture

if sys.platform != "win32":
    import resource

_TIMEOUT_S = 10.0
_MAX_ANSWER = 1 << 20
_NICE = 5
_VARIABLE = "CODEMODE_REHEARSAL"

IPC_CREAT, IPC_EXCL = 0o1000, 0o2000


class Rehearsed(msgspec.Struct, frozen=True):
    """A case and what came of it.

    `held`: the layer stopped the attempt. `noticed`: without the layer, the attempt was seen to get
    through, so that `held` means something. Both are False when the layer is not in force, and
    `answer` then says why. `answer` and `without` are what was observed with and without it.
    """

    name: str
    layer: str
    broken: tuple[str, ...]
    held: bool
    noticed: bool
    answer: str
    without: str


class Observation(msgspec.Struct, frozen=True):
    """A jailed child, from inside (`states`, `tried`) and from outside. `refused`: the layer that refused to start."""

    refused: str
    states: dict[str, LayerState]
    details: dict[str, str]
    tried: dict[str, ProbeResult]
    threads: list[ThreadStatus]
    process: ProcessStatus
    own_session: bool
    nicer: bool


Look = Callable[[Observation], tuple[str, bool]]


class Case(NamedTuple):
    """An attempt that one layer must stop. `look` returns what was observed, and whether that is a stop.

    `landlock_abi`: the first version of Landlock that can.
    """

    name: str
    layer: LayerName
    broken: frozenset[LayerName]
    look: Look
    early_thread: bool = False
    landlock_abi: int = 0


def _tried(name: str, *stops: str) -> Look:
    """An attempt from inside is stopped by one of these answers, and by no other."""

    def look(seen: Observation) -> tuple[str, bool]:
        result = seen.tried.get(name)
        if result is None:
            return "not tried", False
        if result.errno == 0:
            return result.detail, False
        code = probes.error_name(result.errno)
        return f"{code} ({os.strerror(result.errno)})", code in stops

    return look


def _each_thread(text: Callable[[ThreadStatus], str], holds: Callable[[ThreadStatus], bool]) -> Look:
    def look(seen: Observation) -> tuple[str, bool]:
        open_threads = [text(status) for status in seen.threads if not holds(status)]
        shown = open_threads[0] if open_threads else text(seen.threads[0]) if seen.threads else "no thread seen"
        return shown, bool(seen.threads) and not open_threads

    return look


def _whole(field: str, wanted: bool, text: str) -> Look:
    def look(seen: Observation) -> tuple[str, bool]:
        value = getattr(seen.process, field)
        return f"{text}: {value}", value is wanted

    return look


def _refusal(seen: Observation) -> tuple[str, bool]:
    if seen.refused:
        return f"refused by {seen.refused}", seen.refused == "threads"
    noticed = seen.states.get("threads") == "failed"
    return "reported" if noticed else "started with a second thread", noticed


def _session(seen: Observation) -> tuple[str, bool]:
    return f"its own session: {seen.own_session}", seen.own_session


def _priority(seen: Observation) -> tuple[str, bool]:
    return f"nicer than its parent: {seen.nicer}", seen.nicer


def _without(*layers: LayerName) -> frozenset[LayerName]:
    return frozenset(layers)


_WHOLE = _without()
_FILTER = _without("seccomp")

CASES: tuple[Case, ...] = (
    Case("second_thread", "threads", _WHOLE, _refusal, early_thread=True),
    Case("inherited_descriptor", "descriptors", _WHOLE, _tried("inherited_descriptor", "EBADF")),
    Case("inherited_variable", "environment", _WHOLE, _tried("inherited_variable", "ENOENT")),
    Case("own_session", "session", _WHOLE, _session),
    Case("lower_priority", "priority", _WHOLE, _priority),
    Case("core_limit", "limits", _WHOLE, _tried("core_limit", "EPERM")),
    Case(
        "root_id", "identity", _WHOLE,
        _each_thread(lambda status: f"uid {status.uids[1]}", lambda status: 0 not in status.uids + status.gids),
    ),
    Case("own_users", "user_namespace", _WHOLE, _whole("own_user_namespace", True, "its own user namespace")),
    Case(
        "new_user_namespace", "user_namespace", _without("seccomp", "root_directory"),
        _tried("user_namespace", "EPERM", "ENOSPC"),
    ),
    Case("own_network", "network_namespace", _WHOLE, _whole("own_network_namespace", True, "its own network")),
    Case(
        "loopback", "network_namespace", _without("seccomp", "limits", "landlock"),
        _tried("reach_loopback", "ENETUNREACH"),
    ),
    Case("shared_memory", "ipc_namespace", _FILTER, _tried("shared_memory", "ENOENT")),
    Case("host_name", "uts_namespace", _FILTER, _tried("host_name", "EPERM")),
    Case("no_mount", "root_directory", _WHOLE, _whole("own_root_directory", True, "no mount below its root")),
    Case("look_at_file", "root_directory", _FILTER, _tried("look_at_file", "ENOENT")),
    Case(
        "read_file_by_path", "root_directory", _without("seccomp", "limits", "landlock"),
        _tried("read_file", "ENOENT"),
    ),
    Case(
        "capabilities", "capabilities", _WHOLE,
        _each_thread(
            lambda status: f"capabilities {status.cap_permitted:x}",
            lambda status: status.cap_permitted == status.cap_effective == 0,
        ),
    ),
    Case(
        "new_privileges", "no_new_privs", _WHOLE,
        _each_thread(lambda status: f"no_new_privs {status.no_new_privs}", lambda status: status.no_new_privs),
    ),
    # Whoever was root is not dumpable in any case, so the drop of the ids is taken away as well.
    Case("core_dump", "core_dumps", _without("seccomp", "identity"), _tried("core_dump", "EPERM")),
    Case("orphan", "parent_death", _FILTER, _tried("orphan", "ESRCH")),
    Case("read_file", "landlock", _without("seccomp", "limits", "root_directory"), _tried("read_file", "EACCES")),
    Case("write_file", "landlock", _without("seccomp", "limits", "root_directory"), _tried("write_file", "EACCES")),
    Case(
        "signal_parent", "landlock", _without("seccomp", "identity", "capabilities", "user_namespace"),
        _tried("signal_parent", "EPERM"), landlock_abi=6,
    ),
    Case(
        "listen", "landlock", _without("seccomp", "limits", "network_namespace"),
        _tried("listen", "EACCES"), landlock_abi=4,
    ),
    Case("fork", "seccomp", _WHOLE, _tried("fork", "EPERM")),
    Case("unix_socket", "seccomp", _without("limits"), _tried("unix_socket", "EPERM")),
    Case(
        "filter_on_every_thread", "seccomp", _WHOLE,
        _each_thread(lambda status: f"seccomp mode {status.seccomp}", lambda status: status.seccomp == 2),
    ),
)  # fmt: skip


def rehearse(policy: JailPolicy, removed: Iterable[LayerName] = ()) -> tuple[Rehearsed, ...]:
    """Try every case in child processes of the calling one, which should have one thread.

    Args:
        policy: that of the workers.
        removed: layers to leave out everywhere, as if the code did not have them.

    Raises:
        JailError: a child did not answer.
        OSError: no child can be started.
    """
    gone = frozenset(removed)
    seen: dict[tuple[frozenset[LayerName], bool], Observation] = {}

    def look(broken: frozenset[LayerName], early_thread: bool) -> Observation:
        key = (broken, early_thread)
        if key not in seen:
            seen[key] = observe(policy, broken, early_thread=early_thread)
        return seen[key]

    results: list[Rehearsed] = []
    with _findable():
        for case in CASES:
            broken: frozenset[LayerName] = case.broken | gone
            with_it = look(broken, case.early_thread)
            without_it = look(broken | _without(case.layer), case.early_thread)
            answer, held = case.look(with_it)
            without, control = case.look(without_it)
            missing = _not_in_force(case, with_it)
            if missing and case.layer not in gone:
                results.append(Rehearsed(case.name, case.layer, tuple(sorted(case.broken)), False, False, missing, ""))
                continue
            results.append(
                Rehearsed(case.name, case.layer, tuple(sorted(case.broken)), held, not control, answer, without)
            )
    return tuple(results)


def _not_in_force(case: Case, seen: Observation) -> str:
    """Why the case says nothing here; empty if it does."""
    state = seen.states.get(case.layer, "off")
    if state != "on" and not case.early_thread:
        return f"{state}: {seen.details.get(case.layer, 'the jail was refused')}"
    if case.landlock_abi > landlock.abi():
        return f"off: needs Landlock ABI {case.landlock_abi}, this kernel has {landlock.abi()}"
    return ""


def observe(policy: JailPolicy, broken: Iterable[LayerName], *, early_thread: bool = False) -> Observation:
    """Build the jail without `broken` in a child, let it try everything, and look at it from outside.

    Raises:
        JailError: the child did not answer.
        OSError: no child can be started.
    """
    layers = [layer for layer in LAYERS if layer.name not in frozenset(broken)]
    # A priority that can be seen; everything else as asked.
    policy = msgspec.structs.replace(policy, nice=_NICE)
    reading, writing = os.pipe()
    waiting, going = os.pipe()
    inherited = os.open("/dev/zero", os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            os.close(going)
            answer = _in_child(policy, layers, (writing, waiting), inherited, early_thread)
            os.write(writing, msgspec.msgpack.encode(answer))
            os.close(writing)
            os.read(waiting, 1)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    os.close(waiting)
    os.close(inherited)
    try:
        data = _read_all(reading)
        if not data:
            raise JailError("rehearsal", f"the child without {sorted(broken)} did not answer", remedy="report this")
        refused, states, details, tried = msgspec.msgpack.decode(data, type=_Inside)
        return Observation(
            refused,
            states,
            details,
            tried,
            inspect(pid),
            inspect_process(pid),
            os.getsid(pid) == pid,
            os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0),
        )
    finally:
        os.close(reading)
        os.close(going)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


_Inside = tuple[str, dict[str, LayerState], dict[str, str], dict[str, ProbeResult]]


def _read_all(fd: int) -> bytes:
    data = b""
    deadline = time.monotonic() + _TIMEOUT_S
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while len(data) < _MAX_ANSWER and poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(fd, 65536)
        if not part:
            return data
        data += part
    return b""


def _in_child(
    policy: JailPolicy, layers: list[Layer], keep: tuple[int, ...], inherited: int, early_thread: bool
) -> _Inside:
    os.environ[_VARIABLE] = "1"
    if early_thread:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    try:
        report = sealing.build(layers, policy, keep)
    except JailError as failure:
        return failure.layer, {}, {}, {}
    # The signal belongs to the thread that asked for it, which is this one.
    tried = {result.name: result for result in probes.attempt((("orphan", _outlive_parent),))}

    def attempts() -> None:
        tried.update((result.name, result) for result in probes.self_test())
        tried.update((result.name, result) for result in probes.attempt(_own_attempts(inherited)))

    thread = threading.Thread(target=attempts)
    thread.start()
    thread.join()
    states: dict[str, LayerState] = {layer.name: layer.state for layer in report.layers}
    return "", states, {layer.name: layer.detail for layer in report.layers}, tried


def _own_attempts(inherited: int) -> tuple[tuple[str, Callable[[], str]], ...]:
    """Attempts on what only a rehearsal has put there."""

    def read_inherited() -> str:
        return f"read {len(os.read(inherited, 1))} byte from a descriptor that was inherited"

    def find_variable() -> str:
        if _VARIABLE not in os.environ:
            raise FileNotFoundError(errno.ENOENT, "no such variable")
        return f"found {_VARIABLE}"

    def core_limit() -> str:
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if soft == hard == 0:
            raise PermissionError(errno.EPERM, "no core file may be written")
        return f"core files up to {soft} bytes"

    def core_dump() -> str:
        dumpable = kernel.prctl(kernel.PR_GET_DUMPABLE)
        if dumpable == 0:
            raise PermissionError(errno.EPERM, "not dumpable")
        return f"dumpable: {dumpable}"

    return (
        ("inherited_descriptor", read_inherited),
        ("inherited_variable", find_variable),
        ("core_limit", core_limit),
        ("core_dump", core_dump),
    )


def _outlive_parent() -> str:
    number = kernel.parent_death_signal()
    if number == signal.SIGKILL:
        raise ProcessLookupError(errno.ESRCH, "SIGKILL comes with the parent's end")
    return f"signal {number} when the parent ends"


@contextmanager
def _findable() -> Generator[None, None, None]:
    """Shared memory of this process that a child can find by its number."""
    arch = architecture()
    if arch is None or sys.platform != "linux":
        yield
        return
    number = arch.numbers["shmget"]
    segment = kernel.syscall(number, probes.probe_key(os.getpid()), 4096, IPC_CREAT | IPC_EXCL | 0o600)
    try:
        yield
    finally:
        kernel.remove_shared_memory(segment)
