"""From what the guest's ``fetch`` sends to the host's way out, and back."""

from __future__ import annotations

import contextlib
from typing import cast

import msgspec

from .clone_calls import Outbound
from .errors import BadRequest
from .limits import Limits
from .network import AllowList, OutboundError, OutboundHandler, OutboundRequest, OutboundResponse, follow, serve
from .tool_failure import ToolFailure


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
        handler = follow(outbound)
    else:
        raise BadRequest(
            f"outbound must be an async function of an OutboundRequest, an AllowList or None, not {outbound!r}"
        )

    async def answer(value: object) -> object:
        try:
            request = msgspec.convert(_request(value), OutboundRequest)
            response = await serve(handler, request, max_response_bytes=limits.tool_result_bytes)
        except OutboundError as error:
            raise ToolFailure(str(error), msgspec.json.encode({"name": "TypeError", "code": error.code})) from error
        except (BadRequest, msgspec.ValidationError) as error:
            raise ToolFailure(f"the request cannot be sent: {error}", b'{"name":"TypeError"}') from error
        return _response(response)

    return answer


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
