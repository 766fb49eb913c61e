"""Messages between supervisor and worker: the same after a round trip, and nothing else is one."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor.jail.report import JailReport, LayerReport, ProbeResult
from codemode_executor.wire import messages as wire

IDS = st.integers(min_value=0, max_value=2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
# Guest payloads are bytes, whatever is in them.
BYTES = st.binary(max_size=24)
MAYBE_BYTES = st.none() | BYTES
COUNTS = st.integers(min_value=0, max_value=2**53)
SECONDS = st.floats(min_value=0, max_value=1e7)

RUNS = st.builds(
    wire.Run,
    run=IDS,
    code=TEXT,
    providers=st.lists(st.builds(wire.ProviderSpec, name=TEXT, has_then=st.booleans()), max_size=3),
    env=BYTES,
    limits=st.builds(
        wire.RunLimits,
        timeout_s=SECONDS,
        argument_bytes=COUNTS,
        result_bytes=COUNTS,
        log_bytes=COUNTS,
        log_lines=COUNTS,
        tool_calls=COUNTS,
        tool_calls_in_flight=COUNTS,
    ),
)
TO_WORKER = st.one_of(
    RUNS,
    st.builds(wire.ToolDone, run=IDS, call=IDS, value=MAYBE_BYTES),
    st.builds(wire.ToolFailed, run=IDS, call=IDS, message=TEXT, extra=BYTES),
    st.builds(wire.Cancel, run=IDS),
)
TO_SUPERVISOR = st.one_of(
    st.builds(
        wire.Ready,
        engine=TEXT,
        v8=TEXT,
        v8_sandbox=st.booleans(),
        jail=st.builds(
            JailReport,
            hardening=st.sampled_from(["required", "used", "off"]),
            layers=st.lists(
                st.builds(
                    LayerReport,
                    name=TEXT,
                    state=st.sampled_from(["on", "off", "failed"]),
                    detail=TEXT,
                ),
                max_size=2,
            ).map(tuple),
        ),
        probes=st.lists(st.builds(ProbeResult, name=TEXT, blocked=st.booleans(), detail=TEXT), max_size=2),
    ),
    st.builds(wire.Accepted, run=IDS),
    st.builds(wire.StartFailed, message=TEXT, hardening=st.booleans()),
    st.builds(
        wire.Calls,
        run=IDS,
        calls=st.lists(st.builds(wire.Call, call=IDS, provider=TEXT, tool=TEXT, args=BYTES), max_size=3),
    ),
    st.builds(wire.Logs, run=IDS, lines=st.lists(st.tuples(COUNTS, TEXT), max_size=3)),
    st.builds(
        wire.Outcome,
        run=IDS,
        kind=COUNTS,
        form=COUNTS,
        value=BYTES,
        name=TEXT,
        message=TEXT,
        stack=TEXT,
        cpu_s=SECONDS,
    ),
    st.builds(wire.Idle, run=IDS, retire=st.booleans()),
)
DECODERS = pytest.mark.parametrize("decode", [wire.decode_to_worker, wire.decode_to_supervisor])


@given(message=TO_WORKER)
def test_round_trip_to_the_worker(message: wire.ToWorker) -> None:
    decoded = wire.decode_to_worker(wire.encode(message))
    assert decoded == message
    assert type(decoded) is type(message)


@given(message=TO_SUPERVISOR)
def test_round_trip_to_the_supervisor(message: wire.ToSupervisor) -> None:
    decoded = wire.decode_to_supervisor(wire.encode(message))
    assert decoded == message
    assert type(decoded) is type(message)


@given(message=TO_WORKER)
def test_the_supervisor_takes_nothing_that_is_meant_for_a_worker(message: wire.ToWorker) -> None:
    with pytest.raises(msgspec.ValidationError):
        wire.decode_to_supervisor(wire.encode(message))


@given(message=TO_SUPERVISOR)
def test_a_worker_takes_nothing_that_is_meant_for_the_supervisor(
    message: wire.ToSupervisor,
) -> None:
    with pytest.raises(msgspec.ValidationError):
        wire.decode_to_worker(wire.encode(message))


@DECODERS
@given(data=st.binary(max_size=64))
def test_any_bytes_are_a_message_or_an_error_of_msgspec(decode, data: bytes) -> None:
    try:
        decode(data)
    except msgspec.MsgspecError:
        pass


# Damaged messages get further into a decoder than noise does.
@given(message=TO_SUPERVISOR, at=st.integers(min_value=0), byte=st.integers(0, 255))
def test_a_damaged_message_is_a_message_or_an_error_of_msgspec(message: wire.ToSupervisor, at: int, byte: int) -> None:
    data = bytearray(wire.encode(message))
    data[at % len(data)] = byte
    try:
        wire.decode_to_supervisor(bytes(data))
    except msgspec.MsgspecError:
        pass


@given(message=TO_SUPERVISOR, at=st.integers(min_value=0))
def test_a_truncated_message_is_refused(message: wire.ToSupervisor, at: int) -> None:
    data = wire.encode(message)
    with pytest.raises(msgspec.MsgspecError):
        wire.decode_to_supervisor(data[: at % len(data)])


@DECODERS
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc0",
        msgspec.msgpack.encode([]),
        msgspec.msgpack.encode(["unknown", 1]),
        msgspec.msgpack.encode({"type": "run"}),
        msgspec.msgpack.encode(["logs"]),
        msgspec.msgpack.encode(["logs", 1, [[0, b"\xff"]]]),
        b"\x93\xa4logs\x01\x91\x92\x00\xa1\xff",  # text that is not UTF-8
        b"\x91" * 5000,
        b"\xdf\xff\xff\xff\xff",
    ],
)
def test_refuses_what_is_no_message(decode, data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode(data)


def test_outcomes_are_distinct_and_levels_are_pinned() -> None:
    kinds = [value for name, value in vars(wire).items() if name.startswith("OUTCOME_")]
    assert sorted(kinds) == list(range(9))
    # Indices that the harness writes: see LEVELS in executor/guest/src/harness/console.js.
    assert wire.LEVELS == (
        "log",
        "warn",
        "error",
        "info",
        "debug",
        "trace",
        "dir",
        "table",
        "notice",
        "uncaught",
        "assert",
    )
