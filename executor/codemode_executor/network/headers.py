"""Which of a program's headers are sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..errors import BadRequest
from .contract import Header

#: The connection's own, which the client writes. A program that writes them could end its request early and begin
#: another, or reach another host by name. These cannot be allowed.
FRAMING = frozenset(
    [
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)

#: What says who asks.
CREDENTIALS = frozenset(
    [
        "api-key",
        "authorization",
        "cookie",
        "cookie2",
        "private-token",
        "x-access-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    ]
)

#: What servers behind a proxy, and metadata services, believe about who asks.
TRUSTED = frozenset(
    [
        "cf-connecting-ip",
        "forwarded",
        "metadata",
        "metadata-flavor",
        "true-client-ip",
        "via",
        "x-aws-ec2-metadata-token",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    ]
)
_TRUSTED_PREFIX = "x-forwarded"

#: Those that describe a body, and go with it when a redirect drops it.
OF_BODY = frozenset(["content-encoding", "content-language", "content-location", "content-type", "content-length"])


def parse_allowed(names: object) -> frozenset[str]:
    """Names of ``AllowList.allow_headers``.

    Raises:
        BadRequest: one cannot be allowed, or would be sent anyway.
    """
    if isinstance(names, str) or not isinstance(names, Collection):
        raise BadRequest(f"AllowList.allow_headers must be a list of names, not {names!r}")
    allowed: set[str] = set()
    for name in names:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(name, str):
            raise BadRequest(f"AllowList.allow_headers holds {name!r}; write names as strings")
        lower = name.lower()
        if lower in FRAMING:
            raise BadRequest(f"AllowList.allow_headers holds {name!r}, which belongs to the connection: leave it out")
        if not _is_held_back(lower):
            raise BadRequest(f"AllowList.allow_headers holds {name!r}, which is always sent: leave it out")
        allowed.add(lower)
    return frozenset(allowed)


def sendable(headers: Sequence[Header], allowed: Collection[str]) -> tuple[list[Header], list[str]]:
    """What is sent of a program's headers, and the names of what is not."""
    # What the Connection header names is meant for the next hop only.
    named = {
        part.strip().lower() for name, value in headers if name.lower() == "connection" for part in value.split(",")
    }
    sent: list[Header] = []
    stripped: list[str] = []
    for name, value in headers:
        lower = name.lower()
        if lower in FRAMING or lower in named or (_is_held_back(lower) and lower not in allowed):
            stripped.append(lower)
        else:
            sent.append((name, value))
    return sent, stripped


def returnable(headers: Sequence[Header]) -> list[Header]:
    """What the program sees of a response's headers: all but the connection's own."""
    return [(name, value) for name, value in headers if name.lower() not in FRAMING or name.lower() == "content-length"]


def _is_held_back(lower: str) -> bool:
    return lower in CREDENTIALS or lower in TRUSTED or lower.startswith(_TRUSTED_PREFIX)
