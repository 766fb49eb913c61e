"""Where a request goes, and the patterns that say where it may go."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

import ada_url

from ..errors import BadRequest
from .addresses import Address
from .contract import MAX_URL
from .errors import OutboundRefused

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_MAX_NAME = 253
_ONE = "*"
_SOME = "**"


@dataclass(frozen=True, slots=True)
class Target:
    """Where one request goes. Nothing after this reads the URL again, so nothing can read it differently.

    Attributes:
        scheme: ``http`` or ``https``.
        host: a lower-case ASCII name, or the text of an address without brackets.
        port: never the default's absence, always the number.
        address: the host if it is an address, whichever way it was written.
        authority: the value of the ``Host`` header.
        path: path and query as they are sent.
        origin: as the URL standard writes it.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    address: Address | None
    authority: str
    path: str
    origin: str


def parse_target(url: str) -> Target:
    """Read a URL as the guest's ``URL`` does.

    Raises:
        OutboundRefused: it is no URL that is ever requested.
    """
    if len(url) > MAX_URL:
        raise OutboundRefused("url", f"the URL is {len(url)} characters long; the limit is {MAX_URL}")
    try:
        parsed = ada_url.URL(url)
    except (ValueError, UnicodeError) as error:
        raise OutboundRefused("url", f"{_shown(url)} is not an absolute URL") from error
    scheme = parsed.protocol.removesuffix(":")
    if scheme != "http" and scheme != "https":
        raise OutboundRefused("scheme", f"{_shown(scheme)}: URLs are not requested, only http: and https:")
    if parsed.username or parsed.password:
        raise OutboundRefused(
            "userinfo", f"the URL of {_shown(parsed.hostname)} holds a user name or password; send a header instead"
        )
    host, address = _host(parsed.hostname)
    port = int(parsed.port) if parsed.port else _PORTS[scheme]
    if not port:
        raise OutboundRefused("url", f"port 0 of {_shown(host)} cannot be connected to")
    return Target(
        scheme=scheme,
        host=host,
        port=port,
        address=address,
        authority=parsed.host,
        path=f"{parsed.pathname}{parsed.search}",
        origin=f"{scheme}://{parsed.host}",
    )


def _host(hostname: str) -> tuple[str, Address | None]:
    if hostname.startswith("["):
        v6 = IPv6Address(hostname[1:-1])
        return str(v6), v6
    try:
        v4 = IPv4Address(hostname)
    except ValueError:
        pass
    else:
        return str(v4), v4
    if len(hostname) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in hostname.split(".")):
        raise OutboundRefused("url", f"{_shown(hostname)} is not a host name that can be looked up")
    if _reads_as_address(hostname):  # the URL standard has read all of these already; the resolver gets none
        raise OutboundRefused("url", f"{_shown(hostname)} is an address in a form that is not requested")
    return hostname, None


def _reads_as_address(name: str) -> bool:
    try:
        socket.inet_aton(name)
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class OriginPattern:
    """One entry of ``AllowList.origins``.

    ``*`` stands for one label of the host's name, ``**``, as the first label, for one or more. Scheme and port are
    exact. A wildcard never stands for a part of an address.
    """

    text: str
    scheme: str
    port: int
    labels: tuple[str, ...]
    address: Address | None

    @classmethod
    def parse(cls, text: object) -> OriginPattern:
        """Raises:
        BadRequest: the entry is not an origin.
        """
        if not isinstance(text, str):
            raise BadRequest(f"AllowList.origins holds {text!r}; write origins as strings")
        how = f"AllowList.origins holds {text!r}; write scheme://host or scheme://host:port"
        try:
            parsed = ada_url.URL(text)
        except (ValueError, UnicodeError) as error:
            raise BadRequest(f"{how}: this is not a URL") from error
        scheme = parsed.protocol.removesuffix(":")
        if scheme not in _PORTS:
            raise BadRequest(f"{how}: the scheme must be http or https")
        if parsed.username or parsed.password or parsed.search or parsed.hash or parsed.pathname != "/":
            raise BadRequest(f"{how}, and nothing else: requests are not told apart by path or user")
        if text.rstrip("/").lower() not in (f"{scheme}://{parsed.host}", f"{scheme}://{parsed.host}:{_PORTS[scheme]}"):
            raise BadRequest(f"{how} in its plain form, {scheme}://{parsed.host}")
        labels = tuple(parsed.hostname.split("."))
        address: Address | None = None
        if _ONE in parsed.hostname:
            _check_wildcards(labels, how)
        else:
            try:
                _, address = _host(parsed.hostname)
            except OutboundRefused as error:
                raise BadRequest(f"{how}: {error}") from error
        return cls(text, scheme, int(parsed.port) if parsed.port else _PORTS[scheme], labels, address)

    def matches(self, target: Target) -> bool:
        if (target.scheme, target.port, target.address) != (self.scheme, self.port, self.address):
            return False
        if self.address is not None:
            return True
        labels = target.host.split(".")
        own = self.labels
        if own[0] == _SOME:
            own = own[1:]
            if len(labels) <= len(own):
                return False
            labels = labels[len(labels) - len(own) :]
        return len(labels) == len(own) and all(a in (_ONE, b) for a, b in zip(own, labels, strict=True))


def _check_wildcards(labels: tuple[str, ...], how: str) -> None:
    for position, label in enumerate(labels):
        if label == _ONE or (label == _SOME and position == 0):
            continue
        if _ONE in label:
            raise BadRequest(f"{how}: * stands for a whole label, and ** only for the first labels")
        if not _LABEL.fullmatch(label):
            raise BadRequest(f"{how}: {label!r} is not a label of a host name")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}…")
