"""A proxy that cuts the connection after so many bytes, at every point of a run's life, in either direction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.exceptions import WebSocketException

from codemode_executor.daemon.server import Daemon
from daemon.client import Client
from witness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROVIDERS = [{"name": "t", "tools": ["x"]}]
CODE = """async () => {
  console.log('begun')
  const a = await t.x(1)
  console.log('a'.repeat(3000))
  const [b, c] = await Promise.all([t.x(2), t.x('y'.repeat(5000))])
  return [a, b, c]
}"""


class Proxy:
    """Passes bytes on until it has passed as many as it may in one direction."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.passed = {"up": 0, "down": 0}
        self.cut_after: tuple[str, int] | None = None
        self.half = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        try:
            yield f"ws://127.0.0.1:{port}"
        finally:
            server.close()
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other_writer = await asyncio.open_connection(*self._target)
        self.passed = {"up": 0, "down": 0}

        def cut() -> None:
            for each in (writer, other_writer):
                each.transport.abort()

        passing = [
            asyncio.create_task(self._pass("up", reader, other_writer, cut)),
            asyncio.create_task(self._pass("down", other_reader, writer, cut)),
        ]
        await asyncio.wait(passing)

    async def _pass(
        self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: Callable[[], None]
    ) -> None:
        try:
            while data := await reader.read(65536):
                limit = self.cut_after
                if limit is not None and limit[0] == way and self.passed[way] + len(data) >= limit[1]:
                    writer.write(data[: limit[1] - self.passed[way]])
                    await writer.drain()
                    cut()
                    return
                self.passed[way] += len(data)
                writer.write(data)
                await writer.drain()
            writer.close()
        except OSError:
            cut()


async def life(url: str, served: list[str], ends: list[str]) -> None:
    """A run from its connection to its end."""

    async def serve(_header: dict[str, Any], payload: str) -> str:
        served.append(payload)
        return json.dumps(len(payload))

    async with await Client.open(url) as client:
        outcome = await client.execute(CODE, serve, providers=PROVIDERS)
        assert outcome.value == [3, 3, 5004], outcome.end
        ends.append(outcome.end.t)


@pytest.mark.parametrize("way", ["up", "down"])
async def test_the_connection_is_cut_at_every_point(daemon: Daemon, way: str) -> None:
    assert daemon.url is not None
    host, port = daemon.url.removeprefix("ws://").split(":")
    proxy = Proxy(host, int(port))
    async with proxy.listening() as url:
        served: list[str] = []
        ends: list[str] = []
        await life(url, served, ends)
        assert ends == ["result"]
        total = proxy.passed[way]
        points = sorted({*range(0, total, max(1, total // 60)), *range(max(0, total - 40), total, 4)})
        for point in points:
            proxy.cut_after = (way, point)
            served.clear()
            ends.clear()
            with pytest.raises((WebSocketException, OSError, EOFError)):
                await life(url, served, ends)
                if ends:
                    raise EOFError  # the end had come through before the cut
            assert len(served) == len(set(served)) <= 3, f"a call was made twice, cut after {point} bytes {way}"
        await eventually(lambda: daemon.connections == 0, "every cut connection forgotten")
        proxy.cut_after = None
        await life(url, [], ends)
    # Nothing of the runs that were cut goes on: every worker is to be had.
    clients = [await Client.open(daemon.url) for _ in range(4)]
    try:
        for client in clients:
            await client.start("async () => await t.x()", providers=PROVIDERS)
        for client in clients:
            await client.until("call")
    finally:
        for client in clients:
            await client.socket.close()
