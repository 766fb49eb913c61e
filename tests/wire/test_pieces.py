"""Long messages in pieces: over a real socket pair, and as the parts that they are written in."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.wire import messages as wire
from codemode_executor.wire.framing import FrameDecoder, encode_frame, frame_prefix
from codemode_executor.wire.pieces import PIECE_BYTES, Pieces, PieceWriter


class Near(asyncio.Protocol):
    """The end that writes."""

    writer: PieceWriter
    transport: asyncio.Transport
    most = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.writer = PieceWriter(transport)

    def pause_writing(self) -> None:
        self.most = max(self.most, self.transport.get_write_buffer_size())
        self.writer.pause()

    def resume_writing(self) -> None:
        self.writer.resume()


async def read_all(far: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    pieces: list[bytes] = []
    left = size
    while left:
        data = await loop.sock_recv(far, min(left, 1 << 20))
        assert data, "the socket has ended early"
        pieces.append(data)
        left -= len(data)
    return b"".join(pieces)


async def test_all_of_it_arrives_in_order_and_the_transport_never_holds_more_than_a_piece() -> None:
    ours, far = socket.socketpair()
    far.setblocking(False)
    near = Near()
    await asyncio.get_running_loop().create_unix_connection(lambda: near, sock=ours)
    messages = [b"head", bytes(range(256)) * 40_000, b"", b"between", b"x" * (PIECE_BYTES + 1), b"end"]
    for message in messages:
        near.writer.write(message)
    assert near.writer.has_more
    assert not near.writer.is_idle
    expected = b"".join(messages)
    assert await asyncio.wait_for(read_all(far, len(expected)), 20) == expected
    await asyncio.sleep(0)
    assert not near.writer.has_more
    assert near.writer.is_idle
    assert near.most <= PIECE_BYTES + 64 * 1024
    near.transport.close()
    await asyncio.sleep(0)
    far.close()


async def test_what_waits_is_forgotten_with_its_connection() -> None:
    ours, far = socket.socketpair()
    near = Near()
    await asyncio.get_running_loop().create_unix_connection(lambda: near, sock=ours)
    near.writer.write(b"x" * 10_000_000)
    assert near.writer.has_more
    near.writer.clear()
    assert not near.writer.has_more
    near.transport.abort()
    await asyncio.sleep(0)
    far.close()


@pytest.mark.parametrize("size", [None, 0, 1, 65_535, 65_536, 70_000])
def test_the_parts_of_an_answer_are_the_answer(size: int | None) -> None:
    answer = wire.ToolDone(3, 4, None if size is None else b"x" * size)
    head, tail = wire.encode_parts(answer)
    assert wire.decode_to_worker(head + tail) == answer
    assert (tail == b"") is (size is None or size < 65_536)


@pytest.mark.parametrize("step", [1000, 65_536, 262_144, 1 << 30])
def test_long_frames_in_any_pieces(step: int) -> None:
    payloads = [b"a" * 10, b"b" * 300_000, b"c" * 65_536, b"", b"d" * 70_000, b"e"]
    stream = b"".join(map(encode_frame, payloads))
    decoder = FrameDecoder(300_000)
    frames: list[bytes] = []
    for start in range(0, len(stream), step):
        frames += decoder.feed(memoryview(stream)[start : start + step])
    assert frames == payloads
    assert decoder.pending_bytes == 0


def test_of_an_incomplete_long_frame_no_more_is_held_than_came() -> None:
    decoder = FrameDecoder(1 << 30)
    assert list(decoder.feed(frame_prefix(1 << 30) + b"x" * 100)) == []
    assert list(decoder.feed(b"x" * 100)) == []
    assert decoder.pending_bytes == 200


def test_small_pieces_of_a_long_message_take_no_more_than_they_hold() -> None:
    pieces = Pieces()
    tracemalloc.start()
    try:
        for number in range(200_000):
            pieces.add(number.to_bytes(2, "big", signed=False) if number < 65_536 else b"xy")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(pieces) == 400_000
    assert held < 800_000
    whole = pieces.take()
    assert (len(whole), whole[:6], len(pieces)) == (400_000, b"\x00\x00\x00\x01\x00\x02", 0)


@given(st.lists(st.one_of(st.binary(max_size=5), st.integers(4000, 70_000).map(lambda size: b"x" * size)), max_size=30))
def test_pieces_of_all_sizes_are_joined_in_their_order(parts: list[bytes]) -> None:
    pieces = Pieces()
    for part in parts:
        pieces.add(part)
    assert len(pieces) == sum(map(len, parts))
    assert pieces.take() == b"".join(parts)
    assert pieces.take() == b""


def test_a_worker_that_sends_a_long_frame_in_small_pieces_takes_no_more_for_it() -> None:
    decoder = FrameDecoder(1 << 30)
    assert list(decoder.feed(frame_prefix(1 << 30))) == []
    tracemalloc.start()
    try:
        for _ in range(100_000):
            assert list(decoder.feed(b"xy")) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert decoder.pending_bytes == 200_000
    assert held < 500_000
