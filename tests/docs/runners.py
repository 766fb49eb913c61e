"""Runs blocks as a reader would, and keeps what they printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from docs.blocks import ROOT, Block

HERE = Path(__file__).parent
BRIDGE = ROOT / "node_bridge"
NODE_EXAMPLES = ROOT / "examples" / "node"
_GUARD_S = 90
#: As many as there are processors on a small machine: most of a script's time is the start of its processes.
_AT_A_TIME = 2


@dataclass(frozen=True)
class Done:
    """What a block did."""

    code: int
    stdout: str
    stderr: str


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="blocks")


_begun: dict[Block, Future[Done]] = {}


def begin(blocks: list[Block]) -> None:
    """Start to run blocks, beside the tests that will ask for them."""
    for block in blocks:
        if block not in _begun and block.kind in _RUNNERS:
            _begun[block] = _threads().submit(_RUNNERS[block.kind], block.text)


def outcome(block: Block) -> Done:
    """What a block did, run once."""
    begin([block])
    return _begun[block].result(_GUARD_S * len(_begun))


def environment() -> dict[str, str]:
    """As in a shell in which the package is installed, and nothing of this test run is set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "CODEMODE"))}
    tools = Path(sys.executable).parent
    return {**kept, "PATH": f"{tools}:{kept.get('PATH', os.defpath)}", "CODEMODE_PYTHON": sys.executable}


def run(*command: str, cwd: Path, stdin: str = "") -> Done:
    """Run a command to its end."""
    done = subprocess.run(
        command, cwd=cwd, input=stdin, env=environment(), capture_output=True, text=True, timeout=_GUARD_S, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def script(text: str) -> Done:
    """A Python script, for which a warning is an error."""
    return run(sys.executable, "-W", "error", "-c", text, cwd=ROOT)


def shell(text: str) -> Done:
    """Commands, in a folder of their own with the files that the pages speak of."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "fixtures", folder, dirs_exist_ok=True)
        return run("bash", "-euo", "pipefail", "-c", text, cwd=Path(folder))


def host(text: str) -> Done:
    """A module in Node, for which the bridge is installed."""
    return run("node", "--input-type=module", cwd=BRIDGE, stdin=text)


@cache
def _example(path: str) -> Done:
    return run(sys.executable, "-W", "error", str(ROOT / path), cwd=ROOT)


@cache
def _node_example(name: str) -> Done:
    return run("npm", "run", "--silent", name, cwd=NODE_EXAMPLES)


#: How a file that pages include is run, by its path.
EXAMPLES: dict[str, Callable[[], Done]] = {
    **{
        str(path.relative_to(ROOT)): partial(_example, str(path.relative_to(ROOT)))
        for path in sorted((ROOT / "examples").glob("*.py"))
    },
    **{f"examples/node/{name}.mjs": partial(_node_example, name) for name in ("host", "agent")},
}

_RUNNERS = {"script": script, "shell": shell, "host": host}


def promised(block: Block) -> list[str]:
    """What a block says that it prints."""
    call = r"console\.log\(.*\);?" if block.language == "js" else r"print\(.*\)"
    slashes = "//" if block.language == "js" else "#"
    return re.findall(rf"{call} +{slashes} (.+)$", block.text, re.MULTILINE)


def promised_end(block: Block) -> str | None:
    """What a program says that becomes of it."""
    found = re.search(r"^// → (.+)\Z", block.text.strip(), re.MULTILINE)
    return found[1] if found else None
