"""Servers on this machine that answer what a test says, byte for byte, and remember what they were asked."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from codemode_executor.network import AllowList


@dataclass
class Asked:
    """One request as it reached a server."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for other, value in self.headers if other.lower() == name]
        return ", ".join(values) if values else None


Answering = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    port: int
    host: str = "127.0.0.1"
    scheme: str = "http"
    connections: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


async def read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(line.partition(":")[0], line.partition(":")[2].strip()) for line in lines]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Asked(method, path, headers, await reader.readexactly(length))


@asynccontextmanager
async def raw_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter, Server], Awaitable[None]],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    """``serve`` has each connection to itself; it is closed when that returns."""
    running: set[asyncio.Task[None]] = set()
    record = Server(port, host, "https" if tls else "http")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        record.connections += 1
        try:
            await serve(reader, writer, record)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            running.discard(task)
            record.ended.set()

    server = await asyncio.start_server(connected, host, port, ssl=tls)
    record.port = server.sockets[0].getsockname()[1]
    try:
        yield record
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.sleep(0)


@asynccontextmanager
async def http_server(
    answer: Answering, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """``answer`` is called for each request of each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
        while True:
            asked = await read_request(reader)
            server.asked.append(asked)
            await answer(asked, writer)
            await writer.drain()

    async with raw_server(serve, host=host, port=port, tls=tls) as server:
        yield server


def response(status: str = "200 OK", headers: Sequence[str] = (), body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def saying(answer: bytes) -> Answering:
    """Answers every request with the same bytes."""

    async def respond(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return respond


def open_to(*servers: Server, **rules: object) -> AllowList:
    """A list of these servers and nothing else. They are on loopback, so that is opened as well."""
    rules.setdefault("allow_private", ["127.0.0.1"])
    return AllowList(origins=[server.origin for server in servers], **rules)  # pyright: ignore[reportArgumentType]


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for ``names``, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives: list[x509.GeneralName] = []
    for name in names:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            alternatives.append(x509.DNSName(name))
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    client = ssl.create_default_context(cafile=str(file))
    return server, client
