"""A host process: started, asked, ended. Whatever it does, asking it ends within a bound."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from .peers import ROOT, Peer
from .protocol import Command, Held, Message

#: The longest that any command may take, seconds.
_GUARD_S = 120.0
_LEAVE_S = 15.0
_LINE_BYTES = 64 * 1024 * 1024

Shape = TypeVar("Shape")


class HostFailed(Exception):
    """A host that did not do what it was asked: its name, the command and what it said."""


class HostProcess:
    """The host of ``peer``, as an async context manager."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.versions: dict[str, str] = {}
        self._ids = 0

    async def __aenter__(self) -> Self:
        self.started = time.perf_counter()
        # A session of its own, so that what it leaves behind can be found and ended.
        self._process = await asyncio.create_subprocess_exec(
            *self.peer.command,
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES,
            start_new_session=True,
        )
        try:
            self.versions = (await self._message("starting")).ready or {}
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def pid(self) -> int:
        """Of the host itself."""
        return self._process.pid

    async def ask(self, command: Command, shape: type[Shape]) -> Shape:
        """Send ``command``, whose id is replaced, and give its answer. Raises :class:`HostFailed`."""
        number = self._send(command)
        return self._answer(command, await self._about(number, command.do), shape)

    @contextlib.asynccontextmanager
    async def hold(self, command: Command) -> AsyncIterator[None]:
        """Inside, all runs of a ``hold`` wait for their tool; after it they have answered.

        Raises:
            HostFailed: they did not all come to wait, or one did not answer as it should.
        """
        number = self._send(command)
        message = await self._about(number, command.do)
        if not message.holding:
            raise HostFailed(f"{self.peer.id}, hold: {message.error or 'it ended before it was released'}")
        try:
            yield
        finally:
            self._send(Command(id=0, do="release"))
        self._answer(command, await self._about(number, command.do), Held)

    def _send(self, command: Command) -> int:
        self._ids += 1
        if self._process.stdin is None:
            raise RuntimeError("the host was started with a pipe")
        sent = msgspec.structs.replace(command, id=self._ids)
        self._process.stdin.write(msgspec.json.encode(sent) + b"\n")
        return self._ids

    async def _about(self, number: int, what: str) -> Message:
        message = await self._message(what)
        if message.id != number:
            raise HostFailed(f"{self.peer.id}, {what}: an answer to {message.id} where {number} was asked")
        return message

    async def _message(self, what: str) -> Message:
        if self._process.stdout is None:
            raise RuntimeError("the host was started with a pipe")
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), _GUARD_S)
        except TimeoutError:
            raise HostFailed(f"{self.peer.id}, {what}: no answer within {_GUARD_S:.0f} s") from None
        if not line:
            status = await asyncio.wait_for(self._process.wait(), _LEAVE_S)
            raise HostFailed(f"{self.peer.id}, {what}: its process ended with status {status}")
        try:
            return msgspec.json.decode(line, type=Message)
        except msgspec.DecodeError as error:
            raise HostFailed(f"{self.peer.id}, {what}: {error}: {line[:200]!r}") from error

    def _answer(self, command: Command, message: Message, shape: type[Shape]) -> Shape:
        if message.error is not None or not bytes(message.ok):
            raise HostFailed(f"{self.peer.id}, {command.do}: {message.error or 'neither answer nor error'}")
        try:
            return msgspec.json.decode(message.ok, type=shape)
        except msgspec.DecodeError as error:
            raise HostFailed(f"{self.peer.id}, {command.do}: {error}") from error

    async def _end(self) -> None:
        """Close its pipe and wait; what is left of its session after that is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
