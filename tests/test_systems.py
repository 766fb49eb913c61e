"""Systems without what workers are made of: the engine says what to do, wherever it is met first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Takes away, from an interpreter that has loaded only the standard library, what the other system does not have.
_PRELUDE = """
import asyncio, ctypes, importlib.util, json, multiprocessing, os, signal, socket, ssl, subprocess, sys, tempfile
absent = {
    os: ["fork", "pipe2", "pidfd_open", "sysconf", "getuid", "getpriority", "sched_getaffinity", "register_at_fork"],
    signal: ["pidfd_send_signal", "SIGKILL", "pthread_sigmask"],
    socket: ["recv_fds", "send_fds"],
}
if sys.argv[1] == "win32":
    find = importlib.util.find_spec
    for name in ("resource", "fcntl", "pwd", "grp", "termios", "syslog"):
        sys.modules[name] = None
    importlib.util.find_spec = lambda name, package=None: None if name == "resource" else find(name, package)
    class Loaded(ctypes.CDLL):
        def __init__(self, name, *more, **options):
            if name is None:  # the process itself: only POSIX has a name for it
                raise TypeError("argument of type 'NoneType' is not iterable")
            super().__init__(name, *more, **options)
    ctypes.CDLL = Loaded
else:
    absent = {os: ["pipe2", "pidfd_open", "sched_getaffinity"], signal: ["pidfd_send_signal"]}
for module, names in absent.items():
    for name in names:
        delattr(module, name)
sys.platform = sys.argv.pop(1)
"""
_LIBRARY = """
from codemode_executor import execute_sync, HardeningUnavailable
try:
    execute_sync("async () => 1")
except HardeningUnavailable as error:
    print(error)
"""
_COMMAND = "import runpy; runpy.run_module('codemode_executor', run_name='__main__', alter_sys=True)"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PRELUDE + program, *arguments],
        input="a-token-that-is-long-enough\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(("system", "remedy"), [("win32", "run inside WSL2"), ("darwin", "run it on Linux")])
def test_the_library_says_what_is_missing_and_what_to_do(system: str, remedy: str) -> None:
    ended = run(_LIBRARY, system)
    assert ended.stdout.startswith("workers are made with os."), ended.stderr[-2000:]
    assert f"does not have on {system}: {remedy}" in ended.stdout


@pytest.mark.parametrize("command", ["run", "doctor", "serve"])
def test_so_do_the_commands(tmp_path: Path, command: str) -> None:
    program = tmp_path / "program.js"
    program.write_text("async () => 1")
    options = {"run": [str(program)], "doctor": [], "serve": ["--port", "0", "--token-file", "-"]}
    ended = run(_COMMAND, "win32", command, *options[command])
    assert ended.returncode not in (0, None)
    assert "run inside WSL2" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
