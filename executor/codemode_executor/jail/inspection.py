"""Looks at a jailed process from outside, as a whole and thread by thread.

Everything read here is open to everybody, also of a process that is not dumpable and belongs to
another user namespace; only a /proc mounted with hidepid hides it.
"""

import os
from collections.abc import Mapping, Sequence

from codemode_executor.jail.errors import JailError
from codemode_executor.jail.policy import JailPolicy
from codemode_executor.jail.report import JailReport, ProcessStatus, ThreadStatus

SECCOMP_MODE_FILTER = 2


def inspect(pid: int) -> list[ThreadStatus]:
    """Return the status of every thread of a process, ordered by thread id.

    A thread that ends during the look is left out.

    Raises:
        ProcessLookupError: there is no such process.
        OSError: /proc cannot be read.
    """
    try:
        tids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except FileNotFoundError as missing:
        if _is_hidden(pid):
            raise PermissionError(
                f"/proc hides process {pid}: it is mounted with hidepid, and a worker's memory and threads must be "
                f"watched; mount it without, or with gid= a group of this process"
            ) from missing
        raise ProcessLookupError(f"no process {pid} in /proc") from missing
    statuses: list[ThreadStatus] = []
    for tid in tids:
        try:
            # Not below task/: the kernel would remember it there, and spend a millisecond on forgetting it when the
            # process is reaped.
            with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
                fields = _fields(file.read().decode("utf-8", "replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields["Tgid"] == str(pid):  # else it has ended, and its number is somebody else's by now
            statuses.append(_parse(tid, fields))
    return statuses


def _is_hidden(pid: int) -> bool:
    """The process exists although /proc does not show it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def inspect_process(pid: int) -> ProcessStatus:
    """Return what is to be seen of a process as a whole; never raises.

    A field is None where /proc does not say: on another system, or when the process is gone.
    """
    return ProcessStatus(
        own_user_namespace=_differs(f"/proc/{pid}/uid_map", "/proc/self/uid_map"),
        own_network_namespace=_is_another_file(f"/proc/{pid}/net/dev", "/proc/self/net/dev"),
        own_root_directory=_sees_no_mount(pid),
        dumpable=_is_dumpable(pid),
    )


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


def _differs(path: str, own: str) -> bool | None:
    theirs, ours = _read(path), _read(own)
    return None if theirs is None or ours is None else theirs != ours


def _is_another_file(path: str, own: str) -> bool | None:
    # Each network namespace has its own inodes below net/, and they may be looked at where the
    # links below ns/ may not.
    try:
        return os.stat(path).st_ino != os.stat(own).st_ino
    except OSError:
        return None


def _sees_no_mount(pid: int) -> bool | None:
    # The list has the mounts below a process's root: below a removed directory there is none.
    mounts = _read(f"/proc/{pid}/mountinfo")
    return None if mounts is None else not mounts


def _is_dumpable(pid: int) -> bool | None:
    # The kernel gives the files of a process that is not dumpable to root.
    try:
        status, directory = os.stat(f"/proc/{pid}/stat"), os.stat(f"/proc/{pid}")
    except OSError:
        return None
    if directory.st_uid == 0 or not _knows_root():
        return None  # of root's own processes they belong to root in any case
    return status.st_uid == directory.st_uid


def _knows_root() -> bool:
    """In a user namespace without root, its files look like nobody's."""
    lines = (_read("/proc/self/uid_map") or b"").splitlines()
    return any(int(line.split()[0]) == 0 for line in lines)


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {key: value.strip() for key, _, value in pairs}


def _parse(tid: int, fields: Mapping[str, str]) -> ThreadStatus:
    return ThreadStatus(
        tid=tid,
        name=fields["Name"],
        state=fields["State"][:1],
        uids=_four(fields, "Uid"),
        gids=_four(fields, "Gid"),
        groups=tuple(map(int, fields["Groups"].split())),
        # A kernel built without seccomp has no such line, which is the same as no filter.
        seccomp=int(fields.get("Seccomp", "0")),
        no_new_privs=fields.get("NoNewPrivs", "0") == "1",
        cap_effective=int(fields["CapEff"], 16),
        cap_permitted=int(fields["CapPrm"], 16),
    )


def _four(fields: Mapping[str, str], key: str) -> tuple[int, int, int, int]:
    real, effective, saved, file_system = map(int, fields[key].split())
    return real, effective, saved, file_system


def require_sealed(
    statuses: Sequence[ThreadStatus],
    report: JailReport,
    *,
    policy: JailPolicy | None = None,
    process: ProcessStatus | None = None,
) -> None:
    """Check that every thread, and the process, is as the report says and the policy demands.

    What the policy requires must be seen whatever the report says; with the default one that is
    filter mode, no new privileges, no capabilities and no root in every thread. What the report
    calls "on" must be seen as well. The report comes from the process being judged: the caller
    gives its own policy, or compares `report.hardening` with it.

    Args:
        statuses: of every thread.
        report: what the process says of its layers.
        policy: what was asked for; without it, `report.hardening` for every layer.
        process: what is seen of the process as a whole; what it says None of is not checked.

    Raises:
        JailError: a thread is not sealed, or no thread was seen.
    """
    asked = policy or JailPolicy(hardening=report.hardening)
    if asked.hardening == "off" and not asked.layers:
        return
    remedy = "stop this worker: it must not be given a program"
    if not statuses:
        raise JailError("inspection", "the process has no thread left", remedy=remedy)

    def must_hold(layer: str) -> bool:
        return asked.wanted(layer) == "required" or report.state_of(layer) == "on"

    faults: list[str] = []
    for status in statuses:
        checks = (
            ("seccomp", status.seccomp == SECCOMP_MODE_FILTER, f"seccomp mode {status.seccomp}"),
            ("no_new_privs", status.no_new_privs, "new privileges possible"),
            (
                "capabilities",
                status.cap_effective == 0 and status.cap_permitted == 0,
                f"capabilities {status.cap_effective:x}, permitted {status.cap_permitted:x}",
            ),
            ("identity", 0 not in status.uids + status.gids, f"ids {status.uids} {status.gids}"),
        )
        faults += [
            f"thread {status.tid} ({status.name}): {text}"
            for layer, holds, text in checks
            if not holds and must_hold(layer)
        ]
    if process is not None:
        wholes = (
            ("user_namespace", process.own_user_namespace, "it is in this process's user namespace"),
            ("network_namespace", process.own_network_namespace, "it is in this process's network"),
            ("root_directory", process.own_root_directory, "its root directory has mounts"),
            ("core_dumps", None if process.dumpable is None else not process.dumpable, "it is dumpable"),
        )
        faults += [text for layer, holds, text in wholes if holds is False and must_hold(layer)]
    if faults:
        raise JailError("inspection", "; ".join(faults), remedy=remedy)
