"""Messages between supervisor and zygote."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.wire import zygote as wire

NUMBERS = st.integers(min_value=-(2**31), max_value=2**53)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
TO_ZYGOTE = st.one_of(
    st.builds(
        wire.Setup,
        v8_flags=st.lists(TEXT, max_size=3),
        hardening=TEXT,
        data_headroom_bytes=NUMBERS,
        memory_bytes=NUMBERS,
        max_frame_bytes=NUMBERS,
        seccomp_action=TEXT,
    ),
    st.builds(wire.Fork, worker=NUMBERS),
    st.builds(wire.Retire),
)
FROM_ZYGOTE = st.one_of(
    st.builds(wire.Started),
    st.builds(wire.Forked, worker=NUMBERS, pid=NUMBERS),
    st.builds(wire.ForkFailed, worker=NUMBERS, message=TEXT),
    st.builds(wire.Exited, worker=NUMBERS, status=NUMBERS, stderr=TEXT),
)


@given(message=TO_ZYGOTE)
def test_round_trip_to_the_zygote(message: wire.ToZygote) -> None:
    decoded = wire.decode_to_zygote(wire.encode(message))
    assert decoded == message
    assert type(decoded) is type(message)


@given(message=FROM_ZYGOTE)
def test_round_trip_from_the_zygote(message: wire.FromZygote) -> None:
    decoded = wire.decode_from_zygote(wire.encode(message))
    assert decoded == message
    assert type(decoded) is type(message)


@given(to=TO_ZYGOTE, back=FROM_ZYGOTE)
def test_neither_side_takes_what_it_sends(to: wire.ToZygote, back: wire.FromZygote) -> None:
    with pytest.raises(msgspec.ValidationError):
        wire.decode_from_zygote(wire.encode(to))
    with pytest.raises(msgspec.ValidationError):
        wire.decode_to_zygote(wire.encode(back))


@pytest.mark.parametrize("decode", [wire.decode_to_zygote, wire.decode_from_zygote])
@given(data=st.binary(max_size=64))
def test_any_bytes_are_a_message_or_an_error_of_msgspec(decode, data: bytes) -> None:
    try:
        decode(data)
    except msgspec.MsgspecError:
        pass


@given(message=FROM_ZYGOTE, at=st.integers(min_value=0))
def test_a_truncated_message_is_refused(message: wire.FromZygote, at: int) -> None:
    data = wire.encode(message)
    with pytest.raises(msgspec.MsgspecError):
        wire.decode_from_zygote(data[: at % len(data)])
