"""Who may open a connection: the opening request as data in, leave or a refusal out. No input or output.

The order of the checks is part of it: whoever has no token learns nothing but that.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..wire.bridge import PROTOCOL, TOKEN_PREFIX
from .accounts import Account, Accounts, decode_offered

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?")


class Headers(Protocol):
    """The headers of a request."""

    def get_all(self, key: str, /) -> Sequence[str]: ...


@dataclass(frozen=True)
class Refusal:
    """The answer to an opening request that gets no connection.

    Attributes:
        status: of HTTP.
        code: stable, made for programs.
        message: what is wrong, and what to change.
        retry_after_s: when it may be tried again.
    """

    status: int
    code: str
    message: str
    retry_after_s: float | None = None


@dataclass(frozen=True)
class Gate:
    """Attributes:
    accounts: the tokens that are accepted.
    hosts: names in ``Host`` that are this daemon's, lower case; ``None`` where no browser can come from (a Unix
        socket).
    origins: values of ``Origin`` that are let in.
    connections: that one token may have open.
    """

    accounts: Accounts
    hosts: Collection[str] | None
    origins: Collection[str]
    connections: int

    def check(self, path: str, headers: Headers) -> Account | Refusal:
        """Whose connection it is, or why there is none."""
        return (
            self._check_place(path, headers)
            or self._check_origin(headers)
            or _check_protocol(headers)
            or self._identify(headers)
        )

    def _check_place(self, path: str, headers: Headers) -> Refusal | None:
        if "?" in path:
            return Refusal(
                400, "BAD_HANDSHAKE", "the URL must have no query: a token goes into a header, never into a URL"
            )
        if path != "/":
            return Refusal(404, "NOT_FOUND", "there are /, /healthz and /readyz")
        if self.hosts is None:
            return None
        values = headers.get_all("Host")
        match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
        if match is None or match[1].lower() not in self.hosts:
            return Refusal(
                403,
                "HOST_REFUSED",
                "the Host header does not name this daemon; add the name to allowed_hosts to use it",
            )
        return None

    def _check_origin(self, headers: Headers) -> Refusal | None:
        origins = headers.get_all("Origin")
        if all(origin in self.origins for origin in origins):
            return None
        return Refusal(
            403,
            "ORIGIN_REFUSED",
            "requests of web pages are refused; add the page's origin to allowed_origins to let it in",
        )

    def _identify(self, headers: Headers) -> Account | Refusal:
        token = _token_of(headers)
        account = None if token is None else self.accounts.holder(token)
        if account is None:
            how = "no token came along" if token is None else "the token is not one of this daemon's"
            return Refusal(
                401,
                "UNAUTHORIZED",
                f"{how}: send it as `Authorization: Bearer …`, or as the subprotocol {TOKEN_PREFIX}<base64url>",
            )
        if account.connections >= self.connections:
            return Refusal(
                429,
                "TOO_MANY_CONNECTIONS",
                f"this token has {account.connections} connections open, which is the limit (connections_per_token)",
                1.0,
            )
        return account


def hosts_of(host: str, allowed: Sequence[str]) -> frozenset[str]:
    """What ``Host`` may say on a socket that is bound to ``host``: itself, the loopback's names if it is one of them,
    and what is listed.
    """
    names = {name.lower() for name in allowed}
    shown = f"[{host}]" if ":" in host else host
    names.add(shown.lower())
    if is_loopback(host):
        names.update(_LOOPBACK_HOSTS)
    return frozenset(names)


def is_loopback(host: str) -> bool:
    """Only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _offered(headers: Headers) -> list[str]:
    return [item.strip() for line in headers.get_all("Sec-WebSocket-Protocol") for item in line.split(",")]


def _check_protocol(headers: Headers) -> Refusal | None:
    if PROTOCOL in _offered(headers):
        return None
    return Refusal(400, "UNKNOWN_PROTOCOL", f"this daemon speaks the WebSocket subprotocol {PROTOCOL} and no other")


def _token_of(headers: Headers) -> str | None:
    values = headers.get_all("Authorization")
    if len(values) == 1:
        scheme, _, token = values[0].partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None
    if values:
        return None
    offered = [item.removeprefix(TOKEN_PREFIX) for item in _offered(headers) if item.startswith(TOKEN_PREFIX)]
    return decode_offered(offered[0]) if len(offered) == 1 else None
