"""From a name to a connection. An address is judged here, and what was judged is what is connected to."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import cast

from ..threads import in_thread
from .addresses import Address, Network, is_listed, is_own, refusal
from .contract import MAX_HEADER_CHARACTERS
from .errors import OutboundFailed, OutboundRefused
from .origins import Target

#: Looks a name up: ``(host, port)`` to the texts of addresses, best first.
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

#: Makes a socket that is connected to an address and a port, within the seconds given.
Connector = Callable[[Address, int, float], Awaitable[socket.socket]]

_MAX_ADDRESSES = 8
_MAX_LOOKUPS = 64
_CONNECT_S = 10.0
_CONNECT_SOONER_S = 2.0  # while there is another address to try
_HANDSHAKE_S = 10.0


class SystemResolver:
    """``getaddrinfo`` on threads of our own: a lookup that hangs holds neither the loop nor the process."""

    def __init__(self) -> None:
        self._running = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if self._running >= _MAX_LOOKUPS:
            raise OutboundFailed(
                "lookup", f"{host} was not looked up: {self._running} lookups are running; the limit is {_MAX_LOOKUPS}"
            )
        self._running += 1
        found = cast(
            "list[tuple[int, int, int, str, tuple[str, int]]]", await in_thread(_lookup, host, port, on_end=self._ended)
        )
        return [entry[4][0] for entry in found]

    def _ended(self) -> None:
        self._running -= 1


def _lookup(host: str, port: int) -> object:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)


async def connect_socket(address: Address, port: int, timeout_s: float) -> socket.socket:
    """Raises:
    OSError: there is no connection, after ``timeout_s`` at the latest.
    """
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return connection


class Dialer:
    """Opens connections.

    Args:
        listed: networks that are opened although they are not public.
        resolver, connector: how a name is looked up, and a connection made.
        tls: the context of connections to ``https`` origins.
    """

    def __init__(
        self, listed: Sequence[Network], resolver: Resolver, tls: ssl.SSLContext, connector: Connector = connect_socket
    ) -> None:
        self._listed = listed
        self._resolver = resolver
        self._tls = tls
        self._connector = connector

    async def dial(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Raises:
        OutboundRefused: there is no address that may be connected to.
        OutboundFailed: there is no connection.
        """
        addresses = self._judged(target, [target.address] if target.address else await self._lookup(target))
        connection = await self._connected(target, addresses)
        try:
            return await asyncio.open_connection(
                sock=connection,
                limit=MAX_HEADER_CHARACTERS,
                ssl=self._tls if target.scheme == "https" else None,
                server_hostname=target.host if target.scheme == "https" else None,
                ssl_handshake_timeout=_HANDSHAKE_S if target.scheme == "https" else None,
            )
        except ssl.SSLError as error:
            reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
            raise OutboundFailed("tls", f"no secure connection to {target.origin}: {reason}", str(error)) from error
        except OSError as error:
            part = "tls" if target.scheme == "https" else "connect"
            raise OutboundFailed(part, f"no secure connection to {target.origin}", str(error)) from error

    async def _lookup(self, target: Target) -> list[Address]:
        try:
            texts = await self._resolver(target.host, target.port)
        except (OSError, UnicodeError) as error:
            raise OutboundFailed("lookup", f"{target.host} cannot be looked up", str(error)) from error
        addresses: list[Address] = []
        for text in texts:
            try:
                address = ip_address(text)
            except ValueError as error:
                raise OutboundFailed(
                    "lookup", f"{target.host} cannot be looked up", f"resolver gave {text!r}"
                ) from error
            if not isinstance(address, IPv6Address) or address.scope_id is None:  # a zone is this machine's own
                addresses.append(address)
        if not addresses:
            raise OutboundFailed("lookup", f"{target.host} has no address")
        return addresses

    def _judged(self, target: Target, addresses: Sequence[Address]) -> list[Address]:
        """The addresses that may be connected to; others that the same name has are not."""
        usable: list[Address] = []
        refused: list[str] = []
        for address in addresses:
            kind = refusal(address, self._listed)
            if kind is None and not is_listed(address, self._listed) and is_own(address):
                kind = "this machine's own"
            if kind is None:
                usable.append(address)
            else:
                refused.append(f"{address} is {kind}")
        if not usable:
            where = "not a public address" if target.address else "not at a public address"
            raise OutboundRefused(
                "address",
                f"{target.host} is {where}; the host allows others in AllowList.allow_private",
                "; ".join(refused[:_MAX_ADDRESSES]),
            )
        return usable[:_MAX_ADDRESSES]

    async def _connected(self, target: Target, addresses: Sequence[Address]) -> socket.socket:
        failures: list[str] = []
        for number, address in enumerate(addresses, 1):
            try:
                connection = await self._connector(
                    address, target.port, _CONNECT_S if number == len(addresses) else _CONNECT_SOONER_S
                )
            except OSError as error:
                failures.append(f"{address}: {_reason(error)}")
                continue
            return connection
        raise OutboundFailed("connect", f"no connection to {target.origin}", "; ".join(failures))


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return errno.errorcode.get(error.errno or 0, str(error) or type(error).__name__)
