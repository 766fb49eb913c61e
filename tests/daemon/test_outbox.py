"""What leaves: in its order, joined where it waits, and no longer than the client may take."""

from __future__ import annotations

import asyncio

import pytest

from codemode_executor.daemon.outbox import Outbox, SlowReader
from codemode_executor.wire.bridge import JOIN_BYTES, MAX_MESSAGES


class Wire:
    """Takes frames, as slowly as it is told."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, frame: bytes) -> None:
        await self.open.wait()
        self.frames.append(frame)


async def test_what_waits_together_leaves_together() -> None:
    wire = Wire()
    outbox = Outbox(wire.send, 5)
    for message in (b"1", b"2", b"3"):
        outbox.put(message)
    outbox.close()
    await outbox.run()
    assert wire.frames == [b"1\n2\n3"]


async def test_frames_are_bounded_and_long_messages_leave_alone() -> None:
    wire = Wire()
    outbox = Outbox(wire.send, 5)
    long = b"x" * JOIN_BYTES
    for message in (b"1", long, b"2", *([b"m"] * (MAX_MESSAGES + 1))):
        outbox.put(message)
    outbox.close()
    await outbox.run()
    assert wire.frames[:2] == [b"1", long]
    assert [frame.count(b"\n") + 1 for frame in wire.frames[2:]] == [MAX_MESSAGES, 2]
    assert b"\n".join(wire.frames) == b"\n".join([b"1", long, b"2", *([b"m"] * (MAX_MESSAGES + 1))])


async def test_it_leaves_as_it_comes() -> None:
    wire = Wire()
    outbox = Outbox(wire.send, 5)
    running = asyncio.create_task(outbox.run())
    for number in range(5):
        outbox.put(b"%d" % number)
        await asyncio.sleep(0.001)
    outbox.close()
    await running
    assert wire.frames == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_client_that_does_not_take_a_frame() -> None:
    wire = Wire()
    wire.open.clear()
    outbox = Outbox(wire.send, 0.05)
    outbox.put(b"12345")
    with pytest.raises(SlowReader, match=r"5 bytes .* 0\.05 s \(send_timeout_s\)"):
        await outbox.run()
