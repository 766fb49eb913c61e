"""Cutting a byte stream into frames, whatever the pieces it arrives in."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.wire.framing import (
    PREFIX_BYTES,
    FrameDecoder,
    FrameTooLarge,
    encode_frame,
)

PAYLOADS = st.lists(st.binary(max_size=40), max_size=8)


def pieces_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in zip(edges, edges[1:], strict=False)]


def test_a_frame_is_its_length_and_its_payload() -> None:
    assert encode_frame(b"") == b"\0\0\0\0"
    assert encode_frame(b"abc") == b"\3\0\0\0abc"
    assert len(encode_frame(b"x" * 70_000)) == PREFIX_BYTES + 70_000


@given(payloads=PAYLOADS, cuts=st.lists(st.integers(min_value=0), max_size=12))
def test_any_split_gives_the_same_frames(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(encode_frame, payloads))
    decoder = FrameDecoder(40)
    frames: list[bytes] = []
    for piece in pieces_of(stream, cuts):
        frames += decoder.feed(piece)
    assert frames == payloads
    assert decoder.pending_bytes == 0


@given(payloads=PAYLOADS)
def test_dripped_frames_come_with_their_last_byte(payloads: list[bytes]) -> None:
    decoder = FrameDecoder(40)
    frames: list[bytes] = []
    for payload in payloads:
        stream = encode_frame(payload)
        for count in range(1, len(stream)):
            assert list(decoder.feed(stream[count - 1 : count])) == []
            assert decoder.pending_bytes == count
        frames += decoder.feed(stream[-1:])
        assert frames[-1] == payload
        assert decoder.pending_bytes == 0
    assert frames == payloads


@given(payloads=PAYLOADS, rest=st.binary(max_size=20))
def test_what_is_incomplete_is_held(payloads: list[bytes], rest: bytes) -> None:
    incomplete = encode_frame(rest + b"!")[:-1]
    decoder = FrameDecoder(40)
    assert list(decoder.feed(b"".join(map(encode_frame, payloads)) + incomplete)) == payloads
    assert decoder.pending_bytes == len(incomplete)
    assert list(decoder.feed(b"!")) == [rest + b"!"]
    assert decoder.pending_bytes == 0


def test_frames_are_copies() -> None:
    source = bytearray(encode_frame(b"abc"))
    (frame,) = FrameDecoder(3).feed(memoryview(source))
    source[:] = b"-" * len(source)
    assert frame == b"abc"
    assert type(frame) is bytes


def test_a_reader_that_stops_in_between_loses_nothing() -> None:
    decoder = FrameDecoder(8)
    frames = decoder.feed(encode_frame(b"one") + encode_frame(b"two"))
    assert next(iter(frames)) == b"one"
    frames.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert list(decoder.feed(b"")) == [b"two"]


def test_the_largest_frame_is_accepted() -> None:
    assert list(FrameDecoder(3).feed(encode_frame(b"abc"))) == [b"abc"]
    assert list(FrameDecoder(0).feed(encode_frame(b""))) == [b""]


@pytest.mark.parametrize("announced", [4, 1024, 2**31, 2**32 - 1])
def test_a_longer_announcement_is_refused_by_its_prefix_alone(announced: int) -> None:
    decoder = FrameDecoder(3)
    with pytest.raises(FrameTooLarge) as caught:
        list(decoder.feed(struct.pack("<I", announced)))
    assert str(caught.value) == f"a frame of {announced} bytes was announced; the limit is 3"


def test_frames_before_a_giant_announcement_are_given() -> None:
    decoder = FrameDecoder(3)
    frames = iter(decoder.feed(encode_frame(b"abc") + struct.pack("<I", 4)))
    assert next(frames) == b"abc"
    with pytest.raises(FrameTooLarge):
        next(frames)


def test_nothing_of_a_refused_frame_is_kept() -> None:
    decoder = FrameDecoder(3)
    with pytest.raises(FrameTooLarge):
        list(decoder.feed(struct.pack("<I", 1 << 20) + b"x" * (1 << 20)))
    assert decoder.pending_bytes <= PREFIX_BYTES


def test_a_refused_stream_stays_refused() -> None:
    decoder = FrameDecoder(3)
    for data in (struct.pack("<I", 4), b"abcd", encode_frame(b"abc")):
        with pytest.raises(FrameTooLarge):
            list(decoder.feed(data))


@given(stream=st.binary(max_size=64), cuts=st.lists(st.integers(min_value=0), max_size=6))
def test_any_bytes_are_frames_or_refused(stream: bytes, cuts: list[int]) -> None:
    decoder = FrameDecoder(16)
    try:
        for piece in pieces_of(stream, cuts):
            assert all(len(frame) <= 16 for frame in decoder.feed(piece))
            assert decoder.pending_bytes < PREFIX_BYTES + 16
    except FrameTooLarge:
        pass
