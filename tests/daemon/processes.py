"""Daemons as processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from daemon.client import TOKEN, WAIT_S
from witness import descendants, eventually, is_alive

COMMAND = (sys.executable, "-m", "codemode_executor", "serve")


@dataclass
class Served:
    """A daemon that listens.

    Attributes:
        announced: the line on standard output.
        log: what it has written to standard error so far.
    """

    process: asyncio.subprocess.Process
    announced: dict[str, Any]
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    raw: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return self.announced["url"]

    def family(self) -> list[int]:
        """It and the processes below it."""
        found = {self.process.pid}
        for process in descendants():
            if process.parent in found:
                found.add(process.pid)
        return sorted(found)

    async def ended(self) -> int:
        """Wait for its end: its exit status."""
        async with asyncio.timeout(WAIT_S):
            return await self.process.wait()


@asynccontextmanager
async def serving(
    *options: str, environment: dict[str, str] | None = None, stdin: int | None = asyncio.subprocess.DEVNULL
) -> AsyncIterator[Served]:
    """A daemon on a free port. Afterwards, nothing of it is left, however it ended."""
    env = {"CODEMODE_SERVE_TOKEN": TOKEN, **os.environ} | (environment or {})
    if "--token-file" in options:
        del env["CODEMODE_SERVE_TOKEN"]
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *options,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        limit=1 << 22,
    )
    served = Served(process, {})
    reading = asyncio.create_task(_read_log(served))
    pids: list[int] = []
    try:
        if "--token-file" in options and stdin == asyncio.subprocess.PIPE:
            assert process.stdin is not None
            process.stdin.write(TOKEN.encode() + b"\n")
            await process.stdin.drain()
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            line = await process.stdout.readline()
        assert line, "".join(served.raw)
        served.announced = json.loads(line)
        yield served
        pids = served.family()
    finally:
        pids = pids or served.family()
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(WAIT_S):
            await process.wait()
            await reading
        if process.stdin is not None:
            process.stdin.close()
        await eventually(lambda: not any(is_alive(pid) for pid in pids), f"the end of {pids}")


async def _read_log(served: Served) -> None:
    assert served.process.stderr is not None
    while line := await served.process.stderr.readline():
        served.raw.append(line.decode())
        served.log.append(json.loads(line))
