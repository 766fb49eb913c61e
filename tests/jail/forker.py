"""Run as a script, `python -I forker.py REQUEST`: forks one jailed child and looks at it.

The request is JSON: `paths` for sys.path, `policy`, `nobody` (become an ordinary user first), `v8`
(initialise V8 before the fork, with `v8_flags`), `early_thread`, `share` (prepare with the policy, as a zygote does),
`denied` (system calls that a container's filter refuses), `keep_capabilities` (the only ones that are
left), `body` (source run in the child after the jail, with `jail`, `report`, `error`, `isolate_type`
and `answer` in scope). One JSON object goes to standard output.
"""

import ctypes
import json
import os
import socket
import struct
import sys
import threading
import time
from typing import Any

PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8

REQUEST = json.loads(sys.argv[1])
sys.path[:0] = REQUEST["paths"]

from codemode_executor import jail  # noqa: E402
from codemode_executor.jail import kernel  # noqa: E402
from codemode_executor.jail.syscalls import architecture  # noqa: E402


def look(action: Any) -> Any:
    """Return what an outsider sees, or the name of the refusal."""
    try:
        return action()
    except OSError as refusal:
        return type(refusal).__name__


def read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("latin-1")


def in_child(out: int, go: int, isolate_type: Any) -> None:
    answer: dict[str, Any] = {}
    if REQUEST["early_thread"]:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    # What a worker holds: its channel and the eventfd that wakes its loop.
    near, far = socket.socketpair()
    wake = os.eventfd(0)
    kept = [out, go, near.fileno(), far.fileno(), wake]
    answer["kept"] = kept
    report, error = None, None
    started = time.perf_counter()
    try:
        report = jail.apply(jail.JailPolicy(**REQUEST["policy"]), kept)
    except jail.JailError as failure:
        error = failure
        answer["error"] = {
            "layer": failure.layer,
            "errno": failure.errno,
            "remedy": failure.remedy,
            "text": str(failure),
        }
    answer["apply_ms"] = 1000 * (time.perf_counter() - started)
    if report is not None:
        answer["wanted"] = {layer.name: layer.wanted for layer in report.layers}
        answer["layers"] = {layer.name: [layer.state, layer.detail] for layer in report.layers}
        exec(
            compile(REQUEST["body"], "body", "exec"),
            {
                "jail": jail, "report": report, "answer": answer, "isolate_type": isolate_type,
                "error": error, "near": near, "far": far, "wake": wake, "os": os, "threading": threading, "time": time,
            },
        )  # fmt: skip
    os.write(out, json.dumps(answer).encode() + b"\n")
    os.read(go, 1)
    os._exit(0)


def be_in_a_container(denied: list[str], keep: int | None) -> None:
    """Refuse system calls with EPERM, and give capabilities up, as container runtimes do."""
    arch = architecture()
    assert arch is not None
    if denied:
        program = [(0x20, 0, 0, 0)]
        for name in denied:
            program += [(0x15, 0, 1, arch.numbers[name]), (0x06, 0, 0, 0x0005_0001)]
        program.append((0x06, 0, 0, 0x7FFF_0000))
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.load_filter(arch.numbers["seccomp"], b"".join(struct.pack("<HBBI", *one) for one in program))
    if keep is not None:
        kernel.set_capabilities(keep)


def main() -> None:
    isolate_type = None
    if REQUEST["v8"]:
        from v8 import Isolate, initialise

        initialise(*REQUEST["v8_flags"])
        isolate_type = Isolate
    if not REQUEST["share"]:
        jail.prepare()
    if REQUEST["nobody"]:
        # An ordinary user that was given capabilities: leaving uid 0 keeps the permitted ones.
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        # Leaving uid 0 made the process undumpable, which one that was never root is not.
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    be_in_a_container(REQUEST["denied"], REQUEST["keep_capabilities"])
    if REQUEST["share"]:
        jail.prepare(jail.JailPolicy(**REQUEST["policy"]))
    # A descriptor and a variable that must not survive.
    leaked = os.open(os.devnull, os.O_RDONLY)
    os.environ["LATE_SECRET"] = "late"
    os.putenv("C_SECRET", "known to the C library alone")
    from_child, out = os.pipe()
    go, to_child = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            # A jail that failed early has not closed these, and the child would wait for itself.
            os.close(from_child)
            os.close(to_child)
            in_child(out, go, isolate_type)
        except BaseException as failure:  # a child must never return into the parent's code
            sys.excepthook(type(failure), failure, failure.__traceback__)
            os._exit(70)
    os.close(out)
    os.close(go)
    with open(from_child, "rb") as pipe:
        line = pipe.readline()
    seen: dict[str, Any] = {"leaked": leaked, "pid": pid}
    if line:
        statuses = jail.inspect(pid)
        seen["threads"] = [{name: getattr(status, name) for name in status.__struct_fields__} for status in statuses]
        process = jail.inspect_process(pid)
        seen["process"] = {name: getattr(process, name) for name in process.__struct_fields__}
        seen["fds"] = look(lambda: {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")})
        seen["environ"] = look(lambda: read(f"/proc/{pid}/environ"))
        seen["limits"] = read(f"/proc/{pid}/limits")
        seen["session"] = os.getsid(pid)
        seen["nice"] = os.getpriority(os.PRIO_PROCESS, pid)
        seen["oom_score_adj"] = read(f"/proc/{pid}/oom_score_adj").strip()
        seen["cwd"] = look(lambda: os.readlink(f"/proc/{pid}/cwd"))
    os.close(to_child)
    seen["exit"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seen["answer"] = json.loads(line) if line else None
    print(json.dumps(seen))


main()
