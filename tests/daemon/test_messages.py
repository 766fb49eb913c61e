"""Frames: what is written is read again, and what is no frame is refused at its first wrong message."""

from __future__ import annotations

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor import Limits, Usage
from codemode_executor.wire import bridge as wire

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_NUMBER = st.integers(1, 2**53 - 1)
_PAYLOAD = st.one_of(st.just(b""), st.builds(lambda text: json.dumps(text).encode(), _TEXT))
_TO_DAEMON = st.one_of(
    st.tuples(st.builds(wire.Answer, run=_NUMBER, call=_NUMBER), _PAYLOAD),
    st.tuples(st.builds(wire.Run, run=_NUMBER, code=_TEXT, retain=st.booleans(), parent=_TEXT), _PAYLOAD),
    st.tuples(st.builds(wire.Invoke, run=_NUMBER, invocation=_NUMBER, handle=st.integers(0, 9)), _PAYLOAD),
    st.tuples(st.builds(wire.AnswerError, run=_NUMBER, call=_NUMBER, message=_TEXT), st.just(b"")),
    st.tuples(st.builds(wire.Cancel, run=_NUMBER), st.just(b"")),
    st.tuples(st.builds(wire.Release, run=_NUMBER, handles=st.lists(st.integers(0, 9))), st.just(b"")),
    st.tuples(st.builds(wire.Ping, n=st.integers(-5, 5)), st.just(b"")),
)


@given(st.lists(_TO_DAEMON, min_size=1, max_size=8))
def test_what_is_written_is_read(messages: list[tuple[wire.ToDaemon, bytes]]) -> None:
    frame = wire.join_messages(wire.encode_message(message, payload) for message, payload in messages)
    assert list(wire.decode_frame(frame)) == messages


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data: bytes) -> None:
    try:
        messages = list(wire.decode_frame(data))
    except wire.BadFrame:
        return
    assert messages


@given(st.lists(_TO_DAEMON, min_size=1, max_size=3), st.integers(0, 500), st.binary(min_size=1, max_size=5))
def test_a_damaged_frame_is_a_frame_or_refused(
    messages: list[tuple[wire.ToDaemon, bytes]], position: int, noise: bytes
) -> None:
    frame = wire.join_messages(wire.encode_message(message, payload) for message, payload in messages)
    position %= len(frame)
    try:
        list(wire.decode_frame(frame[:position] + noise + frame[position + len(noise) :]))
    except wire.BadFrame as error:
        assert str(error)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"{}",
        b'{"t":"nope"}',
        b'{"t":7}',
        b'{"t":"hello"}',
        b'{"t":"ping"}',
        b'{"t":"ping","n":"1"}',
        b'{"t":"ping","n":1}\n',
        b'{"t":"ping","n":1}\n\n',
        b'{"t":"cancel","run":0}',
        b'{"t":"cancel","run":-1}',
        b'{"t":"cancel","run":1.5}',
        b'{"t":"cancel","run":true}',
        b'{"t":"cancel","run":9007199254740992}',
        b'{"t":"cancel","run":1}{"t":"cancel","run":1}',
        b'{"t":"answer","run":1,"call":1}',
        b'{"t":"run","run":1,"code":"x"}',
        b'{"t":"nope","code":"\\ud800"}',
        b'{"t":"ping","n":1,"x":"\\ud800}',
        b'{"t":"ping","n":1,"x":"\\ud80"}',
        b'{"t":"run","run":1,"code":"x","outbound":"daemon"}\n{}',
        b'{"t":"run","run":1,"code":"x","providers":[{"tools":[]}]}\n{}',
        b'{"t":"invoke","run":1,"invocation":1,"handle":1,"timeout_s":0}\n1[]',
        b'{"t":"invoke","run":1,"invocation":1,"handle":-1}\n1[]',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"t":"ping","n":' + b"[" * 100_000,
    ],
)
def test_what_is_no_frame(frame: bytes) -> None:
    with pytest.raises(wire.BadFrame) as raised:
        list(wire.decode_frame(frame))
    assert len(str(raised.value)) < 400


def test_messages_before_a_wrong_one_are_given() -> None:
    messages = wire.decode_frame(b'{"t":"ping","n":1}\nnonsense')
    assert next(messages) == (wire.Ping(n=1), b"")
    with pytest.raises(wire.BadFrame):
        next(messages)


def test_a_frame_holds_a_bounded_number_of_messages() -> None:
    ping = wire.encode_message(wire.Ping(n=1))
    assert len(list(wire.decode_frame(wire.join_messages([ping] * wire.MAX_MESSAGES)))) == wire.MAX_MESSAGES
    with pytest.raises(wire.BadFrame, match="1000"):
        list(wire.decode_frame(wire.join_messages([ping] * (wire.MAX_MESSAGES + 1))))


