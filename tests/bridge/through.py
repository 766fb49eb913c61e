"""The bridge as a further side of ours: the corpus through the npm package, in Node, with its own daemon."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from types import TracebackType
from typing import Any, Self

from side_by_side.corpus import HERE, Case

_LINE_LIMIT = 1024 * 1024 * 1024
_ANSWER_S = 60.0
_HOST = HERE.parent / "bridge" / "corpus_host.mjs"


class HostEnded(AssertionError):
    """The node process has ended, or could not do what it was asked."""


class ThroughBridge:
    """The node process of ``corpus_host.mjs``, and behind it the bridge's embedded daemon."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read(), name="corpus host")

    @classmethod
    async def start(cls) -> Self:
        return cls(
            await asyncio.create_subprocess_exec(
                "node",
                str(_HOST),
                env={**os.environ, "CODEMODE_PYTHON": sys.executable},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LINE_LIMIT,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        try:
            # It has nothing else to do: what the bridge left open must not keep it.
            await asyncio.wait_for(self._process.wait(), 30)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise AssertionError("the host did not end by itself: the bridge keeps it alive") from None
        finally:
            await self._reader
            await asyncio.sleep(0)  # its transport is closed by what the loop has still to do

    async def run(self, case: Case) -> dict[str, Any]:
        """The envelope, described; or ``{"refused": text}`` for what the bridge would not take."""
        return await asyncio.wait_for(self._ask(case.request()), _ANSWER_S)

    async def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps({"id": number, "body": body}).encode() + b"\n")
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
                continue
            if "failure" in answer:
                future.set_exception(HostEnded(answer["failure"]))
            else:
                future.set_result(answer["value"])
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(HostEnded("the node process has ended"))
