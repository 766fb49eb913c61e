"""The worker's side of CompressionStream, with parameters that no platform of ours sends."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from codemode_executor.worker import compression
from codemode_executor.worker.host_calls import GuestError


@pytest.fixture(autouse=True)
def a_run() -> Iterator[None]:
    yield
    compression.reset()


def ask(operation: str, params: dict[str, Any], *buffers: bytes) -> tuple[Any, bytes]:
    return compression.OPERATIONS[f"compression.{operation}"](params, list(buffers))


def opened(*, compress: bool) -> int:
    return ask("open", {"compress": compress, "format": "deflate"})[0]


@pytest.mark.parametrize("wanted", [None, "br", 3, [], "GZIP"])
def test_other_formats_are_refused(wanted: object) -> None:
    with pytest.raises(GuestError, match="compression format"):
        ask("open", {"compress": True, "format": wanted})


@pytest.mark.parametrize("number", [None, "1", 0, -1, 10**30, 1.5, True, [1], {}])
@pytest.mark.parametrize("operation", ["step", "finish"])
def test_streams_that_are_not_there_are_refused(operation: str, number: object) -> None:
    opened(compress=True)  # its number is not asked for, not even as True
    with pytest.raises(GuestError, match="the stream has ended"):
        ask(operation, {"stream": number} if number is not True else {"stream": False}, b"x")


@pytest.mark.parametrize("number", [None, "1", 10**30, [1]])
def test_dropping_what_is_not_there_does_nothing(number: object) -> None:
    assert ask("drop", {"stream": number}) == (None, b"")


def test_input_is_bounded() -> None:
    stream = opened(compress=True)
    with pytest.raises(GuestError, match="bytes at once"):
        ask("step", {"stream": stream}, bytes(compression.MAX_INPUT + 1))


def test_output_comes_in_bounded_pieces() -> None:
    data = bytes(3 * compression.MAX_OUTPUT + 5)
    stream = opened(compress=False)
    more, output = ask("step", {"stream": stream}, zlib.compress(data))
    pieces = [output]
    while more:
        more, output = ask("step", {"stream": stream})
        pieces.append(output)
    ask("finish", {"stream": stream})
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= compression.MAX_OUTPUT


def test_output_of_exactly_one_piece() -> None:
    data = bytes(compression.MAX_OUTPUT)
    stream = opened(compress=False)
    more, output = ask("step", {"stream": stream}, zlib.compress(data))
    while more:
        more, rest = ask("step", {"stream": stream})
        output += rest
    assert output == data


def test_a_stream_that_failed_is_gone() -> None:
    stream = opened(compress=False)
    with pytest.raises(GuestError, match="Decompression failed"):
        ask("step", {"stream": stream}, b"nonsense")
    with pytest.raises(GuestError, match="the stream has ended"):
        ask("step", {"stream": stream}, b"")


def test_the_next_run_finds_none() -> None:
    stream = opened(compress=True)
    compression.reset()
    with pytest.raises(GuestError, match="the stream has ended"):
        ask("step", {"stream": stream}, b"x")
    for _ in range(compression.MAX_STREAMS):
        opened(compress=True)
    with pytest.raises(GuestError, match="at most 256 streams"):
        opened(compress=True)
