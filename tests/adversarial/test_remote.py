"""The corpus against a daemon, over its protocol: the command, and that it notices a breach there as well."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from adversarial.adapter import Attack, Ended
from adversarial.cases import by_id, load
from adversarial.remote import RemoteAdapter
from adversarial.runner import opened

from codemode_executor import Limits
from daemon.client import TOKEN
from daemon.processes import Served, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
CASES = by_id(load())
#: Every class, and what the protocol has a part in: calls, handles, requests, logs, texts that look like its own.
PARTS = ["forgery-", "handle-that", "text-", "network-handler", "network-re", "tools-", "json-n", "messages-re"]
PARTS += [
    "logs-flood-of-lines",
    "stack-nested-causes",
    "deadline-loop",
    "realm-constructor-of-this",
    "leakage-of-globals",
]
PARTS += ["time-backtracking", "cpu-loop", "memory-shared", "harness-closing", "primordials-of-the-l", "modules-files"]
PARTS += ["pollution-proto", "stacktraces-sources", "exhaustion-of-disk", "platform-leaving"]
#: Below this process: the daemon, what forks its workers, and these.
GENERATIONS = 3
OPTIONS = ("--port", "0", "--limit", "timeout_s=120", "--limit", "memory_mb=1024", "--max-workers", "8")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon() -> AsyncIterator[Served]:
    async with serving(*OPTIONS, "--allow-overcommit") as served:
        yield served


async def attack(url: str, token: str, folder: Path, *parts: str) -> tuple[int, str]:
    """The command's exit status, and what it said."""
    file = folder / "token"
    file.write_text(token)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "adversarial", *parts, "--url", url, "--token-file", str(file)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )
    said, complained = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode() + complained.decode()


async def test_a_daemon_withstands_the_corpus(daemon: Served, tmp_path: Path) -> None:
    status, said = await attack(daemon.url, TOKEN, tmp_path, *PARTS)
    assert status == 0, said[-4000:]
    asked = [case for case in CASES.values() if case.kind != "native" and any(part in case.id for part in PARTS)]
    assert {case.kind for case in asked} == {case.kind for case in CASES.values()} - {"native"}
    held = [line.split() for line in said.splitlines() if line.endswith(" held")]
    assert sum(int(words[1]) for words in held) == len(asked)


async def test_nobody_there_is_no_verdict(daemon: Served, tmp_path: Path) -> None:
    status, said = await attack(daemon.url, "another-token-that-is-long-enough", tmp_path, "realm-")
    assert status == 2
    assert "there is no executor at" in said
    assert "401" in said


class Unbounded(RemoteAdapter):
    """A client that forgets to say which bounds a run has."""

    async def execute(self, attack: Attack) -> Ended:
        return await super().execute(msgspec.structs.replace(attack, limits=Limits(timeout_s=120, memory_mb=1024)))


@pytest.mark.parametrize(
    ("case", "seen"),
    [("deadline-loop-begins-with-it", "no end"), ("messages-result-beyond-its-bound", "ended as value")],
)
async def test_a_breach_at_the_other_end_is_noticed(daemon: Served, case: str, seen: str) -> None:
    async with opened(Unbounded(daemon.url, TOKEN, generations=GENERATIONS), guard_s=1.5) as runner:
        verdict = await runner.run(CASES[case])
    assert not verdict.held
    assert seen in "; ".join(verdict.against)
    async with opened(RemoteAdapter(daemon.url, TOKEN, generations=GENERATIONS)) as runner:
        verdict = await runner.run(CASES[case])
    assert verdict.held, verdict.against
