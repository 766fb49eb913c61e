"""The bridge as a further side of ours: the corpus through the npm package, in Node, with its own daemon."""

from __future__ import annotations

import asyncio
import os
import sys
from types import TracebackType
from typing import Any, Self

from side_by_side.corpus import HERE, Case
from side_by_side.node_process import NodeProcess

_ANSWER_S = 60.0
_HOST = HERE.parent / "bridge" / "corpus_host.mjs"


class HostEnded(AssertionError):
    """The node process has ended, or could not do what it was asked."""


class ThroughBridge:
    """The node process of ``corpus_host.mjs``, and behind it the bridge's embedded daemon."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Self:
        environment = {**os.environ, "CODEMODE_PYTHON": sys.executable}
        return cls(await NodeProcess.start(str(_HOST), failure=HostEnded, env=environment))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # It has nothing else to do: what the bridge left open must not keep it.
        if not await self._process.close(grace_s=30):
            raise AssertionError("the host did not end by itself: the bridge keeps it alive")

    async def run(self, case: Case) -> dict[str, Any]:
        """The envelope, described; or ``{"refused": text}`` for what the bridge would not take."""
        return await asyncio.wait_for(self._process.ask(body=case.request()), _ANSWER_S)
