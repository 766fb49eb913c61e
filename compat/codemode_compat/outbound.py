"""What ``global_outbound`` may be."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, cast

from codemode_executor import AllowList, BadRequest, OutboundHandler, OutboundRequest, OutboundResponse


class Fetcher(Protocol):
    """Answers the requests of programs. Mirrors the part of upstream's ``Fetcher`` that ``globalOutbound`` uses."""

    def fetch(self, request: OutboundRequest, /) -> Awaitable[OutboundResponse]:
        """Answer one request; a redirect is an answer, and the program's ``fetch`` follows it with another request.

        What it raises, the program's ``fetch`` rejects with.
        """
        ...


#: An object with a method ``fetch``, such a function, or the origins that may be reached.
GlobalOutbound = Fetcher | OutboundHandler | AllowList


def checked_outbound(global_outbound: object) -> OutboundHandler | AllowList | None:
    """What serves the requests of programs; ``None`` where they have no network.

    Raises:
        BadRequest: it is nothing that can.
    """
    if global_outbound is None or isinstance(global_outbound, AllowList):
        return global_outbound
    if not isinstance(global_outbound, type):
        fetch = getattr(global_outbound, "fetch", None)
        handler = fetch if callable(fetch) else global_outbound
        if callable(handler):
            return cast(OutboundHandler, handler)
    raise BadRequest(
        "global_outbound must be None, an object with a method fetch(request), an async function of a request, or an"
        f" AllowList, not {global_outbound!r:.120}"
    )
