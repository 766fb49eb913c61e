"""The requests of one run, under an allow-list."""

from __future__ import annotations

import asyncio
import functools
import logging
import ssl
from types import TracebackType
from typing import Self

import msgspec

from ..errors import BadRequest
from .client import Answer, Connection, Lost, Meter
from .contract import Header, OutboundRequest, OutboundResponse
from .decoding import ACCEPTED
from .dialing import Dialer, SystemResolver
from .errors import OutboundError, OutboundFailed, OutboundRefused, OutboundTimeout
from .headers import returnable, sendable
from .origins import Target, parse_target
from .policy import AllowList
from .redirects import follow

_log = logging.getLogger("codemode_executor.network")

# May be sent twice where the first was lost with a connection that had waited.
_IDEMPOTENT = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")
_WITH_LENGTH = ("POST", "PUT", "PATCH")

_MAX_REPORTS = 20

_resolve = SystemResolver()


class Traffic(msgspec.Struct):
    """What a run has asked of the network so far. Sizes in bytes.

    Attributes:
        requests: that were made, each hop of a redirect for itself.
        refused: that a rule or a bound refused, before or while they were served.
        sent, received: heads and bodies as they crossed the connections.
        decoded: what compressed bodies became.
    """

    requests: int = 0
    refused: int = 0
    sent: int = 0
    received: int = 0
    decoded: int = 0


