"""Each layer, seen from outside."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jail.harness import AMBIENT, IDENTITIES, PACKAGES, jailed


def test_no_descriptor_and_no_variable_survives() -> None:
    body = """
import ctypes
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
answer["environ"] = dict(os.environ)
answer["c_environ"] = [str(libc.getenv(name)) for name in (b"C_SECRET", b"EARLY_SECRET")]
"""
    seen = jailed(body)
    assert seen.said["c_environ"] == ["None", "None"]
    assert seen.said["environ"] == {}
    fds = seen.outside["fds"]
    if isinstance(fds, str):  # only root may look into a process that is not dumpable
        assert fds == "PermissionError"
    else:
        assert set(fds) == {"0", "1", "2", *map(str, seen.said["kept"])}
        assert fds["0"] == fds["1"] == "/dev/null"
        assert fds["2"].startswith("pipe:")
        assert seen.outside["environ"].strip("\0") == ""


def test_the_hygiene_holds_without_hardening() -> None:
    seen = jailed('answer["environ"] = dict(os.environ)', hardening="off", nice=3)
    assert seen.said["environ"] == {}
    assert set(seen.outside["fds"]) == {"0", "1", "2", *map(str, seen.said["kept"])}
    # The control for the test above: an outsider may look, and what was there at the start is
    # wiped and not merely unreadable.
    assert seen.outside["environ"] == "\0" * len("EARLY_SECRET=early\0")
    assert seen.outside["session"] == seen.outside["pid"]
    assert seen.outside["cwd"] == "/"
    assert seen.outside["nice"] >= 3
    assert seen.said["layers"]["seccomp"] == ["off", "hardening is off"]
    assert seen.outside["threads"][0]["seccomp"] == AMBIENT.seccomp


@pytest.mark.skipif(len(IDENTITIES) < 2, reason="needs root to become an ordinary user")
def test_capabilities_of_an_ordinary_user_are_dropped() -> None:
    before, after = (
        jailed(identity="nobody", hardening=hardening).outside["threads"][0]["cap_permitted"]
        for hardening in ("off", "required")
    )
    assert before != 0
    assert after == 0


@pytest.mark.skipif(len(IDENTITIES) < 2, reason="needs root to become an ordinary user")
def test_a_neighbour_of_the_same_uid_cannot_look_inside() -> None:
    seen = jailed(identity="nobody")
    assert seen.outside["fds"] == "PermissionError"
    assert seen.outside["environ"] == "PermissionError"


def test_priority_is_lowered() -> None:
    seen = jailed(nice=7, oom_score_adj=600)
    assert seen.outside["nice"] >= 7
    assert seen.outside["oom_score_adj"] == "600"
    assert seen.said["layers"]["priority"][0] == "on"


def _limit(text: str, name: str) -> tuple[str, str]:
    found = re.search(rf"^{name} +(\S+) +(\S+)", text, re.M)
    assert found, text
    return found[1], found[2]


def test_limits_are_set_and_cannot_be_lifted() -> None:
    seen = jailed(data_bytes=64 << 20)
    limits = seen.outside["limits"]
    assert _limit(limits, "Max core file size") == ("0", "0")
    assert _limit(limits, "Max file size") == ("0", "0")
    files = str(max(seen.said["kept"]) + 1)
    assert _limit(limits, "Max open files") == (files, files)
    soft, hard = _limit(limits, "Max data size")
    assert soft == hard
    assert int(soft) > 64 << 20


def test_the_memory_limit_bites() -> None:
    body = """
answer["below"] = len(bytearray(30 << 20))
try:
    bytearray(100 << 20)
except MemoryError:
    answer["above"] = "MemoryError"
else:
    answer["above"] = "allocated"
"""
    assert jailed(body, data_bytes=64 << 20).said["above"] == "MemoryError"
    without = jailed(body).said
    assert (without["below"], without["above"]) == (30 << 20, "allocated")


def test_a_thread_made_before_the_jail_is_an_error() -> None:
    seen = jailed(early_thread=True)
    error = seen.said["error"]
    assert error["layer"] == "threads"
    assert error["text"] == (
        'jail layer "threads" failed: the process already has 2 threads and may have only 1. '
        "To fix it: apply the jail right after the fork, before any thread starts"
    )


@pytest.mark.skipif(len(IDENTITIES) < 2, reason="needs root to become an ordinary user")
def test_a_refused_layer_names_its_errno_and_remedy() -> None:
    error = jailed(identity="nobody", oom_score_adj=-1000).said["error"]
    assert error["layer"] == "priority"
    assert error["errno"] == errno.EACCES
    assert "EACCES" in error["text"]
    assert error["remedy"] in error["text"]


ORPHAN = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
from codemode_executor import jail
jail.prepare()
ready, sealed = os.pipe()
pid = os.fork()
if pid == 0:
    jail.apply(jail.JailPolicy(hardening=sys.argv[1]), [sealed])
    os.write(sealed, b"x")
    time.sleep(60)
    os._exit(0)
os.read(ready, 1)
print(pid, flush=True)
os._exit(0)
"""


def _is_alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.parametrize("hardening", ["required", "off"])
def test_a_worker_does_not_outlive_its_parent(hardening: str) -> None:
    # With hardening off the layer is absent: the control that the look notices a survivor.
    done = subprocess.run(
        [sys.executable, "-I", "-c", ORPHAN, hardening, str(PACKAGES)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=30,
        check=True,
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + (10 if hardening == "required" else 0.3)
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    alive = _is_alive(pid)
    if alive:
        os.kill(pid, signal.SIGKILL)
    assert alive is (hardening == "off")
