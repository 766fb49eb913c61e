"""From what the guest's ``fetch`` sends to the host's way out, and back."""

from __future__ import annotations

import contextlib
from typing import cast

import msgspec

from .clone_calls import Outbound
from .errors import BadRequest
from .limits import Limits
from .network import (
    AllowList,
    OutboundError,
    OutboundFailed,
    OutboundHandler,
    OutboundRefused,
    OutboundRequest,
    OutboundResponse,
    serve,
)
from .network.contract import MAX_BODY
from .tool_failure import ToolFailure, failure_of

_WEB = ("http:", "https:")
# Of an answer, beside its body: headers at their longest, in UTF-8, and the members' names.
_HEAD_BYTES = 300 * 1024


async def open_network(
    outbound: OutboundHandler | AllowList | None, limits: Limits, life: contextlib.AsyncExitStack
) -> Outbound | None:
    """What serves the requests of one run; ``None`` where the network is blocked.

    Args:
        outbound: as ``execute`` is given it.
        limits: of the run.
        life: what the run's end closes is put here.

    Raises:
        BadRequest: it is nothing that can serve requests.
    """
    if outbound is None:
        return None
    if isinstance(outbound, AllowList):
        handler: OutboundHandler = await life.enter_async_context(outbound.session())
    elif callable(outbound):
        handler = _each_hop(outbound)
    else:
        raise BadRequest(
            f"outbound must be an async function of an OutboundRequest, an AllowList or None, not {outbound!r}"
        )
    most = _body_room(limits.tool_result_bytes)

    async def answer(value: object) -> object:
        try:
            request = msgspec.convert(_request(value), OutboundRequest)
            if not request.url.startswith(_WEB):
                raise OutboundRefused("scheme", f"only http: and https: URLs are fetched, not {request.url[:120]}")
            response = await serve(handler, request, max_response_bytes=MAX_BODY)
            if len(response.body) > most:
                raise OutboundRefused(
                    "response_bytes",
                    f"the response is {len(response.body)} bytes long; the limit is {most} bytes, which is what"
                    " Limits.tool_result_bytes leaves room for",
                )
        except OutboundError as error:
            raise _failure(error) from error
        except (BadRequest, msgspec.ValidationError) as error:
            raise ToolFailure(f"The request cannot be sent: {error}", b'{"name":"TypeError"}') from error
        return _response(response)

    return answer


def _each_hop(handler: OutboundHandler) -> OutboundHandler:
    """The program's ``fetch`` follows redirects itself: the handler is asked for every hop, as upstream's is."""

    return lambda request: handler(msgspec.structs.replace(request, redirect="manual"))


def _body_room(limit: int) -> int:
    """The longest body that fits into an answer: it crosses as base64, four characters for three bytes."""
    return max(0, limit - min(_HEAD_BYTES, limit // 4)) * 3 // 4


def _failure(error: OutboundError) -> ToolFailure:
    """A handler's own exception reaches the program as that of a tool does; what the host forbids is a TypeError."""
    if isinstance(error, OutboundFailed) and error.part == "handler" and error.__cause__ is not None:
        return failure_of(error.__cause__)
    return ToolFailure(str(error), msgspec.json.encode({"name": "TypeError", "code": error.code}))


def _request(value: object) -> object:
    """As the guest's platform writes it; whatever else a guest brings about is refused by the request itself."""
    if not isinstance(value, dict):
        raise BadRequest("it is no object")
    members = cast("dict[str, object]", value)
    headers = members.get("headers")
    return {
        **members,
        "headers": [tuple(cast("list[object]", pair)) for pair in cast("list[object]", headers)]
        if isinstance(headers, list)
        else headers,
    }


def _response(response: OutboundResponse) -> dict[str, object]:
    return {
        "status": response.status,
        "statusText": response.status_text,
        "headers": [list(header) for header in response.headers],
        "body": response.body,
        "url": response.url,
        "redirected": response.redirected,
    }
