"""Compressed bodies: right, cut, broken, and made to burst."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.network import OutboundFailed, OutboundRefused
from codemode_executor.network.decoding import ACCEPTED, PIECE, Decoding


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
}
CODINGS = [*ENCODERS.items(), ("deflate", raw_deflate)]


def ignore(_size: int) -> None:
    return None


def decode(codings: list[str], data: bytes, step: int = 1 << 30, count: Callable[[int], None] = ignore) -> bytes:
    decoding = Decoding(codings, count)
    pieces = [piece for start in range(0, len(data), step) for piece in decoding.feed(data[start : start + step])]
    decoding.finish()
    assert all(len(piece) <= 2 * PIECE for piece in pieces)
    return b"".join(pieces)


def test_all_that_is_offered_is_known() -> None:
    assert ACCEPTED == "gzip, deflate, br"
    assert all(Decoding([name], ignore) for name in ACCEPTED.split(", "))


@pytest.mark.parametrize(("name", "encode"), CODINGS)
@given(data=st.binary(max_size=2_000), repeat=st.sampled_from([1, 50]), step=st.sampled_from([1, 7, 1_000_000]))
def test_any_body_in_any_pieces(
    name: str, encode: Callable[[bytes], bytes], data: bytes, repeat: int, step: int
) -> None:
    assert decode([name], encode(data * repeat), step) == data * repeat


@pytest.mark.parametrize(("name", "encode"), CODINGS)
def test_a_body_longer_than_a_piece(name: str, encode: Callable[[bytes], bytes]) -> None:
    data = bytes(range(256)) * 4096
    for step in (100, 16384, 1 << 30):
        assert decode([name.upper()], encode(data), step) == data


def test_codings_one_upon_the_other() -> None:
    data = b"x" * 300_000
    counted: list[int] = []
    middle = gzip.compress(data)
    assert decode(["gzip, br"], brotli.compress(middle), count=counted.append) == data
    assert sum(counted) == len(middle) + len(data)
    assert decode(["gzip", "identity", "deflate"], zlib.compress(gzip.compress(data)), 10) == data


def test_members_of_gzip_and_what_follows_them() -> None:
    assert decode(["gzip"], gzip.compress(b"one") + gzip.compress(b"two") + b"\0\0rest", 5) == b"onetwo"


def test_a_body_of_an_unknown_coding_stays_as_it_is() -> None:
    decoding = Decoding(["zstd, gzip"], ignore)
    assert not decoding
    assert list(decoding.feed(b"whatever")) == [b"whatever"]
    decoding.finish()


def test_no_body_is_no_broken_body() -> None:
    for name in ENCODERS:
        assert decode([name], b"") == b""


@pytest.mark.parametrize(("name", "encode"), CODINGS)
def test_a_body_that_is_cut_short(name: str, encode: Callable[[bytes], bytes]) -> None:
    data = encode(bytes(range(256)) * 100)
    for length in (1, 3, len(data) // 2, len(data) - 1):
        with pytest.raises(OutboundFailed, match="cut short"):
            decode([name], data[:length])


@pytest.mark.parametrize("name", list(ENCODERS))
def test_a_body_that_is_something_else(name: str) -> None:
    with pytest.raises(OutboundFailed, match=f"not valid {name}") as caught:
        decode([name], b"<!doctype html>" * 10)
    assert caught.value.part == "decoding"


def test_too_many_codings() -> None:
    with pytest.raises(OutboundFailed, match="encoded 50 times; the limit is 3"):
        Decoding([", ".join(["gzip"] * 50)], ignore)


@pytest.mark.parametrize(("name", "encode"), CODINGS)
def test_a_bomb_is_counted_piece_by_piece(name: str, encode: Callable[[bytes], bytes]) -> None:
    counted: list[int] = []

    def stop(size: int) -> None:
        counted.append(size)
        if sum(counted) > 1 << 20:
            raise OutboundRefused("response_bytes", "too much")

    with pytest.raises(OutboundRefused):
        decode([name], encode(bytes(16 << 20)), count=stop)
    assert sum(counted) <= (1 << 20) + 2 * PIECE


def test_what_an_inner_coding_gives_is_counted_too() -> None:
    # Large in the middle and empty at the end: 64 MiB of empty members, compressed.
    empty = gzip.compress(b"")
    middle = empty * ((64 << 20) // len(empty))
    counted: list[int] = []

    def stop(size: int) -> None:
        counted.append(size)
        if sum(counted) > 1 << 20:
            raise OutboundRefused("response_bytes", "too much")

    with pytest.raises(OutboundRefused):
        decode(["gzip", "gzip"], gzip.compress(middle, 1), count=stop)
