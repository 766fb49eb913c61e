"""A session on a scripted transport, and an engine that fails as a real one never should."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from codemode_executor import Limits
from codemode_executor.daemon.accounts import Account
from codemode_executor.daemon.service import Service
from codemode_executor.daemon.session import Lost, Receiver, Session
from codemode_executor.engine import Engine
from codemode_executor.errors import WorkerCrashed
from codemode_executor.request import Request
from codemode_executor.tool_threads import ToolThreads
from codemode_executor.wire import bridge as wire
from daemon.client import Message, read


class Scripted:
    """Gives the frames that it was made with, then waits; keeps what it is sent, and how it was closed."""

    def __init__(self, *frames: str) -> None:
        self.frames = list(frames)
        self.sent: list[Message] = []
        self.closed: tuple[int, str] | None = None
        self.writable = True
        self.held = False
        self.receiver: Receiver | None = None

    def open(self, receiver: Receiver) -> None:
        self.receiver = receiver
        for frame in self.frames:
            receiver.on_frame(frame.encode())

    def say(self, frame: str) -> None:
        assert self.receiver is not None
        self.receiver.on_frame(frame.encode())

    def lose(self) -> None:
        assert self.receiver is not None
        self.receiver.on_lost(Lost("the socket has ended"))

    def write(self, frame: bytes, tail: bytes = b"") -> None:
        self.sent += read((frame + tail).decode())

    def hold(self) -> None:
        self.held = True

    def go_on(self) -> None:
        self.held = False

    async def leave(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def abort(self) -> None:
        self.closed = (0, "cut")


class Broken:
    """An engine whose ``execute`` does what a test says."""

    def __init__(self, execute: Any) -> None:
        self.threads = ToolThreads(1)
        self.execute = execute


RUN = '{"t":"run","run":1,"code":"async () => 1"}\n{}'


def session(transport: Scripted, execute: Any) -> Session:
    service = Service(cast("Engine", Broken(execute)), Limits(), 60.0, 4)
    account = Account("test", "0123456789abcdef")
    return Session(
        service,
        account,
        transport,
        number=1,
        max_message_bytes=1 << 20,
        heartbeat_s=20.0,
        send_timeout_s=5.0,
        unsent_bytes=1 << 28,
    )


async def test_an_engine_that_raises_what_it_must_not_is_an_internal_refusal(caplog: pytest.LogCaptureFixture) -> None:
    async def execute(_request: Request) -> object:
        raise ZeroDivisionError("inside")

    transport = Scripted(RUN)
    serving = asyncio.create_task(session(transport, execute).serve())
    while len(transport.sent) < 2:
        await asyncio.sleep(0.001)
    transport.lose()
    assert await serving == "the socket has ended"
    assert [(message.t, message.header.get("code")) for message in transport.sent] == [
        ("hello", None),
        ("refused", "INTERNAL"),
    ]
    assert "ZeroDivisionError" in caplog.text


async def test_an_engine_that_accepts_twice_is_an_internal_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def execute(request: Request) -> object:
        assert request.on_admitted is not None
        request.on_admitted()
        request.on_admitted()
        raise AssertionError("unreachable")

    transport = Scripted(RUN)
    serving = asyncio.create_task(session(transport, execute).serve())
    while len(transport.sent) < 3:
        await asyncio.sleep(0.001)
    transport.lose()
    await serving
    assert [message.t for message in transport.sent] == ["hello", "accepted", "fault"]
    assert transport.sent[-1]["code"] == "INTERNAL"
    assert "OutOfTurn" in caplog.text


async def test_a_run_whose_end_cannot_be_said_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """The client is not left waiting."""

    async def execute(_request: Request) -> object:
        served.put(wire.Refused(run=1, code="BUSY", message="said already"))
        raise ZeroDivisionError("inside")

    transport = Scripted(RUN)
    served = session(transport, execute)
    assert (await asyncio.wait_for(served.serve(), 5)).startswith("1011: OutOfTurn")
    assert transport.closed == (1011, "the daemon failed; its log says more")
    assert "OutOfTurn" in caplog.text


async def test_violations_close_and_slow_readers_are_cut() -> None:
    async def execute(_request: Request) -> object:
        raise AssertionError("nothing is to run")

    transport = Scripted('{"t":"ping","n":1}', '{"t":"cancel","run":1}')
    assert (await session(transport, execute).serve()).startswith("4400: ")
    assert transport.closed == (4400, "a message about run 1, which has not been sent")

    pings = "\n".join('{"t":"ping","n":1}' for _ in range(1000))
    flood = Scripted(*[pings] * 11)
    flood.writable = False
    assert (await session(flood, execute).serve()).startswith("4400: ")
    assert flood.closed is not None
    assert "wait to be read" in flood.closed[1]

    slow = Scripted()
    slow.writable = False
    service = Service(cast("Engine", Broken(execute)), Limits(), 60.0, 4)
    account = Account("test", "0123456789abcdef")
    stalled = Session(
        service,
        account,
        slow,
        number=1,
        max_message_bytes=1 << 20,
        heartbeat_s=20.0,
        send_timeout_s=0.05,
        unsent_bytes=1 << 28,
    )
    assert (await stalled.serve()).startswith("4408: ")
    assert slow.closed == (0, "cut")


async def test_a_client_is_not_read_while_what_it_sent_is_not_taken() -> None:
    async def execute(_request: Request) -> object:
        raise AssertionError("nothing is to run")

    transport = Scripted()
    served = session(transport, execute)
    serving = asyncio.create_task(served.serve())
    await asyncio.sleep(0)
    first, second = asyncio.Event(), asyncio.Event()
    for taken in (first, second):
        served.hold_until(taken.wait())
    assert transport.held
    first.set()
    await asyncio.sleep(0.01)
    assert transport.held
    second.set()
    await asyncio.sleep(0.01)
    assert not transport.held

    async def fails() -> None:
        raise ZeroDivisionError("inside")

    served.hold_until(fails())
    assert (await serving).startswith("1011: ZeroDivisionError")


async def test_acceptance_and_end_of_a_short_run_leave_together() -> None:
    frames: list[list[str]] = []

    class Counting(Scripted):
        def write(self, frame: bytes, tail: bytes = b"") -> None:
            super().write(frame, tail)
            frames.append([message.t for message in read((frame + tail).decode())])

    async def execute(request: Request) -> object:
        assert request.on_admitted is not None
        request.on_admitted()
        raise WorkerCrashed("it died")

    transport = Counting(RUN)
    serving = asyncio.create_task(session(transport, execute).serve())
    async with asyncio.timeout(5):
        while len(transport.sent) < 3:
            await asyncio.sleep(0.001)
    transport.lose()
    await serving
    assert frames == [["hello"], ["accepted", "fault"]]
