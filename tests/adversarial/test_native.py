"""Attacks by Python inside a jailed worker, as after an escape from V8; and what each layer of the jail is worth."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from adversarial.cases import load
from adversarial.native import run_native, what_each_layer_stops

from codemode_executor.jail.layers import LAYERS

ROOT = Path(__file__).parents[2]
ORDINARY = 1000
#: What the host's own user has a part in. How a supervisor takes broken messages, it has not.
ON_THE_JAIL = [
    f"native-{case}" for case in ("reads", "looks", "writes-files", "connects", "sends-datagrams", "speaks-to")
]
ON_THE_JAIL += [f"native-{case}" for case in ("ends", "forks", "starts", "is-", "makes", "has", "takes-memory-bit")]
ON_THE_JAIL += ["realm-constructor", "memory-random"]
NATIVE = [case for case in load() if case.kind == "native"]


async def test_an_escape_from_v8_ends_in_the_jail() -> None:
    verdicts = await run_native(NATIVE)
    assert len(verdicts) == len(NATIVE)
    across = {verdict.case.id: verdict.against for verdict in verdicts if not verdict.held and not verdict.case.open}
    assert not across
    mended = [verdict.case.id for verdict in verdicts if verdict.held and verdict.case.open]
    assert not mended, "these findings are fixed: take `open` out of their cases"


async def test_no_layer_is_there_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without it, a named attack gets through: the table that the run prints."""
    table = await what_each_layer_stops(NATIVE, [layer.name for layer in LAYERS])
    with capsys.disabled():
        print("\n\nWithout this layer, these attacks get through:")
        for layer, stopped in table.items():
            print(f"  {layer:18} {', '.join(stopped) or '-'}")
    # An ordinary user has no ids to give up.
    layers = [layer for layer in table if layer != "identity" or os.getuid() == 0]
    wanted = {layer: {case.id for case in NATIVE if layer in case.layers} for layer in layers}
    assert {layer: set(table[layer]) for layer in layers} == wanted
    assert all(wanted.values()), "a layer that no case attacks"


_CLONE_NEWUSER = 0x1000_0000


def _become_ordinary() -> None:
    """In the child, before the program is loaded: a user without privileges who may read what is root's.

    The interpreter of a development machine often stands where no other user can reach it.
    """
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{ORDINARY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{ORDINARY} {gid} 1")


@pytest.mark.skipif(os.getuid() != 0, reason="this run is an ordinary user's: all the other tests here are that test")
def test_an_ordinary_users_workers_are_as_tight() -> None:
    """The same attacks on a host without any privilege."""
    program = (
        "import os, runpy, sys; assert os.getuid() != 0; sys.argv[0] = 'adversarial'; runpy.run_module('adversarial')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *ON_THE_JAIL],
        cwd=ROOT,
        preexec_fn=_become_ordinary,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
