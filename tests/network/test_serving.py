"""Whatever a host's handler does, there is a response or an error, in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode_executor.network import (
    OutboundError,
    OutboundFailed,
    OutboundRefused,
    OutboundRequest,
    OutboundResponse,
    OutboundTimeout,
    serve,
)

REQUEST = OutboundRequest(url="http://a/")


async def outcome(handler: Any, **options: Any) -> OutboundResponse:
    return await serve(handler, REQUEST, **{"max_response_bytes": 1000, **options})


async def test_what_a_handler_answers() -> None:
    async def handler(request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(body=request.url.encode())

    assert (await outcome(handler)).body == b"http://a/"


async def test_a_plain_function_answers_as_well() -> None:
    assert (await outcome(lambda request: OutboundResponse(status=404))).status == 404


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("no such customer"), "no such customer"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "was cancelled"),
        (TimeoutError(), "TimeoutError"),
    ],
)
async def test_a_handler_that_raises(error: BaseException, says: str) -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        raise error

    with pytest.raises(OutboundFailed, match=says) as caught:
        await outcome(handler)
    assert caught.value.part == "handler"


async def test_what_a_handler_refuses_is_refused() -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        raise OutboundRefused("origin", "not there")

    with pytest.raises(OutboundRefused, match="not there"):
        await outcome(handler)


async def test_a_handler_that_raises_before_it_awaits() -> None:
    def handler(_request: OutboundRequest) -> Any:
        raise ValueError("at once")

    with pytest.raises(OutboundFailed, match="at once"):
        await outcome(handler)


@pytest.mark.parametrize("answer", [None, b"body", {"status": 200}, "text"])
async def test_a_handler_that_answers_something_else(answer: object) -> None:
    async def handler(_request: OutboundRequest) -> Any:
        return answer

    with pytest.raises(OutboundFailed, match=f"must return an OutboundResponse, not {type(answer).__name__}"):
        await outcome(handler)


async def test_a_handler_that_builds_no_response() -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(status=7)

    with pytest.raises(OutboundFailed, match="status must be a whole number from 200 to 599, not 7"):
        await outcome(handler)


async def test_a_response_that_is_too_large() -> None:
    with pytest.raises(OutboundRefused, match="1001 bytes long; the limit is 1000"):
        await outcome(lambda request: OutboundResponse(body=b"x" * 1001))


async def test_a_handler_that_never_returns_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    with pytest.raises(OutboundTimeout, match=r"within 0\.05 seconds"):
        await outcome(handler, timeout_s=0.05)
    async with asyncio.timeout(5):
        await cancelled.wait()


@pytest.mark.parametrize("by", ["time", "cancellation"])
async def test_a_handler_that_heeds_no_cancellation_is_left_behind(by: str) -> None:
    release = asyncio.Event()
    started = asyncio.Event()
    ended = asyncio.Event()

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        while not release.is_set():
            started.set()
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        raise ValueError("nobody hears this")

    async with asyncio.timeout(5):
        if by == "time":
            with pytest.raises(OutboundTimeout):
                await outcome(handler, timeout_s=0.05)
        else:
            task = asyncio.create_task(outcome(handler))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        release.set()
        await ended.wait()
        await asyncio.sleep(0)


async def test_every_error_is_one_kind() -> None:
    assert issubclass(OutboundTimeout, OutboundError)
    assert issubclass(OutboundFailed, OutboundError)
