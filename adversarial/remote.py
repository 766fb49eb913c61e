"""An executor behind a URL: the daemon of this repository, or whatever else speaks docs/protocol.md.

Tools, connectors and ways to the network are served here, by the same code that serves them in process. Verdicts are
the host's as before; of the machine at the other end nothing is seen but what it says and how long it takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, cast

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from codemode_executor import HandleCallFailed, HandleDisposed, Limits
from codemode_executor.clone_calls import OUTBOUND
from codemode_executor.contract import Connector, LogLine
from codemode_executor.outbound import open_network
from codemode_executor.retained import Retained, decode_with_handles
from codemode_executor.tool_failure import ToolFailure
from codemode_executor.tool_threads import ToolThreads
from codemode_executor.tools import ToolTable
from codemode_executor.values import ValueRefused, decode_result
from codemode_executor.values.tool_codec import encode_value

from .adapter import Attack, Ended

_PROTOCOL = Subprotocol("codemode-executor.v1")
_WITH_PAYLOAD = frozenset(("call", "result", "invoked"))
_ENDS = frozenset(("refused", "result", "error", "fault"))
_OPEN_S = 10.0
#: Tools that were begun are let come to their end for so long.
_SETTLE_S = 0.1


class NoExecutor(Exception):
    """Nothing that speaks the protocol is at the URL; the message says what is."""


class RemoteAdapter:
    """Args:
    url: ``ws://`` or ``wss://``.
    token: of the daemon.
    generations: how many generations of processes below this one are the executor's; 0 if it was started elsewhere.
    """

    name = "an executor at a URL"

    def __init__(self, url: str, token: str, *, generations: int = 0) -> None:
        self.generations = generations
        self._url = url
        self._token = token
        self._idle: list[_Connection] = []
        self._all: list[_Connection] = []

    async def open(self) -> None:
        """Connect once.

        Raises:
            NoExecutor: it cannot be reached, or refuses.
        """
        self._idle.append(await self._connect())

    async def execute(self, attack: Attack) -> Ended:
        """One run on a connection that no other run has at the same time."""
        connection = self._idle.pop() if self._idle else await self._connect()
        try:
            ended = await connection.execute(attack)
        except ConnectionClosed as error:
            return Ended(raised="CONNECTION_LOST", error=f"the connection was closed: {error}")
        except asyncio.CancelledError:
            await connection.close()
            raise
        if ended.dispose is None:
            self._idle.append(connection)
            return ended

        async def keep() -> None:
            self._idle.append(connection)

        return _with_end(ended, ended.dispose, keep)

    async def close(self) -> None:
        """Close every connection."""
        await asyncio.gather(*(connection.close() for connection in self._all))

    async def _connect(self) -> _Connection:
        try:
            socket = await connect(
                self._url,
                additional_headers={"Authorization": f"Bearer {self._token}"},
                subprotocols=[_PROTOCOL],
                compression=None,
                max_size=None,
                open_timeout=_OPEN_S,
            )
            connection = _Connection(socket)
            await connection.greet()
        except Exception as error:
            raise NoExecutor(f"there is no executor at {self._url}: {type(error).__name__}: {error}") from error
        self._all.append(connection)
        return connection


class _Connection:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._limits = Limits()
        self._run = 0
        self._messages = self._read()
        self._serving: set[asyncio.Task[None]] = set()
        self._table: ToolTable | None = None
        self._tool_result_bytes = 0
        self._logs: list[str] = []

    async def greet(self) -> None:
        """Read the first message."""
        header, _ = await anext(self._messages)
        self._limits = msgspec.convert(header["limits"], Limits)

    async def execute(self, attack: Attack) -> Ended:
        """Carry a run out, to its end; if it is retained, to its answer."""
        self._run += 1
        self._logs = []
        life = contextlib.AsyncExitStack()
        network = await open_network(attack.outbound, attack.limits, life)
        self._table = ToolTable(attack.providers, None, ToolThreads(), {}, network)
        self._tool_result_bytes = attack.limits.tool_result_bytes
        # A lone surrogate has no form in a header: it is replaced by whoever writes it.
        code = attack.code.encode("utf-8", "replace").decode()
        header: dict[str, object] = {
            "t": "run",
            "run": self._run,
            "code": code,
            "providers": _declared(attack),
            "modules": [{"name": name, "source": source} for name, source in attack.modules.items()],
            "limits": self._lowered(attack.limits),
            "retain": attack.retain,
        }
        if network is not None:
            header["outbound"] = "client"
        await self._send(header, encode_value(dict(attack.env)).decode())
        try:
            async for message, payload in self._messages:
                if message["t"] in _ENDS:
                    ended = self._ended(message, payload)
                    if ended.dispose is None:
                        await self._settle(life)
                        return ended
                    return _with_end(ended, ended.dispose, lambda: self._settle(life))
                self._take(message, payload)
        except BaseException:
            await self._settle(life)
            raise
        raise AssertionError("the messages of a connection end by an exception")

    async def close(self) -> None:
        """At once."""
        for task in self._serving:
            task.cancel()
        await self._messages.aclose()
        await self._socket.close()

    def _lowered(self, limits: Limits) -> dict[str, object]:
        """No run has more than the executor gives to anybody."""
        widest = msgspec.to_builtins(self._limits)
        asked = {name: value for name, value in msgspec.to_builtins(limits).items() if value is not None}
        return {name: value if widest.get(name) is None else min(value, widest[name]) for name, value in asked.items()}

    def _ended(self, message: dict[str, Any], payload: str) -> Ended:
        logs = tuple(self._logs)
        match message["t"]:
            case "result":
                return self._answered(int(payload[0]), payload[1:].encode(), retained=message.get("retained", False))
            case "error":
                return Ended(
                    error=message["message"],
                    logs=logs,
                    name=message.get("name", ""),
                    stack=message.get("stack", ""),
                    bound=message.get("bound"),
                )
            case _:
                return Ended(raised=message["code"], error=message["message"], logs=logs)

    def _answered(self, form: int, text: bytes, *, retained: bool) -> Ended:
        functions = _Functions(self) if retained else None
        dispose = Retained(functions).dispose if functions is not None else None
        logs = tuple(self._logs)
        try:
            value = decode_result(form, text) if functions is None else decode_with_handles(functions, form, text)
        except ValueRefused as refusal:  # what is no value here is the program's error, as it is in process
            return Ended(error=str(refusal), logs=logs, dispose=dispose)
        return Ended(result=value, logs=logs, dispose=dispose)

    async def _settle(self, life: contextlib.AsyncExitStack) -> None:
        if self._serving:
            await asyncio.wait(list(self._serving), timeout=_SETTLE_S)
        for task in list(self._serving):
            task.cancel()
        await life.aclose()

    def _take(self, message: dict[str, Any], payload: str) -> None:
        """Whatever is no end of a run."""
        if message["t"] == "logs":
            self._logs += [str(LogLine(level, text)) for level, text in message["lines"]]
        elif message["t"] == "call":
            task = asyncio.create_task(self._serve(message, payload))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(self, message: dict[str, Any], payload: str) -> None:
        about = {"run": message["run"], "call": message["call"]}
        kind = message["kind"]
        provider = OUTBOUND if kind == "outbound" else message["provider"]
        assert self._table is not None
        try:
            answer = await self._table.call(provider, message["tool"], payload.encode(), self._tool_result_bytes)
        except ToolFailure as failure:
            await self._answer({"t": "answer_error", **about, "message": failure.message, **json.loads(failure.extra)})
            return
        text = (answer or b"").decode()
        # What crosses as a clone is a string of JSON in process, and a text of its own on the wire.
        await self._answer({"t": "answer", **about}, text if kind == "tool" else json.loads(text))

    async def _answer(self, header: dict[str, object], payload: str | None = None) -> None:
        with contextlib.suppress(ConnectionClosed):  # whoever reads hears of it
            await self._send(header, payload)

    async def _send(self, header: dict[str, object], payload: str | None = None) -> None:
        line = json.dumps(header)
        await self._socket.send(line if payload is None else f"{line}\n{payload.encode('utf-8', 'replace').decode()}")

    async def _read(self) -> AsyncGenerator[tuple[dict[str, Any], str]]:
        while True:
            frame = await self._socket.recv()
            assert isinstance(frame, str)
            for message in _messages(frame):
                yield message

    # --- functions of a retained run ----------------------------------------------------------------------------------

    async def invoke(self, number: int, handle: int, args: bytes, timeout_s: float | None) -> tuple[int, bytes]:
        """Call a function, serving its calls meanwhile."""
        header: dict[str, object] = {"t": "invoke", "run": self._run, "invocation": number, "handle": handle}
        if timeout_s is not None:
            header["timeout_s"] = timeout_s
        disposed = ""
        await self._send(header, args.decode())
        async for message, payload in self._messages:
            match message["t"]:
                case "invoked":
                    return int(payload[0]), payload[1:].encode()
                case "invoke_failed" if message["code"] == "HANDLE_CALL_FAILED":
                    raise HandleCallFailed(message["message"], name=message.get("name", ""))
                case "invoke_failed":
                    disposed = message["message"]  # and the end of the run follows
                case "over":
                    raise HandleDisposed(disposed or message["message"])
                case _:
                    self._take(message, payload)
        raise AssertionError("the messages of a connection end by an exception")

    async def cancel(self) -> None:
        """End a retained run."""
        await self._send({"t": "cancel", "run": self._run})
        async for message, payload in self._messages:
            if message["t"] == "over":
                return
            self._take(message, payload)


def _with_end(ended: Ended, first: Callable[[], Awaitable[None]], then: Callable[[], Awaitable[None]]) -> Ended:
    async def both() -> None:
        await first()
        await then()

    return msgspec.structs.replace(ended, dispose=both)


def _messages(frame: str) -> Iterator[tuple[dict[str, Any], str]]:
    lines = iter(frame.split("\n"))
    for line in lines:
        header = cast("dict[str, Any]", json.loads(line))
        yield header, next(lines) if header["t"] in _WITH_PAYLOAD else ""


def _declared(attack: Attack) -> list[dict[str, object]]:
    declared: list[dict[str, object]] = []
    for provider in attack.providers:
        if isinstance(provider, Connector):
            declared.append({"name": provider.name, "connector": True})
        else:
            declared.append({"name": provider.name, "tools": list(provider.tools), "prelude": provider.prelude})
    return declared


class _Functions:
    """The functions of one retained run, as ``codemode_executor.retained`` wants them."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._invocations = 0
        self.disposed = ""
        self._ending: asyncio.Task[None] | None = None

    def invoke(self, handle: int, args: bytes, timeout_s: float | None) -> Awaitable[tuple[int, bytes]]:
        if self.disposed:
            raise HandleDisposed(self.disposed)
        self._invocations += 1
        return self._invoked(handle, args, timeout_s)

    async def _invoked(self, handle: int, args: bytes, timeout_s: float | None) -> tuple[int, bytes]:
        try:
            return await self._connection.invoke(self._invocations, handle, args, timeout_s)
        except HandleDisposed as error:
            self.disposed = str(error)
            raise

    def release(self, handle: int) -> None:
        del handle

    def dispose(self) -> None:
        if not self.disposed:
            self.disposed = "the handles were disposed"
            self._ending = asyncio.create_task(self._connection.cancel())

    def argument_bytes(self) -> int:
        return 2**30

    async def over(self) -> None:
        if self._ending is not None:
            await self._ending
