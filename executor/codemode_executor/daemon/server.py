"""The daemon: sockets that listen, the engine behind them, and how it leaves."""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
import socket
import ssl
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, cast

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve, unix_serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from .. import __version__
from ..contract import EngineReport
from ..errors import BadRequest, ExecutorError
from ..executor import IsolateExecutor
from ..wire.bridge import PROTOCOL
from .accounts import Account, Accounts
from .errors import Draining
from .gate import Gate, Refusal, hosts_of
from .logs import record
from .service import Service
from .session import Session
from .settings import Settings
from .sockets import Crowd, Socket, socket_factory

_BACKLOG = 1024
_UNOPENED = 256  # sockets whose opening request has not come
_WRITE_BYTES = 64 * 1024
_STOP_S = 5.0

_log = logging.getLogger("codemode_executor.daemon")


class Daemon:
    """Use it as an async context manager: it listens from its entry on.

    Args:
        settings: what it was told.
        tokens: ``(name, token)`` of everybody it serves.

    Raises:
        BadRequest: the settings or the tokens are unusable, or an address is taken.
        ExecutorError: no worker can be started; on entry.
    """

    def __init__(self, settings: Settings, tokens: Sequence[tuple[str, str]]) -> None:
        self._settings = settings
        self._accounts = Accounts(tokens)
        self._executor = IsolateExecutor(
            limits=settings.limits,
            hardening=settings.hardening,
            isolation=settings.isolation,
            min_workers=settings.min_workers,
            max_workers=settings.max_workers,
            max_queue=settings.max_queue,
            queue_timeout_s=settings.queue_timeout_s,
            max_retained=settings.max_retained,
            retained_idle_s=settings.retained_idle_s,
            allow_overcommit=settings.allow_overcommit,
        )
        self._tls = _tls(settings)
        self._numbers = itertools.count(1)
        self._crowd = Crowd(_UNOPENED)
        self._sessions: set[Session] = set()
        self._none_left = asyncio.Event()
        self._none_left.set()
        self._servers: list[Server] = []
        self._unix_file: tuple[str, int] | None = None
        self._service: Service | None = None
        self._report: EngineReport | None = None
        self._trial: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str | None:
        """Where it listens on TCP; ``None`` if it does not."""
        for server in self._servers:
            for listening in server.sockets:
                if listening.family in (socket.AF_INET, socket.AF_INET6):
                    host, port = cast("tuple[str, int]", listening.getsockname()[:2])
                    shown = f"[{host}]" if ":" in host else host
                    return f"{'wss' if self._tls else 'ws'}://{shown}:{port}"
        return None

    def announcement(self) -> dict[str, object]:
        """What listens, which bounds hold, and which layers of the jail."""
        report = self._report
        return {
            "event": "listening",
            "url": self.url,
            "unix": self._settings.unix,
            "protocol": PROTOCOL,
            "version": __version__,
            "pid": os.getpid(),
            "tokens": [account.name for account in self._accounts],
            "limits": msgspec.structs.asdict(self._settings.limits),
            "bounds": {
                name: getattr(self._settings, name)
                for name in (
                    "max_connections",
                    "connections_per_token",
                    "runs_per_token",
                    "max_message_bytes",
                    "max_queue",
                )
            },
            "engine": None if report is None else f"V8 {report.v8} through {report.engine}",
            "hardening": self._settings.hardening,
            "layers": {} if report is None else {layer.name: layer.state for layer in report.jail.layers},
        }

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._sessions)

    # --- how it begins and ends ---------------------------------------------------------------------------------------

    async def _start(self) -> None:
        settings = self._settings
        await self._executor.__aenter__()
        self._report = await self._executor.inspect()  # nobody is let in before a worker has proved its jail
        self._service = Service(
            self._executor.engine(),
            settings.limits,
            settings.retained_idle_s,
            settings.runs_per_token,
            settings.max_buffered_bytes,
            settings.log_programs,
        )
        if settings.unix is not None:
            await self._listen_on_file(settings.unix)
        if settings.listens_on_tcp:
            await self._listen_on_port(settings.host, settings.tcp_port)

    async def drain(self) -> None:
        """Take no further run, and wait until those that go on are over, ``drain_s`` at most."""
        service = self._service
        if service is None or service.draining:
            return
        service.draining = True
        record(_log, "draining", connections=len(self._sessions), drain_s=self._settings.drain_s)
        for session in tuple(self._sessions):
            session.drain(self._settings.drain_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain_s):
                await self._none_left.wait()

    async def aclose(self) -> None:
        """End every run and every process. May be called twice."""
        if self._service is not None:
            self._service.draining = True
        for session in tuple(self._sessions):
            session.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await self._none_left.wait()
        self._crowd.abort()
        for server in self._servers:
            server.close()
            await server.wait_closed()
        self._servers.clear()
        self._remove_file()
        await self._executor.aclose()
        if self._trial is not None:
            await asyncio.wait((self._trial,))

    # --- listening ----------------------------------------------------------------------------------------------------

    def _options(self, gate: Gate) -> dict[str, Any]:
        settings = self._settings

        def process_request(connection: ServerConnection, request: Request) -> Response | None:
            return self._open(gate, cast("Socket", connection), request)

        return {
            "subprotocols": [Subprotocol(PROTOCOL)],
            "compression": None,
            "process_request": process_request,
            "server_header": None,
            "open_timeout": settings.open_timeout_s,
            "ping_interval": settings.heartbeat_s,
            "ping_timeout": 2 * settings.heartbeat_s,
            "close_timeout": 1.0,
            "max_size": settings.max_message_bytes,
            "write_limit": _WRITE_BYTES,
            "logger": _library_log(),
            "create_connection": socket_factory(settings.max_buffered_bytes, settings.max_message_bytes, self._crowd),
            "backlog": _BACKLOG,
        }

    async def _listen_on_port(self, host: str, port: int) -> None:
        gate = self._gate(hosts_of(host, self._settings.allowed_hosts))
        try:
            self._servers.append(await serve(self._serve, host, port, ssl=self._tls, **self._options(gate)))
        except OSError as error:
            raise BadRequest(f"cannot listen on {host} port {port}: {error.strerror}") from error

    async def _listen_on_file(self, path: str) -> None:
        await _check_file(path)
        before = os.umask(0o177)  # there is no moment at which somebody else could open it
        try:
            server = await unix_serve(self._serve, path, **self._options(self._gate(None)))
            self._servers.append(server)
            self._unix_file = (path, os.stat(path).st_ino)
        except OSError as error:
            raise BadRequest(f"cannot listen on the Unix socket {path}: {error.strerror}") from error
        finally:
            os.umask(before)

    def _remove_file(self) -> None:
        if self._unix_file is None:
            return
        path, number = self._unix_file
        self._unix_file = None
        with suppress(FileNotFoundError):
            if os.stat(path).st_ino == number:  # another daemon's otherwise
                os.unlink(path)

    def _gate(self, hosts: frozenset[str] | None) -> Gate:
        settings = self._settings
        return Gate(self._accounts, hosts, frozenset(settings.allowed_origins), settings.connections_per_token)

    # --- a connection -------------------------------------------------------------------------------------------------

    def _open(self, gate: Gate, connection: Socket, request: Request) -> Response | None:
        if request.path == "/healthz":
            return connection.respond(200, "ok\n")
        if request.path == "/readyz":
            return self._readiness(connection)
        found = self._refused_by_all() or gate.check(request.path, request.headers)
        if isinstance(found, Refusal):
            record(_log, "connection_refused", status=found.status, code=found.code, peer=_peer(connection))
            return _answer(connection, found)
        connection.let_in(found)
        return None

    def _readiness(self, connection: Socket) -> Response:
        service = self._service
        if service is None or service.draining:
            return connection.respond(503, "draining\n")
        stats = self._executor.stats()
        if stats is not None and stats.queued >= self._settings.max_queue > 0:
            return connection.respond(503, f"{stats.queued} runs wait, which is the limit (max_queue)\n")
        if stats is not None and (stats.broken or self._trial is not None):
            # Whoever asks this sends no runs meanwhile, and without one it would not be tried again.
            self._trial = self._trial or asyncio.create_task(self._try_again(stats.broken), name="trial of a worker")
            return connection.respond(503, "no worker can be started; the log says why\n")
        return connection.respond(200, "ready\n")

    async def _try_again(self, broken: str) -> None:
        record(_log, "no_worker", reason=broken)
        try:
            await self._executor.inspect()
            record(_log, "workers_again")
        except ExecutorError as error:
            record(_log, "no_worker", reason=str(error))
        finally:
            self._trial = None

    def _refused_by_all(self) -> Refusal | None:
        if self._service is None or self._service.draining:
            return Refusal(503, Draining.code, str(Draining()), 1.0)
        if len(self._sessions) >= self._settings.max_connections:
            return Refusal(
                503,
                "TOO_MANY_CONNECTIONS",
                f"{len(self._sessions)} connections are open, which is the limit (max_connections)",
                1.0,
            )
        return None

    async def _serve(self, connection: ServerConnection) -> None:
        """One connection, from its opening to its end."""
        sock = cast("Socket", connection)
        service, account = self._service, sock.account
        if service is None or account is None:
            raise RuntimeError("a connection was opened that the gate did not see")
        number = next(self._numbers)
        settings = self._settings
        session = Session(
            service,
            account,
            sock,
            number=number,
            max_message_bytes=settings.max_message_bytes,
            heartbeat_s=settings.heartbeat_s,
            send_timeout_s=settings.send_timeout_s,
            unsent_bytes=settings.max_buffered_bytes,
        )
        began = time.monotonic()
        self._enter(session, account)
        record(_log, "connection_opened", connection=number, token=account.name, peer=_peer(sock))
        reason = "the daemon stopped"
        try:
            if service.draining:
                session.drain(settings.drain_s)
            reason = await session.serve()
        finally:
            self._leave(session, account)
            seconds = round(time.monotonic() - began, 3)
            record(
                _log,
                "connection_closed",
                connection=number,
                token=account.name,
                reason=reason,
                runs=session.runs,
                s=seconds,
            )

    def _enter(self, session: Session, account: Account) -> None:
        account.connections += 1
        self._sessions.add(session)
        self._none_left.clear()

    def _leave(self, session: Session, account: Account) -> None:
        account.connections -= 1
        self._sessions.discard(session)
        if not self._sessions:
            self._none_left.set()


