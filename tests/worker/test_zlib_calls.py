"""The worker's side of node:zlib, with parameters that no platform of ours sends."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import Any

import brotli
import pytest

from codemode_executor.worker import zlib_calls
from codemode_executor.worker.host_calls import GuestError

DEFLATE, INFLATE, GZIP, GUNZIP, DEFLATERAW, INFLATERAW, UNZIP = range(1, 8)
FINISH = 4


@pytest.fixture(autouse=True)
def a_run() -> Iterator[None]:
    yield
    zlib_calls.reset()


def ask(operation: str, params: dict[str, Any], *buffers: bytes) -> tuple[Any, bytes]:
    return zlib_calls.OPERATIONS[f"zlib.{operation}"](params, list(buffers))


def opened(mode: int, *dictionary: bytes, **options: object) -> int:
    params = {"mode": mode, "windowBits": 15, "level": -1, "memLevel": 8, "strategy": 0, **options}
    return ask("open", params, *dictionary)[0]


def drained(stream: int, data: bytes, flush: int = FINISH) -> tuple[bytes, dict[str, Any]]:
    """All output of one input."""
    answer, output = ask("step", {"stream": stream, "flush": flush}, data)
    pieces = [output]
    while answer["more"]:
        assert len(output) == zlib_calls.MAX_OUTPUT
        answer, output = ask("step", {"stream": stream, "flush": flush})
        pieces.append(output)
    return b"".join(pieces), answer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", 0),
        ("mode", 8),
        ("mode", "1"),
        ("windowBits", 7),
        ("windowBits", 16),
        ("windowBits", -15),
        ("level", 10),
        ("level", -2),
        ("level", None),
        ("memLevel", 0),
        ("memLevel", 1.5),
        ("strategy", 5),
    ],
)
def test_other_options_are_refused(name: str, value: object) -> None:
    with pytest.raises(GuestError, match=name):
        opened(**{"mode": GZIP, name: value})


@pytest.mark.parametrize("number", [None, "1", 0, -1, 10**30, 1.5, [1], {}])
def test_streams_that_are_not_there_are_refused(number: object) -> None:
    opened(GZIP)
    with pytest.raises(GuestError, match="the stream has ended"):
        ask("step", {"stream": number, "flush": 0}, b"x")
    assert ask("drop", {"stream": number}) == (None, b"")


@pytest.mark.parametrize("flush", [None, -1, 7, "4", 1.5])
def test_other_flushes_are_refused(flush: object) -> None:
    stream = opened(GZIP)
    with pytest.raises(GuestError, match="flush"):
        ask("step", {"stream": stream, "flush": flush}, b"x")


def test_input_and_dictionary_are_bounded() -> None:
    stream = opened(GZIP)
    too_much = bytes(zlib_calls.MAX_INPUT + 1)
    with pytest.raises(GuestError, match="bytes at once"):
        ask("step", {"stream": stream, "flush": 0}, too_much)
    with pytest.raises(GuestError, match="dictionary"):
        opened(DEFLATE, too_much)


def test_output_comes_in_bounded_pieces() -> None:
    data = bytes(3 * zlib_calls.MAX_OUTPUT + 5)
    output, answer = drained(opened(UNZIP), zlib.compress(data))
    assert output == data
    assert answer == {"more": False, "ended": True, "unused": 0}


def test_a_brotli_bomb_comes_in_bounded_pieces() -> None:
    data = bytes(10 * zlib_calls.MAX_OUTPUT)
    stream = ask("open", {"brotli": True, "encode": False})[0]
    answer, output = ask("step", {"stream": stream, "flush": 0}, brotli.compress(data))
    size = len(output)
    while answer["more"]:
        assert len(output) <= 2 * zlib_calls.MAX_OUTPUT
        answer, output = ask("step", {"stream": stream, "flush": 0})
        size += len(output)
    assert (size, answer["ended"]) == (len(data), True)


def test_streams_of_a_run_are_bounded_and_gone_after_it() -> None:
    *_, last = [opened(GZIP) for _ in range(zlib_calls.MAX_STREAMS)]
    with pytest.raises(GuestError, match="at a time"):
        opened(GZIP)
    zlib_calls.reset()
    with pytest.raises(GuestError, match="the stream has ended"):
        ask("step", {"stream": last, "flush": 0}, b"x")
    opened(GZIP)


@pytest.mark.parametrize(
    ("between", "behind", "expected", "unused"),
    [
        (b"", b"", b"ab", 0),
        (b"", b"\0\0\0", b"ab", 3),
        (b"\0", b"", b"a", 1 + len(gzip.compress(b"b"))),
    ],
)
@pytest.mark.parametrize("mode", [GUNZIP, UNZIP])
def test_members_follow_each_other(mode: int, between: bytes, behind: bytes, expected: bytes, unused: int) -> None:
    output, answer = drained(opened(mode), gzip.compress(b"a") + between + gzip.compress(b"b") + behind)
    assert (output, answer["ended"], answer["unused"]) == (expected, True, unused)


def test_members_are_found_byte_by_byte() -> None:
    stream = opened(UNZIP)
    output = b""
    for byte in gzip.compress(b"first ") + gzip.compress(b"second"):
        output += ask("step", {"stream": stream, "flush": 0}, bytes([byte]))[1]
    assert output == b"first second"


@pytest.mark.parametrize(
    ("mode", "data", "code"),
    [
        (INFLATE, b"no", "Z_DATA_ERROR"),
        (INFLATE, zlib.compress(b"x")[:-2], "Z_BUF_ERROR"),
        (GUNZIP, gzip.compress(b"x") + b"junk", "Z_DATA_ERROR"),
        (INFLATERAW, b"\xff\xff", "Z_DATA_ERROR"),
    ],
)
def test_errors_have_the_codes_of_zlib(mode: int, data: bytes, code: str) -> None:
    with pytest.raises(GuestError) as caught:
        drained(opened(mode), data)
    assert caught.value.name == code


def test_dictionaries() -> None:
    packed, _ = drained(opened(DEFLATE, b"hello"), b"hello")
    assert drained(opened(INFLATE, b"hello"), packed)[0] == b"hello"
    for wrong in ([], [b"other"]):
        with pytest.raises(GuestError, match="dictionary") as caught:
            drained(opened(INFLATE, *wrong), packed)
        assert caught.value.name == "Z_NEED_DICT"


@pytest.mark.parametrize("mode", [DEFLATE, GZIP, DEFLATERAW])
def test_the_smallest_window(mode: int) -> None:
    packed, answer = drained(opened(mode, windowBits=8), b"x" * 1000)
    assert answer["ended"]
    assert drained(opened(mode + 1), packed)[0] == b"x" * 1000


def test_checksums_go_on() -> None:
    first = ask("crc32", {"value": 0}, b"hel")[0]
    assert ask("crc32", {"value": first}, b"lo") == (zlib.crc32(b"hello"), b"")
    with pytest.raises(GuestError, match="value"):
        ask("crc32", {"value": 2**32}, b"x")


def test_brotli_parameters_are_checked() -> None:
    params = {"brotli": True, "encode": True, "mode": 0, "quality": 11, "lgwin": 22, "lgblock": 0}
    for name, value in [("quality", 12), ("lgwin", 9), ("lgwin", 30), ("mode", 3), ("lgblock", 25), ("quality", None)]:
        with pytest.raises(GuestError, match=name):
            ask("open", {**params, name: value})
