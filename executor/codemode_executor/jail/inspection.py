"""Looks at a jailed process from outside, thread by thread."""

import os
from collections.abc import Mapping, Sequence

from codemode_executor.jail.errors import JailError
from codemode_executor.jail.report import JailReport, ThreadStatus

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
        raise ProcessLookupError(f"no process {pid} in /proc") from missing
    statuses: list[ThreadStatus] = []
    for tid in tids:
        try:
            with open(f"/proc/{pid}/task/{tid}/status", "rb", buffering=0) as file:
                text = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        statuses.append(_parse(tid, text.decode("utf-8", "replace")))
    return statuses


def _parse(tid: int, text: str) -> ThreadStatus:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields[key] = value.strip()
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


def require_sealed(statuses: Sequence[ThreadStatus], report: JailReport) -> None:
    """Check that every thread is as the report says; says nothing when hardening is off.

    With hardening "required" every thread must be in filter mode, with no new privileges, without
    capabilities and not root, whatever the report says of its layers. With "used" each thread
    must have what the report calls "on". The caller compares `report.hardening` with its own
    policy: the report comes from the process being judged.

    Raises:
        JailError: a thread is not sealed, or no thread was seen.
    """
    if report.hardening == "off":
        return
    remedy = "stop this worker: it must not be given a program"
    if not statuses:
        raise JailError("inspection", "the process has no thread left", remedy=remedy)
    required = report.hardening == "required"
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
            if not holds and (required or report.state_of(layer) == "on")
        ]
    if faults:
        raise JailError("inspection", "; ".join(faults), remedy=remedy)