def _answer(connection: Socket, refusal: Refusal) -> Response:
    body = msgspec.json.encode({"code": refusal.code, "message": refusal.message}).decode()
    response = connection.respond(refusal.status, body)
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after_s is not None:
        response.headers["Retry-After"] = str(max(1, round(refusal.retry_after_s)))
    return response


def _peer(connection: Socket) -> str:
    address: object = connection.transport.get_extra_info("peername")
    if isinstance(address, tuple):
        host, port = cast("tuple[object, ...]", address)[:2]
        return f"{host}:{port}"
    return "unix"


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise BadRequest(
            f"the TLS files {settings.tls_cert} and {settings.tls_key} cannot be used: {error.strerror or error}"
        ) from error
    return context


async def _check_file(path: str) -> None:
    """A socket file that is left over is replaced by whoever binds; one that is served is not.

    Raises:
        BadRequest: something else is there, or somebody serves it.
    """
    try:
        is_socket = stat.S_ISSOCK(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadRequest(f"cannot listen on the Unix socket {path}: {error.strerror}") from error
    if not is_socket:
        raise BadRequest(f"cannot listen on the Unix socket {path}: there is a file of that name")
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        if error.errno in (errno.ECONNREFUSED, errno.ENOENT):
            return
        raise BadRequest(f"cannot listen on the Unix socket {path}: {error.strerror}") from error
    writer.close()
    await writer.wait_closed()
    raise BadRequest(f"cannot listen on the Unix socket {path}: another process listens there")


def _library_log() -> logging.Logger:
    """What the library has to say of connections, without what it says of every one of them."""
    log = logging.getLogger("codemode_executor.daemon.websockets")
    log.setLevel(logging.WARNING)
    return log
