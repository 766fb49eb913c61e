"""Forks a jailed child from a fresh interpreter and returns what was seen of it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import codemode_executor
from codemode_executor.jail import inspect

HERE = Path(__file__).parent
PACKAGES = Path(codemode_executor.__file__).parents[1]

# The identities a host can have: tests run as root also try an ordinary user.
IDENTITIES = ("nobody", "root") if os.geteuid() == 0 else ("own",)


# What this kernel, or the container around the tests, lets a process have: asked here by other means
# than the jail's own, so that a layer which is merely broken is not taken for one that is not offered.
_ASK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "nobody":
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(int(libc.syscall(444, 0, 0, 1) > 0), int(libc.unshare(0x10000000 | 0x40000000) == 0))
"""


@cache
def offered(identity: str) -> frozenset[str]:
    """Layers beyond the baseline that this system permits to everybody who runs as `identity`."""
    # A worker of root is nobody by the time it asks.
    who = "nobody" if identity == "root" else identity
    done = subprocess.run([sys.executable, "-I", "-c", _ASK, who], capture_output=True, text=True, check=True)
    landlock, namespaces = map(int, done.stdout.split())
    names = {"landlock"} if landlock else set[str]()
    if namespaces:
        names |= {"user_namespace", "network_namespace", "ipc_namespace", "uts_namespace", "root_directory"}
    return frozenset(names)


# What the tests' own process is under already: a container's filter, for one.
AMBIENT = next(status for status in inspect(os.getpid()) if status.tid == os.getpid())


class Seen(NamedTuple):
    """`outside` is what the parent observed, `answer` what the child said, None if it died."""

    outside: dict[str, Any]
    answer: dict[str, Any] | None
    exit_code: int
    stderr: str

    @property
    def said(self) -> dict[str, Any]:
        assert self.answer is not None, f"child ended with {self.exit_code}: {self.stderr}"
        return self.answer


def jailed(
    body: str = "",
    *,
    identity: str = IDENTITIES[-1],
    v8: bool = False,
    v8_flags: Sequence[str] = (),
    early_thread: bool = False,
    share: bool = False,
    denied: Sequence[str] = (),
    keep_capabilities: int | None = None,
    **policy: Any,
) -> Seen:
    """Run `body` in a child under `policy`."""
    request = {
        "paths": [str(PACKAGES), str(HERE)],
        "policy": policy,
        "nobody": identity == "nobody",
        "v8": v8,
        "v8_flags": v8_flags,
        "early_thread": early_thread,
        "share": share,
        "denied": denied,
        "keep_capabilities": keep_capabilities,
        "body": body,
    }
    done = subprocess.run(
        [sys.executable, "-I", str(HERE / "forker.py"), json.dumps(request)],
        env={"EARLY_SECRET": "early"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outside = json.loads(done.stdout)
    return Seen(outside, outside["answer"], outside["exit"], done.stderr)
