"""Between the engine and whoever answers requests: whatever a handler does, the program gets a response or an error."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import cast

from .contract import OutboundHandler, OutboundRequest, OutboundResponse
from .errors import OutboundError, OutboundFailed, OutboundRefused, OutboundTimeout

_log = logging.getLogger("codemode_executor.network")

#: Handlers that did not end when they were cancelled. The loop itself holds tasks only weakly.
_abandoned: set[asyncio.Task[object]] = set()


async def serve(
    handler: OutboundHandler, request: OutboundRequest, *, max_response_bytes: int, timeout_s: float | None = None
) -> OutboundResponse:
    """Have ``handler`` answer ``request``.

    Cancelling this ends at once; so does the time, whether or not the handler heeds its own cancellation.

    Args:
        max_response_bytes: longest body.
        timeout_s: seconds; ``None`` leaves it to the run's deadline.

    Raises:
        OutboundError: there is no response; the text is for the program. What the handler raised is its cause.
    """
    task = asyncio.ensure_future(_call(handler, request))
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_forget)
    if not task.done():
        limit = cast(float, timeout_s)
        raise OutboundTimeout(f"the host's outbound handler did not answer within {limit:g} seconds", limit)
    response = _outcome(task)
    if not isinstance(response, OutboundResponse):
        raise OutboundFailed(
            "handler", f"the host's outbound handler must return an OutboundResponse, not {type(response).__name__}"
        )
    if len(response.body) > max_response_bytes:
        raise OutboundRefused(
            "response_bytes", f"the response is {len(response.body)} bytes long; the limit is {max_response_bytes}"
        )
    return response


async def _call(handler: OutboundHandler, request: OutboundRequest) -> object:
    try:
        answer: object = handler(request)
        return await answer if inspect.isawaitable(answer) else answer
    except SystemExit as error:
        # A handler that calls sys.exit has failed; it does not end its host.
        raise OutboundFailed("handler", f"SystemExit: {error}") from error


def _outcome(task: asyncio.Task[object]) -> object:
    try:
        return task.result()
    except OutboundError:
        raise
    except asyncio.CancelledError as error:
        raise OutboundFailed("handler", "the host's outbound handler was cancelled") from error
    except Exception as error:
        _log.warning("the outbound handler failed", exc_info=error)
        raise OutboundFailed("handler", str(error) or type(error).__name__) from error


def _forget(task: asyncio.Task[object]) -> None:
    _abandoned.discard(task)
    if not task.cancelled() and task.exception() is not None:
        _log.warning("the outbound handler failed after its request was given up", exc_info=task.exception())
