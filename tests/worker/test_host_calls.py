"""Calls of the platform into the worker: pieces in, pieces out, nothing taken on trust."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode_executor.worker.host_calls import MAX_BYTES, REGION, CallBroken, GuestError, HostCalls


def reverse(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    return {"params": params, "sizes": [len(buffer) for buffer in buffers]}, b"".join(reversed(buffers))


def refuse(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    raise GuestError("OperationError", "no")


def exhaust(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    raise MemoryError


def fault(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    return 1 // 0, b""


def calls() -> HostCalls:
    return HostCalls({"reverse": reverse, "refuse": refuse, "exhaust": exhaust, "fault": fault})


def frame(text: str, payload: bytes = b"") -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return struct.pack("<II", len(units) // 2, len(payload)) + units + payload


def request(name: str, *buffers: bytes, params: dict[str, Any] | None = None) -> bytes:
    sizes = [len(buffer) for buffer in buffers]
    text = json.dumps({"name": name, "sizes": sizes, "params": params or {}}, separators=(",", ":"))
    return frame(text, b"".join(buffers))


def ask(peer: HostCalls, data: bytes, size: int = REGION) -> tuple[Any, bytes]:
    """What the harness does: send in pieces, then fetch in pieces."""
    answer: bytes | None = None
    for at in range(0, len(data), size):
        assert answer is None
        answer = peer.exchange(data[at : at + size])
    assert answer is not None
    units, rest = struct.unpack_from("<II", answer)
    whole = answer
    while len(whole) < 8 + 2 * units + rest:
        piece = peer.exchange(b"")
        assert piece
        assert len(piece) <= REGION
        whole += piece
    assert len(whole) == 8 + 2 * units + rest
    return json.loads(whole[8 : 8 + 2 * units].decode("utf-16-le")), whole[8 + 2 * units :]


@given(
    st.lists(st.binary(max_size=40_000), max_size=4),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    st.integers(8, REGION),
)
@settings(max_examples=60, deadline=None)
def test_what_goes_in_pieces_arrives_whole(buffers: list[bytes], params: dict[str, Any], size: int) -> None:
    peer = calls()
    for _ in range(2):  # a call leaves nothing behind for the next one
        value, payload = ask(peer, request("reverse", *buffers, params=params), size)
        assert value == {"value": {"params": params, "sizes": [len(buffer) for buffer in buffers]}}
        assert payload == b"".join(reversed(buffers))


def test_a_refusal_is_an_answer() -> None:
    assert ask(calls(), request("refuse")) == ({"error": {"name": "OperationError", "message": "no"}}, b"")


@pytest.mark.parametrize("params", ["[]", "null", "5", '"x"', "1e999", "1" * 6000, "[" * 2500 + "]" * 2500])
def test_parameters_that_a_program_has_spoilt_are_a_refusal(params: str) -> None:
    value, _ = ask(calls(), frame(f'{{"name":"reverse","sizes":[],"params":{params}}}'))
    assert value["error"]["name"] == "TypeError"


def test_a_fault_of_an_operation_is_a_refusal(capfd: pytest.CaptureFixture[str]) -> None:
    value, _ = ask(calls(), request("fault"))
    assert value["error"] == {"name": "OperationError", "message": "the operation failed: ZeroDivisionError"}
    assert "operation fault: ZeroDivisionError" in capfd.readouterr().err
    assert ask(calls(), request("reverse", b"ab"))[1] == b"ab"


def test_no_memory_is_a_refusal() -> None:
    value, _ = ask(calls(), request("exhaust"))
    assert value["error"]["name"] == "RangeError"


@pytest.mark.parametrize("sizes", [(0, MAX_BYTES + 1), (1 << 30, 0), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_an_announcement_beyond_the_bound_is_refused_before_it_is_held(sizes: tuple[int, int]) -> None:
    peer = calls()
    value, _ = ask(peer, struct.pack("<II", *sizes) + b"x" * 100)
    assert value["error"]["name"] == "RangeError"
    assert ask(peer, request("reverse", b"ab"))[1] == b"ab"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        frame("not json"),
        frame('"a string"'),
        frame('{"name":"nothing","sizes":[],"params":{}}'),
        frame('{"name":"reverse","sizes":[3],"params":{}}', b"ab"),
        frame('{"name":"reverse","sizes":[-1,3],"params":{}}', b"ab"),
        frame('{"name":"reverse","params":{}}'),
        frame('{"name":"reverse","sizes":[]}'),
        frame('{"name":"reverse","sizes":[],"params":{}}') + b"more",
    ],
)
def test_what_the_harness_never_sends_is_not_answered(data: bytes) -> None:
    with pytest.raises(CallBroken):
        calls().exchange(data)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_answered_or_refused(data: bytes) -> None:
    peer = calls()
    try:
        answer = peer.exchange(data)
    except CallBroken:
        return
    assert answer is None or len(answer) <= REGION


def test_a_lone_surrogate_in_a_request_breaks_nothing() -> None:
    for text in ("\ud800", "\\ud800", "\\uD800", "\\udFFF"):
        value, _ = ask(calls(), frame(f'{{"name":"reverse","sizes":[],"params":{{"a":["{text}"]}}}}'))
        assert value["value"]["params"] == {"a": ["\N{REPLACEMENT CHARACTER}"]}
