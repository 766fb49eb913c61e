"""Upstream's executor, in workerd, in a process group of its own."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from typing import Any

from side_by_side.corpus import HERE, Case

_START_S = 60.0
_ANSWER_S = 20.0
_ATTEMPTS = 2


#: By case: in one test run upstream is asked once, and every column is compared with that answer.
_answers: dict[str, dict[str, Any]] = {}


class UpstreamHung(AssertionError):
    """The program has taken upstream's whole process with it. The next case starts another."""


class Upstream:
    """Upstream's host, started at the first case and again after one that it did not survive."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        #: How often it went down and was asked again.
        self.crashes = 0

    async def run(self, case: Case) -> dict[str, Any] | None:
        """The envelope that upstream answered, described; or ``{"rejected": text}``; or ``None`` for a program that
        it does not survive, which it is not given.

        Raises:
            UpstreamHung: no answer came.
        """
        if case.upstream is not None:
            return None
        known = _answers.get(case.id)
        if known is None:
            known = _answers[case.id] = await self._ask(case)
        return known

    async def _ask(self, case: Case) -> dict[str, Any]:
        body = json.dumps(case.request())
        for attempt in range(_ATTEMPTS):
            if self._process is None:
                await asyncio.to_thread(self._start)
            try:
                return await asyncio.to_thread(self._post, body, case.timeout_ms)
            except (OSError, http.client.HTTPException) as error:
                self.stop()
                # workerd crashes now and then for reasons of its own, never twice at the same program. One that hangs
                # is not asked again.
                if isinstance(error, TimeoutError) or attempt == _ATTEMPTS - 1:
                    raise UpstreamHung(
                        f"upstream gave no answer ({type(error).__name__}: {error}). If the program hangs it or takes"
                        f' it down, mark the case with "upstream": "hangs" or "crashes".\n{self._tail()}'
                    ) from error
                self.crashes += 1
        raise AssertionError("unreachable")

    def _start(self) -> None:
        reader, writer = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["node", "src/serve.mjs", str(writer)],
                cwd=HERE,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[writer],
                start_new_session=True,
            )
            os.close(writer)
            writer = -1
            ready, _, _ = select.select([reader], [], [], _START_S)
            line = os.read(reader, 32) if ready else b""
        finally:
            os.close(reader)
            if writer >= 0:
                os.close(writer)
        if not line:
            self.stop()
            raise AssertionError(f"upstream's host did not start:\n{self._tail()}")
        self._port = int(line)

    def _post(self, body: str, timeout_ms: float) -> dict[str, Any]:
        wait_s = _ANSWER_S + min(max(timeout_ms, 0) / 1000, _ANSWER_S)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=wait_s)
        try:
            connection.request("POST", "/", body.encode())
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise http.client.HTTPException(f"status {response.status}: {text[:500]!r}")
        return json.loads(text)

    def _tail(self) -> str:
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - 2000))
        return self._output.read().decode(errors="replace")

    def stop(self) -> None:
        """Kill the process group: workerd does not hear anything gentler while a program loops."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # workerd becomes this process's child when node is gone.
        until = time.monotonic() + 5
        while time.monotonic() < until:
            try:
                if os.waitpid(-process.pid, os.WNOHANG) == (0, 0):
                    time.sleep(0.005)
            except ChildProcessError:
                return

    def close(self) -> None:
        self.stop()
        self._output.close()
