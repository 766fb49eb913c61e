"""The frames of a client, against the library's own reading of the same bytes."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

from codemode_executor.daemon.frames import FrameReader

MAX_BYTES = 100_000


def sent(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


def by_library(stream: bytes) -> tuple[list[tuple[Opcode, bytes, bool]], str | None]:
    """The frames that the library sees, and why it stops."""
    protocol = ServerProtocol(max_size=MAX_BYTES)
    protocol.state = protocol.state.__class__.OPEN
    protocol.parser = super(ServerProtocol, protocol).parse()
    next(protocol.parser)
    protocol.receive_data(stream)
    frames = [
        (event.opcode, bytes(event.data), event.fin) for event in protocol.events_received() if isinstance(event, Frame)
    ]
    error = protocol.parser_exc
    return frames, None if error is None else type(error).__name__


def by_reader(stream: bytes, cuts: list[int]) -> tuple[list[tuple[Opcode, bytes, bool]], str | None]:
    """The same, by the reader, with the library for the rest, in pieces."""
    reader = FrameReader(MAX_BYTES)
    protocol = ServerProtocol(max_size=MAX_BYTES)
    protocol.state = protocol.state.__class__.OPEN
    protocol.parser = super(ServerProtocol, protocol).parse()
    next(protocol.parser)
    seen: list[tuple[Opcode, bytes, bool]] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        for is_text, piece in reader.feed(stream[begin:end]):
            if is_text:
                if protocol.parser_exc is None:
                    seen.append((Opcode.TEXT, bytes(piece), True))
                continue
            protocol.receive_data(piece)
            for event in protocol.events_received():
                assert isinstance(event, Frame)
                seen.append((event.opcode, bytes(event.data), event.fin))
    error = protocol.parser_exc
    return seen, None if error is None else type(error).__name__


def some_stream(chance: random.Random) -> bytes:
    stream = b""
    in_parts = False
    for _ in range(chance.randint(1, 8)):
        size = chance.choice([0, 1, 5, 125, 126, 127, 500, 65535, 65536, 70_000])
        data = bytes(chance.choices(b"abc\n", k=min(size, 50))) + b"x" * max(0, size - 50)
        kind = chance.random()
        if kind < 0.15:
            stream += sent(chance.choice([Opcode.PING, Opcode.PONG]), data[:125])
        elif kind < 0.2:
            stream += sent(Opcode.BINARY, data)
        elif in_parts:
            in_parts = chance.random() < 0.5
            stream += sent(Opcode.CONT, data[:30_000], fin=not in_parts)
        elif kind < 0.35:
            in_parts = True
            stream += sent(Opcode.TEXT, data[:30_000], fin=False)
        else:
            stream += sent(Opcode.TEXT, data)
    return stream


def some_damage(chance: random.Random, stream: bytes) -> bytes:
    at = chance.randrange(len(stream))
    match chance.randrange(4):
        case 0:
            return stream[:at] + bytes([chance.randrange(256)]) + stream[at + 1 :]
        case 1:
            return stream[:at] + sent(Opcode.TEXT, b"x" * (MAX_BYTES + 1)) + stream[at:]
        case 2:
            return stream + b"\x81\x02hi" + stream  # not masked
        case _:
            return stream[:at]


@pytest.mark.parametrize("seed", range(150))
def test_every_stream_is_read_as_the_library_reads_it(seed: int) -> None:
    chance = random.Random(seed)
    stream = some_stream(chance)
    if seed % 3 == 0:
        stream = some_damage(chance, stream)
    cuts = sorted(chance.randrange(len(stream) + 1) for _ in range(chance.choice([0, 1, 5, 40])))
    assert by_reader(stream, cuts) == by_library(stream)


def test_byte_by_byte() -> None:
    stream = (
        sent(Opcode.TEXT, b"one") + sent(Opcode.PING, b"?") + sent(Opcode.TEXT, b"y" * 300) + sent(Opcode.TEXT, b"")
    )
    assert by_reader(stream, list(range(1, len(stream)))) == by_library(stream)


def test_a_text_within_a_message_in_parts_is_refused() -> None:
    stream = sent(Opcode.TEXT, b"a", fin=False) + sent(Opcode.TEXT, b"b")
    assert by_reader(stream, []) == ([(Opcode.TEXT, b"a", False)], ProtocolError.__name__)


def test_a_length_of_the_longest_form_is_bounded_before_anything_is_kept() -> None:
    reader = FrameReader(MAX_BYTES)
    head = b"\x81\xff" + (2**62).to_bytes(8) + b"mask"
    assert list(reader.feed(head)) == [(False, head)]
    assert list(reader.feed(b"more")) == [(False, b"more")]


def test_a_frame_that_comes_in_small_pieces_takes_no_more_for_it() -> None:
    reader = FrameReader(1 << 20)
    stream = sent(Opcode.TEXT, b"x" * 300_000)
    tracemalloc.start()
    try:
        for start in range(0, 250_000, 2):
            assert list(reader.feed(stream[start : start + 2])) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 600_000
    assert list(reader.feed(stream[250_000:])) == [(True, b"x" * 300_000)]
