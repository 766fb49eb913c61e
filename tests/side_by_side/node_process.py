"""A node process that answers questions: a line of JSON each way, answers in any order."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, Self

_LINE_LIMIT = 1024 * 1024 * 1024


class NodeProcess:
    """Args:
    process: with pipes for standard input and output. It reads ``{"id": n, …}`` and writes ``{"id": n, "value": …}`` or
        ``{"id": n, "failure": text}``.
    failure: raised for a failure, and for a process that has ended.
    """

    def __init__(self, process: asyncio.subprocess.Process, failure: type[Exception]) -> None:
        self._process = process
        self._failure = failure
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read(), name="node process")

    @classmethod
    async def start(cls, *arguments: str, failure: type[Exception], **options: Any) -> Self:
        """Start ``node`` with these arguments; options as of ``create_subprocess_exec``."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "node", *arguments, stdin=pipe, stdout=pipe, limit=_LINE_LIMIT, **options
        )
        return cls(process, failure)

    async def ask(self, **question: object) -> Any:
        """Have a question answered."""
        number = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps({"id": number, **question}).encode() + b"\n")
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while line := await stdout.readline():
            answer = json.loads(line)
            future = self._waiting.get(answer["id"])
            if future is None or future.done():
                continue  # nobody waits any more
            if "failure" in answer:
                future.set_exception(self._failure(answer["failure"]))
            else:
                future.set_result(answer.get("value"))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._failure("the node process has ended"))

    async def close(self, grace_s: float) -> bool:
        """Close its standard input, wait for ``grace_s`` and then kill it. True if it ended by itself."""
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        by_itself = True
        try:
            async with asyncio.timeout(grace_s):
                await self._process.wait()
        except TimeoutError:
            by_itself = False
            if self._process.returncode is None:
                self._process.kill()
            await self._process.wait()
        await self._reader
        # Its transport is closed by what the loop has still to do.
        await asyncio.sleep(0)
        return by_itself
