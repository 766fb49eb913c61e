"""Python in a process of its own: V8 can be initialised once in each, and its flags hold for all isolates."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PRELUDE = """
import os, queue, sys
import signal
from codemode_executor.worker import assets, isolates, snapshots
from codemode_executor.worker.beside import Beside, BesideFailed
from codemode_executor.worker.isolate import Engine, Isolate, Kind
from codemode_executor.worker.isolates import Isolates
from codemode_executor.worker.snapshots import Snapshot, SnapshotFailed, Snapshots, SnapshotsUnavailable

FLAGS = ["--single-threaded", "--disallow-code-generation-from-strings"]
GUARD_S = 10

def evaluate(isolate, source):
    replies = queue.SimpleQueue()
    isolate.evaluate(source.encode(), replies.put)
    return replies.get(timeout=GUARD_S).text.decode()

def ask(isolate, text):
    replies = queue.SimpleQueue()
    isolate.ask(text.encode(), replies.put)
    return replies.get(timeout=GUARD_S).text.decode()
"""


def run_alone(body: str) -> list[str]:
    """Output lines of ``body``, which finds the names of ``PRELUDE``."""
    # Left by os._exit, as a worker leaves.
    script = PRELUDE + textwrap.dedent(body) + "\nsys.stdout.flush()\nos._exit(0)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