class Session:
    """Answers requests: an ``OutboundHandler``. Belongs to one run and its event loop; close it with the run.

    Attributes:
        traffic: what was asked so far.
    """

    def __init__(self, policy: AllowList, dialer: Dialer | None = None) -> None:
        self._policy = policy
        self._patterns = policy.patterns
        self._allowed_headers = policy.header_names
        self._dialer = dialer or Dialer(
            policy.networks, policy.resolver or _resolve, policy.ssl_context or _system_certificates()
        )
        self._follow = follow(self._hop, policy.max_redirects)
        self._slots = asyncio.Semaphore(policy.max_in_flight)
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._closed = False
        self._reports = _MAX_REPORTS
        self.traffic = Traffic()
        self._meter = Meter(self._sent, self._received, self._decoded, policy.max_response_bytes)

    async def __call__(self, request: OutboundRequest) -> OutboundResponse:
        """Serve one request, redirects included.

        Raises:
            OutboundRefused: a rule or a bound forbids it.
            OutboundFailed: the network or the other end failed.
            OutboundTimeout: it took longer than ``timeout_s``.
        """
        limit = self._policy.timeout_s
        clock = asyncio.timeout(limit)
        try:
            async with clock, self._slots:
                return await self._follow(request)
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise OutboundTimeout(
                f"fetch was not done after {limit:g} seconds, the limit (AllowList.timeout_s)", limit
            ) from error
        except OutboundError as error:
            if isinstance(error, OutboundRefused):
                self.traffic.refused += 1
            self._report(request, error)
            raise

    async def aclose(self) -> None:
        """Close every connection, those in use too. Idempotent."""
        self._closed = True
        while self._open:
            self._drop(next(iter(self._open)))
        await asyncio.sleep(0)  # the loop closes what was dropped

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _hop(self, request: OutboundRequest) -> OutboundResponse:
        """One request, no redirect: every rule is asked again for every hop."""
        target = parse_target(request.url)
        self._check(request, target)
        headers, stripped = sendable(request.headers, self._allowed_headers)
        if stripped:
            _log.info("outbound %s %s: not sent: %s", request.method, target.origin, ", ".join(sorted(stripped)))
        answer = await self._asked(request, target, self._complete(headers, request, target))
        try:
            return OutboundResponse(
                status=answer.status,
                status_text=answer.reason,
                headers=returnable(answer.headers),
                body=answer.body,
                url=request.url,
            )
        except BadRequest as error:
            raise OutboundFailed("protocol", f"the response of {target.origin} cannot be used: {error}") from error

    def _check(self, request: OutboundRequest, target: Target) -> None:
        policy = self._policy
        if not any(pattern.matches(target) for pattern in self._patterns):
            raise OutboundRefused(
                "origin", f"{target.origin} is not among the origins that the host allows (AllowList.origins)"
            )
        if request.method not in policy.methods:
            raise OutboundRefused(
                "method",
                f"the method {request.method} is not among those that the host allows, {', '.join(policy.methods)}"
                " (AllowList.methods)",
            )
        size = len(request.body or b"")
        if size > policy.max_request_bytes:
            raise OutboundRefused(
                "request_bytes",
                f"the body of the request is {size} bytes long;"
                f" the limit is {policy.max_request_bytes} (AllowList.max_request_bytes)",
            )

    def _count_request(self) -> None:
        if self.traffic.requests >= self._policy.max_requests:
            raise OutboundRefused(
                "requests",
                f"the program has sent {self.traffic.requests} requests, the limit (AllowList.max_requests)",
            )
        self.traffic.requests += 1

    def _complete(self, headers: list[Header], request: OutboundRequest, target: Target) -> list[Header]:
        names = {name.lower() for name, _ in headers}
        complete = [("host", target.authority), *headers]
        if request.body is not None or request.method in _WITH_LENGTH:
            complete.append(("content-length", str(len(request.body or b""))))
        defaults = (("accept", "*/*"), ("accept-encoding", ACCEPTED), ("user-agent", self._policy.user_agent))
        complete += [(name, value) for name, value in defaults if value and name not in names]
        return complete

    async def _asked(self, request: OutboundRequest, target: Target, headers: list[Header]) -> Answer:
        while True:
            self._count_request()
            connection = await self._take(target) if request.method in _IDEMPOTENT else None
            again = connection is not None
            if connection is None:
                connection = await self._dial(target)
            kept = False
            try:
                answer = await connection.exchange(request.method, target.path, headers, request.body, self._meter)
                kept = connection.reusable and not self._closed
                if kept:
                    self._idle.append(connection)
                return answer
            except Lost as error:
                if not again:
                    raise OutboundFailed(
                        "protocol", f"{target.origin} closed the connection without a response"
                    ) from error
            finally:
                if not kept:
                    self._drop(connection)

    async def _dial(self, target: Target) -> Connection:
        connection = Connection(target, *await self._dialer.dial(target))
        self._open.add(connection)
        if self._closed:
            self._drop(connection)
            raise OutboundFailed("connect", "the run is over")
        return connection

    def _report(self, request: OutboundRequest, error: OutboundError) -> None:
        # A program may try again as often as it likes; it does not get to fill the host's disk.
        self._reports -= 1
        if self._reports >= 0:
            _log.warning("outbound %s: %s%s", request.method, error, f" ({error.note})" if error.note else "")
        if self._reports == 0:
            _log.warning("outbound: further failures of this run are not logged")

    async def _take(self, target: Target) -> Connection | None:
        """A connection of this run that waits. It leads to an address that was judged when it was made."""
        while connection := self._idle_one(target):
            self._idle.remove(connection)
            kept = False
            try:
                kept = not await connection.spoke() and connection.reusable
                if kept:
                    return connection
            finally:
                if not kept:
                    self._drop(connection)
        return None

    def _idle_one(self, target: Target) -> Connection | None:
        for connection in list(self._idle):
            if not connection.reusable:
                self._drop(connection)
            elif connection.origin == target.origin:
                return connection
        return None

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        connection.close()

    def _sent(self, size: int) -> None:
        self.traffic.sent += size
        self._check_total()

    def _received(self, size: int) -> None:
        self.traffic.received += size
        self._check_total()

    def _decoded(self, size: int) -> None:
        self.traffic.decoded += size
        self._check_total()

    def _check_total(self) -> None:
        traffic, limit = self.traffic, self._policy.max_total_bytes
        total = traffic.sent + traffic.received + traffic.decoded
        if total > limit:
            raise OutboundRefused(
                "total_bytes",
                f"the program's requests and responses come to {total} bytes;"
                f" the limit is {limit} (AllowList.max_total_bytes)",
            )


@functools.cache
def _system_certificates() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