def test_lone_surrogates_in_headers_are_replaced() -> None:
    frame = b'{"t":"run","run":1,"code":"a\\ud800b\\ude00\\ud83d\\ude00\xc3\xa9\\\\ud800"}\n{"k":"\\ud800"}'
    assert list(wire.decode_frame(frame)) == [
        (wire.Run(run=1, code="a\ufffdb\ufffd\U0001f600\u00e9\\ud800"), b'{"k":"\\ud800"}')
    ]
    failed = b'{"t":"answer_error","run":1,"call":1,"message":"\\udfff","details":["\\ud800"]}'
    ((message, _),) = wire.decode_frame(failed)
    assert isinstance(message, wire.AnswerError)
    assert message.message == "\ufffd"
    assert json.loads(bytes(message.details)) == ["\ufffd"]  # pyright: ignore[reportArgumentType]


def test_unknown_members_are_ignored() -> None:
    assert list(wire.decode_frame(b'{"t":"ping","n":1,"later":{"a":[1]}}')) == [(wire.Ping(n=1), b"")]


def test_a_line_feed_in_a_payload_becomes_a_blank() -> None:
    call = wire.Call(run=1, call=1, kind="tool", provider="a", tool="b")
    assert wire.encode_message(call, b'[1,\n"x"]').split(b"\n")[1:] == [b'[1, "x"]']


def test_every_message_has_a_tag_of_its_own_and_can_be_written() -> None:
    kinds = [*wire.ToDaemon.__args__, *wire.ToClient.__args__]
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)
    hello = wire.Hello(
        version="1", protocol=1, limits=Limits(), max_message_bytes=1, heartbeat_s=1.0, retained_idle_s=1.0
    )
    assert json.loads(wire.encode_message(hello))["limits"]["timeout_s"] == 60.0
    failed = json.loads(wire.encode_message(wire.Failed(run=1, message="m", usage=Usage())))
    assert failed == {"t": "error", "run": 1, "message": "m", "usage": msgspec.to_builtins(Usage())}


_MANY = 500_000


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b'{"t":"release","run":1,"handles":[' + b"1," * 2 * _MANY + b"1]}", "handles of a message are"),
        (b'{"t":"run","run":1,"code":"","functions":[' + b'"abcdef",' * _MANY + b'""]}\n{}', "functions of a message"),
        (b'{"t":"run","run":1,"code":"","services":[' + b'"abcdef",' * _MANY + b'""]}\n{}', "services of a message"),
        (b'{"t":"run","run":1,"code":"","limits":{' + b'"a":1,' * _MANY + b'"b":1}}\n{}', "limits of a message are"),
        (b'{"t":"run","run":1,"code":"","providers":[' + b'{"name":""},' * _MANY + b"1]}\n{}", "strings"),
        (
            b'{"t":"run","run":1,"code":"","providers":[{"name":"x","tools":[' + b'"\\\\",' * _MANY + b'""]}]}\n{}',
            "strings",
        ),
        (b'{"t":"run","run":1,"code":"","modules":[' + b'{"name":"","source":""},' * _MANY + b"1]}\n{}", "strings"),
    ],
    ids=["handles", "functions", "services", "limits", "providers", "tools", "modules"],
)
@pytest.mark.parametrize("broken", [False, True])
def test_nothing_is_made_of_a_header_with_many_small_parts(header: bytes, reason: str, broken: bool) -> None:
    """Reading them would take seconds of the event loop, and ten times their memory. Nor if it needs a repair."""
    if broken:
        header = header.replace(b'{"t"', b'{"x":"\\ud800","t"', 1)
    tracemalloc.start()
    try:
        with pytest.raises(wire.BadFrame, match=reason):
            list(wire.decode_frame(header))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(header)


def test_a_name_that_is_given_twice_hides_nothing() -> None:
    twice = b'{"t":"run","run":1,"code":"","functions":[' + b'"",' * _MANY + b'""],"functions":["f"]}\n{}'
    tracemalloc.start()
    try:
        ((message, _),) = wire.decode_frame(twice)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert message == wire.Run(run=1, code="", functions=["f"])
    assert peak < 3 * len(twice)


def test_long_headers_are_read_as_short_ones() -> None:
    run = wire.Run(
        run=3,
        code="x" * 300_000,
        providers=[wire.ProviderDeclaration(name="t", tools=['"quoted\\"'], prelude='"' * 200_000)],
        functions=["f"],
        services=["s"],
        modules=[wire.ModuleDeclaration(name="m.js", source='"' * 200_000, kind="js")],
        limits={"timeout_s": 1.5},
        outbound="client",
        retain=True,
        parent="p",
        normalize=True,
    )
    assert list(wire.decode_frame(wire.encode_message(run, b"{}"))) == [(run, b"{}")]


@given(st.lists(st.sampled_from(["\\", "\ud83d", "\ude00", "\ud800", "\udfff", '"', "u", "d83d", "\x00"]), max_size=9))
def test_escapes_of_lone_surrogates_are_replaced_and_nothing_else(parts: list[str]) -> None:
    text = "".join(parts)
    written = json.dumps(text).encode()
    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert json.loads(wire.without_lone_surrogates(written)) == expected
    if text.isascii():
        assert wire.without_lone_surrogates(written) is written
