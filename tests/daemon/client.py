"""A client of the daemon that a test writes out: it sends what it is told and shows what came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol("codemode-executor.v1")
TOKEN = "a-token-of-the-tests-0123456789"
OTHER_TOKEN = "another-token-of-the-tests-9876"
WAIT_S = 20.0

WITH_PAYLOAD = frozenset(("run", "answer", "invoke", "call", "result", "invoked"))
ENDS = frozenset(("refused", "result", "error", "fault"))

#: Serves a call: the message and its payload, to the payload of the answer, or an exception.
Serve = Callable[[dict[str, Any], str], Awaitable[str]]


@dataclass
class Message:
    """One message as it came."""

    header: dict[str, Any]
    payload: str = ""

    @property
    def t(self) -> str:
        return self.header["t"]

    def __getitem__(self, name: str) -> Any:
        return self.header[name]


@dataclass
class Outcome:
    """Everything that a run brought, and its end."""

    end: Message
    messages: list[Message] = field(default_factory=list[Message])

    @property
    def value(self) -> Any:
        """The result, of plain JSON."""
        assert self.end.t == "result", self.end
        assert self.end.payload[:1] in "01", self.end.payload
        return json.loads(self.end.payload[1:]) if self.end.payload[0] == "1" else None

    @property
    def logs(self) -> list[list[str]]:
        return [line for message in self.messages if message.t == "logs" for line in message["lines"]]

    def of(self, kind: str) -> list[Message]:
        return [message for message in self.messages if message.t == kind]


def write(*messages: tuple[dict[str, Any], str | None]) -> str:
    """A frame."""
    lines: list[str] = []
    for header, payload in messages:
        lines.append(json.dumps(header))
        if payload is not None:
            lines.append(payload)
    return "\n".join(lines)


def read(frame: str) -> list[Message]:
    """The messages of a frame."""
    lines = iter(frame.split("\n"))
    return [
        Message(header, next(lines) if header["t"] in WITH_PAYLOAD else "") for header in (json.loads(x) for x in lines)
    ]


class Client:
    """One connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.runs = 0
        self._waiting: list[Message] = []

    @classmethod
    async def open(
        cls,
        url: str | None = None,
        *,
        unix: str | None = None,
        token: str | None = TOKEN,
        headers: dict[str, str] | None = None,
        subprotocols: Iterable[str] = (PROTOCOL,),
        greet: bool = True,
        **options: Any,
    ) -> Self:
        """Connect, and read ``hello``."""
        given = dict(headers or {})
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        options = {
            "additional_headers": given,
            "subprotocols": [Subprotocol(name) for name in subprotocols],
            "compression": None,
            "max_size": None,
            "ping_interval": None,
            "proxy": None,
        } | options
        if unix is not None:
            del options["proxy"]
            socket = await asyncio.wait_for(unix_connect(unix, "ws://localhost/", **options), WAIT_S)
        else:
            assert url is not None
            socket = await asyncio.wait_for(connect(url, **options), WAIT_S)
        client = cls(socket)
        if greet:
            hello = await client.next()
            assert hello.t == "hello", hello
            client.hello = hello
        return client

    hello: Message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()

    async def send(self, header: dict[str, Any], payload: str | None = None) -> None:
        await self.socket.send(write((header, payload)))

    async def next(self) -> Message:
        """The next message, whatever it is."""
        while not self._waiting:
            async with asyncio.timeout(WAIT_S):
                frame = await self.socket.recv()
            assert isinstance(frame, str)
            self._waiting += read(frame)
        return self._waiting.pop(0)

    async def until(self, *kinds: str) -> Message:
        """The next message of these kinds; others are dropped."""
        while True:
            message = await self.next()
            if message.t in kinds:
                return message

    async def start(self, code: str, *, env: str = "{}", run: int | None = None, **members: Any) -> int:
        """Send a run."""
        self.runs = self.runs + 1 if run is None else run
        await self.send({"t": "run", "run": self.runs, "code": code, **members}, env)
        return self.runs

    async def execute(self, code: str, serve: Serve | None = None, *, settle_s: float = 0, **members: Any) -> Outcome:
        """Carry a run out, serving its calls as they come, all at the same time."""
        await self.start(code, **members)
        return await self.finish(serve, settle_s=settle_s)

    async def finish(self, serve: Serve | None = None, *, settle_s: float = 0) -> Outcome:
        """Everything up to the end of the run; tools that nobody waits for have ``settle_s`` to end."""
        outcome: list[Message] = []
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                message = await self.next()
                outcome.append(message)
                if message.t in ENDS:
                    if settle_s and tasks:
                        await asyncio.wait(tasks, timeout=settle_s)
                    return Outcome(message, outcome)
                if message.t == "call" and serve is not None:
                    tasks.add(asyncio.create_task(self._serve(serve, message)))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, serve: Serve, message: Message) -> None:
        about = {"run": message["run"], "call": message["call"]}
        try:
            answer = await serve(message.header, message.payload)
        except Exception as error:
            members = getattr(error, "members", {"message": str(error), "name": type(error).__name__})
            await self.send({"t": "answer_error", **about, **members})
        else:
            await self.send({"t": "answer", **about}, answer)

    async def closed(self) -> tuple[int | None, str]:
        """Wait for the end of the connection: its code and reason, or ``None`` for one that was cut."""
        try:
            async with asyncio.timeout(WAIT_S):
                while True:
                    await self.socket.recv()
        except ConnectionClosed as error:
            return (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else (None, "")
