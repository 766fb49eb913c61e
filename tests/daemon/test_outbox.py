"""What leaves: in its order, joined where it waits, and no longer than the client may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from codemode_executor.daemon.accounts import Account
from codemode_executor.daemon.outbox import FULL_BYTES, Outbox, SlowReader
from codemode_executor.wire.bridge import JOIN_BYTES, MAX_MESSAGES


class Wire:
    """Takes frames, as slowly as it is told."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.writable = True

    def write(self, frame: bytes, tail: bytes = b"") -> None:
        self.frames.append(frame + tail)


def account() -> Account:
    return Account("test", "0123456789abcdef")


def outbox(
    wire: Wire,
    timeout_s: float = 5,
    *,
    of: Account | None = None,
    on_room: Callable[[], None] = lambda: None,
) -> tuple[Outbox, list[SlowReader]]:
    told: list[SlowReader] = []
    return Outbox(wire, timeout_s, told.append, of or account(), 2 * FULL_BYTES, on_room), told


async def test_what_waits_together_leaves_together() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    for message in (b"1", b"2", b"3"):
        box.put(message)
    assert wire.frames == []
    await asyncio.sleep(0)
    assert wire.frames == [b"1\n2\n3"]


async def test_frames_are_bounded_and_long_messages_leave_alone() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    long = b"x" * JOIN_BYTES
    for message in (b"1", long, b"2", *([b"m"] * (MAX_MESSAGES + 1))):
        box.put(message)
    box.put(b"head\n", long)
    box.put(b"3")
    await asyncio.sleep(0)
    assert wire.frames[:2] == [b"1", long]
    assert [frame.count(b"\n") + 1 for frame in wire.frames[2:4]] == [MAX_MESSAGES, 2]
    assert b"\n".join(wire.frames[:4]) == b"\n".join([b"1", long, b"2", *([b"m"] * (MAX_MESSAGES + 1))])
    assert wire.frames[4:] == [b"head\n" + long, b"3"]


async def test_it_leaves_as_it_comes() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    for number in range(5):
        box.put(b"%d" % number)
        await asyncio.sleep(0)
    assert wire.frames == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_message_that_may_wait_leaves_with_the_next_one() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    box.put_lazily(b"1")
    await asyncio.sleep(0)
    assert wire.frames == []
    box.put(b"2")
    await asyncio.sleep(0)
    assert wire.frames == [b"1\n2"]


async def test_a_message_that_may_wait_does_not_wait_long() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    box.put_lazily(b"1")
    async with asyncio.timeout(5):
        while not wire.frames:
            await asyncio.sleep(0.001)
    assert wire.frames == [b"1"]


async def test_nothing_more_is_written_to_a_client_that_does_not_read() -> None:
    wire = Wire()
    box, told = outbox(wire, 0.05)
    wire.writable = False
    box.put(b"12345")
    await asyncio.sleep(0)
    box.put(b"6")
    await asyncio.sleep(0)
    assert wire.frames == []
    assert box.backlog == 2
    wire.writable = True
    box.on_writable()
    assert wire.frames == [b"12345\n6"]
    await asyncio.sleep(0.1)
    assert told == []


async def test_a_client_that_does_not_take_a_frame() -> None:
    class Full(Wire):
        def write(self, frame: bytes, tail: bytes = b"") -> None:
            super().write(frame, tail)
            self.writable = False

    box, told = outbox(Full(), 0.05)
    box.put(b"12345")
    async with asyncio.timeout(5):
        while not told:
            await asyncio.sleep(0.01)
    assert str(told[0]) == "a frame of 5 bytes was not taken within 0.05 s (send_timeout_s)"


async def test_it_says_when_everything_has_left_and_nothing_after_its_end() -> None:
    wire = Wire()
    box, told = outbox(wire, 0.01)
    empty: list[bool] = []
    box.put(b"1")
    box.when_empty(lambda: empty.append(True))
    assert empty == []
    await asyncio.sleep(0)
    assert (wire.frames, empty) == ([b"1"], [True])
    wire.writable = False
    box.put(b"2")
    await asyncio.sleep(0)
    box.stop()
    wire.writable = True
    box.put(b"3")
    await asyncio.sleep(0.05)
    assert (wire.frames, told) == ([b"1"], [])


async def test_what_waits_is_counted_and_it_says_when_it_is_full_and_when_not_any_more() -> None:
    wire = Wire()
    whose = account()
    room: list[int] = []
    box, _ = outbox(wire, of=whose, on_room=lambda: room.append(box.waiting_bytes))
    wire.writable = False
    half = b"x" * (FULL_BYTES // 2)
    box.put(b"head", half)
    assert not box.is_full()
    box.put(half)
    assert box.is_full()
    assert whose.unsent == box.waiting_bytes > FULL_BYTES
    await asyncio.sleep(0)
    assert room == []
    wire.writable = True
    box.on_writable()
    assert (len(room), box.waiting_bytes, whose.unsent) == (1, 0, 0)
    box.put(b"1")
    await asyncio.sleep(0)
    assert len(room) == 1, "it is told once each time"


async def test_messages_without_a_text_are_counted_too() -> None:
    wire = Wire()
    box, _ = outbox(wire)
    wire.writable = False
    for _ in range(FULL_BYTES // 200 + 1):
        box.put(b"", held=True)
    assert box.is_full()
    box.stop()


async def test_clients_that_together_have_much_waiting_may_have_less_each() -> None:
    whose = account()
    wires = [Wire() for _ in range(4)]
    room: list[str] = []
    boxes = [outbox(wire, of=whose, on_room=lambda: room.append("room"))[0] for wire in wires]
    for wire, box in zip(wires, boxes, strict=True):
        wire.writable = False
        box.put(b"x" * (FULL_BYTES - 1000), held=True)
    assert all(box.is_full() for box in boxes)
    one, other, third, last = boxes
    last.put(b"", held=True)
    third.stop()
    other.stop()
    assert whose.unsent == one.waiting_bytes + last.waiting_bytes
    assert not one.is_full()
    one.flush()
    assert room == ["room"], "it was full, and is not, though nothing of its own has left"
    last.stop()
    one.stop()
    assert whose.unsent == 0
