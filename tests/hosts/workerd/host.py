"""The host in workerd, in a process of its own, with both executors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from hosts.workerd.cases import HERE, Case
from side_by_side.node_process import NodeProcess

_ANSWER_S = 100.0  # on a busy machine
_ATTEMPTS = 3
SIDES = ("upstream", "ours")
_LINE_LIMIT = 64 * 1024 * 1024


class HostFailed(AssertionError):
    """The host has ended, or could not do what it was asked."""


class Host:
    """Started at the first case, and again after one that it did not survive."""

    def __init__(self) -> None:
        self._process: NodeProcess | None = None
        self._group = 0
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        #: Why it was started again, each time.
        self.crashes: list[str] = []

    async def run(self, case: Case, sides: Sequence[str] = SIDES) -> dict[str, list[dict[str, Any]]]:
        """What the steps came to, by side.

        Raises:
            HostFailed: it gave no answer, several times.
        """
        for attempt in range(_ATTEMPTS):
            try:
                process = await self._started()
                questions = (asyncio.wait_for(process.ask(side=side, case=case.request()), _ANSWER_S) for side in sides)
                return dict(zip(sides, await asyncio.gather(*questions), strict=True))
            except (HostFailed, TimeoutError) as error:
                # Upstream's executor takes workerd down now and then; the side that is ours alone never did.
                await self.stop()
                if attempt == _ATTEMPTS - 1:
                    raise HostFailed(f"{case.id}: {error or 'no answer'}\n{self._tail()}") from error
                self.crashes.append(f"{case.id}: {error or 'no answer'}\n{self._tail()}")
        raise AssertionError("unreachable")

    async def _started(self) -> NodeProcess:
        if self._process is None:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                "node",
                str(HERE / "src" / "serve.mjs"),
                stdin=pipe,
                stdout=pipe,
                stderr=self._stderr,
                limit=_LINE_LIMIT,
                env={**os.environ, "CODEMODE_PYTHON": sys.executable},
                start_new_session=True,
            )
            self._group = process.pid
            self._process = NodeProcess(process, HostFailed)
        return self._process

    def _tail(self) -> str:
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 4000))
        return self._stderr.read().decode(errors="replace")

    async def stop(self) -> bool:
        """End it. True if it ended by itself when it was told."""
        process, self._process = self._process, None
        if process is None:
            return True
        by_itself = await process.close(grace_s=20)
        # A busy workerd does not hear that its parent has gone.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._group, signal.SIGKILL)
        return by_itself

    async def close(self) -> None:
        ended = await self.stop()
        self._stderr.close()
        if not ended:
            raise AssertionError("the host did not end by itself")
