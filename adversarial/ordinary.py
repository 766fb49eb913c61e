"""The corpus by a host that is an ordinary user, in a process of its own. For tests that are run by root."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, NoReturn

from .surroundings import SOMEBODY_ELSES

_ROOT = Path(__file__).parents[1]
_ORDINARY = 1000
_CLONE_NEWUSER = 0x1000_0000
# Whoever is root here after all would show nothing.
_PROGRAM = """import os, runpy, sys
assert os.getuid() != 0
sys.argv[0] = "adversarial"
runpy.run_module("adversarial", run_name="__main__")"""


class Ended(NamedTuple):
    """The command's exit status, and what it said."""

    status: int
    said: str


class OrdinaryRun:
    """Begins when it is made.

    Args:
        parts: of the ids of cases; none for all.
    """

    def __init__(self, *parts: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="adversarial-ordinary-")
        self._said = Path(self._folder.name) / "said"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "adversarial.ordinary", *parts],
                cwd=_ROOT,
                env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        SOMEBODY_ELSES.add(self._process.pid)

    def wait(self, timeout_s: float) -> Ended:
        """Its end."""
        status = self._process.wait(timeout_s)
        return Ended(status, self._said.read_text("utf-8", "replace"))

    def close(self) -> None:
        """End it, if it has not ended; its zygotes end with it, and their workers with them."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        SOMEBODY_ELSES.discard(self._process.pid)
        self._folder.cleanup()


def main() -> NoReturn:
    """Become a user without privileges who may read what is root's, and run the command as that.

    The interpreter of a development machine often stands where no other user can reach it. The new program's start is
    what takes the privileges away that come with a new user namespace.
    """
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_ORDINARY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{_ORDINARY} {gid} 1")
    os.execv(sys.executable, [sys.executable, "-c", _PROGRAM, *sys.argv[1:]])


if __name__ == "__main__":
    main()
