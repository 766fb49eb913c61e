"""Redirects, as fetch follows them: each hop is a request of its own, which its handler judges anew."""

from __future__ import annotations

import ada_url
import msgspec

from ..errors import BadRequest
from .contract import OutboundHandler, OutboundRequest, OutboundResponse
from .errors import OutboundFailed, OutboundRefused
from .headers import CREDENTIALS, FRAMING, OF_BODY

#: As many as fetch follows.
MAX_REDIRECTS = 20

_STATUSES = (301, 302, 303, 307, 308)


def follow(handler: OutboundHandler, max_redirects: int = MAX_REDIRECTS) -> OutboundHandler:
    """A handler that follows redirects, by asking ``handler`` once for every hop, with ``redirect="manual"``.

    Raises:
        OutboundRefused: too many redirects, or one where the request wants none.
        OutboundFailed: a redirect leads nowhere.
    """

    async def following(request: OutboundRequest) -> OutboundResponse:
        current = msgspec.structs.replace(request, redirect="manual")
        hops = 0
        while True:
            response = await handler(current)
            location = _location(response)
            if location is None or request.redirect == "manual":
                return _from(response, current.url, hops)
            if request.redirect == "error":
                raise OutboundRefused(
                    "redirect", "the response is a redirect, and the request's redirect mode is error"
                )
            if hops == max_redirects:
                raise OutboundRefused("redirect", f"Too many redirects: the limit is {max_redirects}")
            current = next_hop(current, response, location)
            hops += 1

    return following


def next_hop(request: OutboundRequest, response: OutboundResponse, location: str) -> OutboundRequest:
    """The request to where a redirect leads.

    Raises:
        OutboundFailed: that is no URL.
    """
    try:
        url: str = ada_url.join_url(request.url, location)
        here, there = ada_url.URL(request.url), ada_url.URL(url)
    except (ValueError, UnicodeError) as error:
        raise OutboundFailed("redirect", "Invalid Location header; unable to follow redirect.") from error
    if here.hash and not there.hash:
        url = f"{url}{here.hash}"
    method, body, headers = request.method, request.body, list(request.headers)
    if (response.status in (301, 302) and method == "POST") or (
        response.status == 303 and method not in ("GET", "HEAD")
    ):
        method, body = "GET", None
        headers = [header for header in headers if header[0].lower() not in OF_BODY]
    if here.origin != there.origin:
        # What was meant for one origin is not shown to another.
        headers = [header for header in headers if header[0].lower() not in CREDENTIALS | FRAMING]
    try:
        return OutboundRequest(method=method, url=url, headers=headers, body=body, redirect="manual")
    except BadRequest as error:
        raise OutboundFailed("redirect", f"a redirect cannot be followed: {error}") from error


def _location(response: OutboundResponse) -> str | None:
    if response.status not in _STATUSES:
        return None
    values = [value for name, value in response.headers if name.lower() == "location"]
    if len(values) > 1:
        raise OutboundFailed("redirect", f"a redirect has {len(values)} Location headers; it must have one")
    if not values:
        return None
    raw = values[0].encode("latin-1")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return values[0]


def _from(response: OutboundResponse, url: str, hops: int) -> OutboundResponse:
    url = (response.url or url).partition("#")[0]
    return msgspec.structs.replace(response, url=url, redirected=response.redirected or hops > 0)
