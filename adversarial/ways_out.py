"""What a host opens to a program: a list with one real server on it, or a handler that misbehaves.

The server is on 127.0.0.2, and the list opens that address alone. The secret's own is on 127.0.0.1, see
``surroundings``: no connection may arrive there, whatever a program, a name server or a redirect says.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Literal, Self

from codemode_executor import AllowList, OutboundRequest, OutboundResponse

#: What a case is given: nothing, the list, or one of the handlers.
Way = Literal[
    "",
    "list",
    "wide-list",
    "handler-raises",
    "handler-never-returns",
    "handler-ignores-cancellation",
    "handler-answers-nonsense",
    "handler-answers-too-much",
]

LISTED_HOST = "127.0.0.2"
_SECRET_HOST = "127.0.0.1"
_MIB = 2**20
_BOMB_MIB = 64
_MAX_RESPONSE = 4 * _MIB
_DRIP_S = 0.2

#: Ways to write where the secret is.
_INSIDE = [_SECRET_HOST, LISTED_HOST, "0.0.0.0", "[::1]", "[::]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"]
_INSIDE += ["[2002:7f00:1::]", "[::7f00:1]", "localhost"]
_METADATA = ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "100.100.100.200"]

#: What the list's name server answers, in turn. ``rebind.test`` is judged when it is looked up for the first time.
_NAMES: dict[str, list[list[str]]] = {
    "listed.test": [[LISTED_HOST]],
    "rebind.test": [[LISTED_HOST], [_SECRET_HOST]],
    "inside.test": [[_SECRET_HOST]],
    "mixed.test": [["::ffff:127.0.0.1", _SECRET_HOST, "::1"]],
    "carried.test": [["64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:7f00:1", "::127.0.0.1"]],
    "unspecified.test": [["0.0.0.0", "::"]],
    "metadata.test": [["169.254.169.254", "fd00:ec2::254"]],
    "zone.test": [["fe80::1%lo", "::1%1"]],
    "localhost": [[_SECRET_HOST]],
    "metadata.google.internal": [["169.254.169.254"]],
    "nonsense.test": [["2130706433", "0x7f.1", "127.1", "localhost", ""]],
}


class WaysOut:
    """Args:
    secret_port: where the secret's server listens.
    reached: what the host saw that it should not have seen is added here.
    """

    def __init__(self, secret_port: int, reached: list[str]) -> None:
        self._secret_port = secret_port
        self._reached = reached
        self._life = contextlib.AsyncExitStack()
        self._port = 0
        self._asked: dict[str, int] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._release = asyncio.Event()
        self._lists: dict[str, AllowList] = {}

    async def __aenter__(self) -> Self:
        for port in (0, self._secret_port):  # the second: a name that leads here first, and then to the secret
            server = await asyncio.start_server(self._connected, LISTED_HOST, port)
            self._port = self._port or server.sockets[0].getsockname()[1]
            self._life.push_async_callback(server.wait_closed)
            self._life.callback(server.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.settle()
        await self._life.aclose()

    async def settle(self) -> None:
        """End what a case has left behind: handlers that wait, connections that are open."""
        self._release.set()
        self._release = asyncio.Event()
        self._asked.clear()
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(list(self._serving))

    def fill(self, text: str) -> str:
        """``text`` with the addresses of both servers in it."""
        places = {
            "{listed}": f"http://{LISTED_HOST}:{self._port}",
            "{listed_port}": str(self._port),
            "{secret_port}": str(self._secret_port),
        }
        for place, value in places.items():
            text = text.replace(place, value)
        return text

    def open(self, way: Way) -> AllowList | Callable[[OutboundRequest], Awaitable[OutboundResponse]] | None:
        """What ``execute`` is given as ``outbound``."""
        match way:
            case "":
                return None
            case "list":
                return self.listing()
            case "wide-list":
                return self.listing(wide=True)
            case "handler-raises":
                return self._raises
            case "handler-never-returns":
                return self._never_returns
            case "handler-ignores-cancellation":
                return self._ignores_cancellation
            case "handler-answers-nonsense":
                return self._answers_nonsense
            case "handler-answers-too-much":
                return self._answers_too_much

    def listing(self, *, wide: bool = False) -> AllowList:
        """The list.

        Args:
            wide: it names the secret's own addresses among its origins, so that only the judgement of addresses is in
                front of them.
        """
        origins = [f"http://{LISTED_HOST}:{self._port}", f"http://listed.test:{self._port}"]
        if wide:
            origins += [f"http://{address}:{self._secret_port}" for address in _INSIDE]
            origins += [f"http://{name}" for name in _METADATA]
            origins += [f"http://**.test:{self._secret_port}"]
        return AllowList(
            origins=origins,
            allow_private=[LISTED_HOST],
            resolver=self._resolve,
            max_response_bytes=_MAX_RESPONSE,
            max_total_bytes=16 * _MIB,
            max_in_flight=16,
            timeout_s=20,
        )

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        del port
        if host not in _NAMES:
            self._reached.append(f"a lookup of {host!r}, which is not listed")
            return []
        answers = _NAMES[host]
        number = self._asked.get(host, 0)
        self._asked[host] = number + 1
        return answers[min(number, len(answers) - 1)]

    # --- handlers -----------------------------------------------------------------------------------------------------

    async def _raises(self, request: OutboundRequest) -> OutboundResponse:
        raise RuntimeError(f"no way to {request.url}")

    async def _never_returns(self, request: OutboundRequest) -> OutboundResponse:
        del request
        await asyncio.Event().wait()
        raise AssertionError("nothing sets the event")

    async def _ignores_cancellation(self, request: OutboundRequest) -> OutboundResponse:
        del request
        release = self._release
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        return OutboundResponse()

    async def _answers_nonsense(self, request: OutboundRequest) -> OutboundResponse:
        del request
        return {"status": "200", "body": [object()]}  # pyright: ignore[reportReturnType]

    async def _answers_too_much(self, request: OutboundRequest) -> OutboundResponse:
        del request
        return OutboundResponse(body=bytes(32 * _MIB))

    # --- the server on the list ---------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while await self._request(reader, writer):
                await writer.drain()
            writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._serving.discard(task)

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. False: the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        fields = [line.split(": ", 1) for line in lines]
        headers = {name.lower(): value for name, value in fields}
        self._judge(headers, len(fields))
        await reader.readexactly(int(headers.get("content-length", 0)))
        return await self._answer(first.split(" ")[1], writer)

    def _judge(self, headers: dict[str, str], fields: int) -> None:
        """A request may say only what is the program's to say."""
        host = headers.get("host", "")
        if host.rpartition(":")[0] not in (LISTED_HOST, *_NAMES):
            self._reached.append(f"a request with the host {host!r}")
        for name in ("cookie", "authorization", "proxy-authorization", "x-forwarded-for", "transfer-encoding"):
            if name in headers:
                self._reached.append(f"a request with the header {name}: {headers[name][:80]!r}")
        if len(headers) != fields:
            self._reached.append("a request that says a header twice")

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> bool:
        secret = f"http://{_SECRET_HOST}:{self._secret_port}/"
        redirects = {
            "/redirect-to-secret": (302, secret),
            "/redirect-307-to-secret": (307, secret),
            "/redirect-to-secret-without-a-scheme": (302, secret.removeprefix("http:")),
            "/redirect-to-secret-by-a-name": (302, f"http://inside.test:{self._secret_port}/"),
            "/redirect-to-a-user": (302, f"http://{LISTED_HOST}:{self._port}@{_SECRET_HOST}:{self._secret_port}/"),
            "/redirect-to-metadata": (302, "http://169.254.169.254/latest/meta-data/"),
            "/redirect-to-file": (302, "file:///etc/passwd"),
            "/redirect-to-data": (302, "data:text/plain,x"),
            "/redirect-to-itself": (302, path),
            "/redirect-with-a-line": (302, f"/\r\nX-Y: {secret}"),
        }
        if path in redirects:
            status, location = redirects[path]
            writer.write(_response(f"{status} Found", f"Location: {location}"))
            return True
        match path:
            case "/gzip-bomb":
                writer.write(_response("200 OK", "Content-Encoding: gzip", body=_bomb()))
            case "/gzip-in-gzip":
                writer.write(_response("200 OK", "Content-Encoding: gzip, gzip", body=gzip.compress(_bomb())))
            case "/endless":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                await _without_end(writer, b"10000\r\n" + bytes(65536) + b"\r\n")
            case "/endless-head":
                writer.write(b"HTTP/1.1 200 OK\r\n")
                await _without_end(writer, b"X-Header: " + b"x" * 4000 + b"\r\n")
            case "/endless-hints":
                await _without_end(writer, b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            case "/endless-extensions-of-chunks":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
                await _without_end(writer, b"x=" + b"y" * 4000 + b";")
            case "/drip":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                await _without_end(writer, b"x", _DRIP_S)
            case "/slow-head" | "/never":
                await asyncio.Event().wait()
            case "/two-lengths":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 50\r\n\r\n" + b"x" * 50)
                return False
            case "/length-and-chunks":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                writer.write(_response("200 OK", "X-Smuggled: yes", body=b"smuggled"))
            case "/two-responses":
                writer.write(_response("200 OK", body=b"first") + _response("200 OK", body=b"second, unasked"))
            case "/switch":
                writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw bytes")
            case "/names-of-prototypes":
                head = [
                    f"{name}: stolen" for name in ("__proto__", "constructor", "toString", "then", "hasOwnProperty")
                ]
                writer.write(_response("200 OK", *head, body=b"ok"))
            case "/cookies":
                writer.write(_response("200 OK", "Set-Cookie: kept=1", "WWW-Authenticate: Basic realm=x", body=b"ok"))
            case _:
                writer.write(_response("200 OK", body=json.dumps({"path": path}).encode()))
        return True


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(_BOMB_MIB * _MIB), 1)


async def _without_end(writer: asyncio.StreamWriter, piece: bytes, pause_s: float = 0.0) -> None:
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause_s)


def _response(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
