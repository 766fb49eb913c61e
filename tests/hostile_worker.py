"""Workers whose every byte a test decides, behind a real socket and with a real process to kill.

``ScriptedZygotes`` stands in for the pool's zygotes. The supervisor's side is all real: its socket, its transport, its
clocks, the pidfd by which it kills.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from codemode_executor.jail import JailReport
from codemode_executor.wire import messages as wire
from codemode_executor.wire.framing import FrameDecoder, encode_frame
from codemode_executor.zygote import Exit, Forked


class Peer:
    """The worker's end of the socket, and the process that the supervisor takes for the worker."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.setblocking(False)
        self.received: list[wire.ToWorker] = []
        self._reading: asyncio.Task[None] | None = None
        self._inbox: asyncio.Queue[wire.ToWorker] = asyncio.Queue()
        self._frames = FrameDecoder(1 << 30)
        self.process = subprocess.Popen(["sleep", "120"])
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @property
    def killed(self) -> bool:
        """The supervisor has sent SIGKILL to the process."""
        return self.process.poll() == -signal.SIGKILL

    async def _read(self) -> None:
        """Take in what the supervisor sends, until it closes its end."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await loop.sock_recv(self.sock, 65536):
                for frame in self._frames.feed(data):
                    message = wire.decode_to_worker(frame)
                    self.received.append(message)
                    self._inbox.put_nowait(message)

    async def live(self, script: Script) -> None:
        """Follow ``script`` until the process ends; then do what the kernel and the zygote do."""
        self._reading = asyncio.ensure_future(self._read())
        doing = [self._reading, asyncio.ensure_future(self._play(script))]
        try:
            while self.process.poll() is None:
                await asyncio.sleep(0.002)
        finally:
            for task in doing:
                task.cancel()  # before the socket's number can belong to another one
            results = await asyncio.gather(*doing, return_exceptions=True)
            self.sock.close()
            self.process.kill()
            self.exited.set_result(Exit(self.process.wait()))
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _play(self, script: Script) -> None:
        with contextlib.suppress(OSError):  # killed in the middle of a word
            await script(self)

    # --- what a script can do ---------------------------------------------------------------------

    async def raw(self, *data: bytes) -> None:
        """Send bytes, all of them in one piece as far as the socket takes them."""
        await asyncio.get_running_loop().sock_sendall(self.sock, b"".join(data))

    async def send(self, *messages: wire.ToSupervisor) -> None:
        """Send messages in one piece."""
        await self.raw(*(frame(message) for message in messages))

    def stop_reading(self) -> None:
        """Leave what the supervisor sends in the socket."""
        assert self._reading is not None
        self._reading.cancel()

    async def greet(self) -> None:
        await self.send(GREETING)

    async def run(self) -> wire.Run:
        """The next run that the supervisor hands out."""
        while True:
            message = await self._inbox.get()
            if isinstance(message, wire.Run):
                return message

    async def accept(self) -> int:
        """Greet, wait for a run and take it; returns its number."""
        await self.greet()
        run = (await self.run()).run
        await self.send(wire.Accepted(run))
        return run

    async def answer(self) -> wire.ToolDone | wire.ToolFailed:
        """The next answer to a tool call."""
        while True:
            message = await self._inbox.get()
            if isinstance(message, wire.ToolDone | wire.ToolFailed):
                return message


Script = Callable[[Peer], Awaitable[None]]

GREETING = wire.Ready(engine="scripted", v8="0", v8_sandbox=True, jail=JailReport("off", ()), probes=[])


def frame(message: wire.ToSupervisor) -> bytes:
    """One message as it stands on the wire."""
    return encode_frame(wire.encode(message))


def outcome(run: int, value: bytes | None = b"1", kind: int = wire.OUTCOME_RESULT, message: str = "") -> wire.Outcome:
    """How a program ended, as a worker puts it."""
    return wire.Outcome(run, kind, 0 if value is None else 1, value or b"", "", message, "", 0.0)


async def polite(peer: Peer) -> None:
    """Answers 1 to every run."""
    await peer.greet()
    while True:
        run = (await peer.run()).run
        await peer.send(wire.Accepted(run), outcome(run), wire.Idle(run, False))


class ScriptedZygotes:
    """In place of ``codemode_executor.pool.Zygotes``: the first workers follow ``scripts``, later ones are polite."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.started = 1
        self.peers: list[Peer] = []
        self._scripts = list(scripts)
        self._lives: list[asyncio.Task[None]] = []

    def __call__(self, *_: Any) -> ScriptedZygotes:
        """Called by the pool as if it were the class."""
        return self

    async def current(self) -> ScriptedZygotes:
        return self

    async def fork(self, sock: socket.socket) -> tuple[Forked, asyncio.Future[Exit]]:
        peer = Peer(sock.dup())
        sock.close()
        script = self._scripts.pop(0) if self._scripts else polite
        self.peers.append(peer)
        self._lives.append(asyncio.ensure_future(peer.live(script)))
        return Forked(peer.process.pid, os.pidfd_open(peer.process.pid)), peer.exited

    async def close(self, timeout_s: float) -> None:
        del timeout_s
        for life in self._lives:
            life.cancel()
        results = await asyncio.gather(*self._lives, return_exceptions=True)
        broken = [result for result in results if isinstance(result, Exception)]
        assert not broken, f"a script failed: {broken}"

    def abandon(self) -> None:
        raise AssertionError("the tests of hostile workers close their executor")

    forget = abandon
