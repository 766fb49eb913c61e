"""Everything that reads bytes of the other side, at both ends: any bytes are read, or refused by its own error.

Seeded: every run tries the same inputs. What was found by longer runs is an example here, or a case of the corpus.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from adversarial.texts import texts_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codemode_executor.jail import JailReport
from codemode_executor.tool_failure import ToolFailure, read_answer
from codemode_executor.values import ValueRefused, decode_args, decode_result
from codemode_executor.values.clone_codec import encode_clone
from codemode_executor.wire import bridge, messages
from codemode_executor.wire import zygote as zygote_wire
from codemode_executor.worker import channel
from codemode_executor.worker.host_calls import CallBroken, HostCalls
from codemode_executor.worker.platform import Platform
from codemode_executor.worker.program import Reading, Script, decode_reading, second_request

SEEDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

WORDS = ["__proto__", "constructor", "__codemode_binary_v1__", "data", "value", "r", "root", "table", "\ud800", "", "a"]
NUMBERS = [0, -1, 1, 2**31, 2**53, 2**64, -(2**63), 1e308, 0.5]
SCALARS = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(WORDS) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=20,
)
#: Numbers that JSON can say and nobody can hold.
ODD_NUMBERS = ["1e999", "-0", "1" * 5000, "1e-999", "NaN", "0123", "-", "1.", "Infinity"]


def text_of(value: object) -> bytes:
    return json.dumps(value).encode()


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """A valid text with some of its bytes changed, cut out, doubled, or an odd number in the place of one."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 4)):
            case 0:
                data[at : at + 1] = draw(st.binary(max_size=3))
            case 1:
                del data[at : at + draw(st.integers(1, 8))]
            case 2:
                data[at:at] = data[at : at + 20]
            case 3:
                data[at:at] = draw(st.sampled_from(ODD_NUMBERS)).encode()
            case _:
                data[at:at] = b"[" * draw(st.sampled_from([1, 300, 100_000]))
    return bytes(data)


# --- results: the host's end ------------------------------------------------------------------------------------------

TAGS = ["o", "a", "s", "m", "e", "d", "x", "E", "X", "b", "v", "w", "zz"]
REFERENCE = st.fixed_dictionaries({"r": st.integers(-1, 12) | st.sampled_from([2**60, 0.5, None])})
CHILD = (
    SCALARS
    | REFERENCE
    | st.sampled_from([["u"], ["n", "NaN"], ["n", "-0"], ["n", "x"], ["i", "12"], ["i", "x"], ["h", 0], ["h", -1]])
    | st.sampled_from([["i", str(n * (2**61 - 1))] for n in range(20)])
)
ENTRY = st.tuples(st.sampled_from(TAGS), st.lists(CHILD, max_size=6)).map(lambda pair: [pair[0], *pair[1]])
BUFFER = st.sampled_from(
    [["b", "AAAA" * 20], ["b", "%"], ["v", "Uint8Array", 0, 0, 60], ["v", "Float64Array", 0, 8, 6]]
)
RICH = st.fixed_dictionaries({"root": CHILD, "table": st.lists(ENTRY | BUFFER, max_size=12)})


def size_of(value: object, seen: set[int]) -> int:
    """Elements and characters that were made of a result, each object once."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple | dict):
        if id(value) in seen:
            return 0
        seen.add(id(value))
        parts: list[Any] = [*value, *value.values()] if isinstance(value, dict) else list(value)
        return 1 + sum(size_of(part, seen) for part in parts)
    return 1


@SEEDED
@example(form=2, text=text_of({"root": {"r": 0}, "table": [["a", *[{"r": 1}] * 5], ["s", 1_000_000]]}))
@given(
    form=st.sampled_from([0, 1, 2, 2, 2, 2, 7, -1]),
    text=damaged(RICH.map(text_of)) | RICH.map(text_of) | JSON.map(text_of),
)
def test_results_are_read_or_refused(form: int, text: bytes) -> None:
    for handle in (None, lambda number: ("handle", number)):
        try:
            value = decode_result(form, text, handle)
        except ValueRefused:
            continue
        texts_of(value)
        assert size_of(value, set()) <= 1_100_000


@SEEDED
@given(damaged(st.lists(JSON, max_size=4).map(text_of)) | st.binary(max_size=60))
def test_arguments_are_read_or_refused(text: bytes) -> None:
    try:
        assert isinstance(decode_args(text), list)
    except ValueRefused:
        pass


@SEEDED
@given(damaged(st.fixed_dictionaries({}, optional={"result": JSON, "error": JSON, "code": JSON}).map(text_of)))
def test_answers_of_a_dispatch_are_read_or_are_a_failure(text: bytes) -> None:
    try:
        read_answer(text.decode("utf-8", "surrogateescape"))
    except (ToolFailure, ValueRefused):
        pass


@SEEDED
@given(JSON | st.binary(max_size=9) | st.sets(st.integers()) | st.dictionaries(st.integers(), st.binary(max_size=3)))
def test_what_enters_by_clone_comes_back(value: object) -> None:
    form, text = encode_clone(value)
    decode_result(form, text)


# --- messages: both ends ----------------------------------------------------------------------------------------------

TO_SUPERVISOR = [
    messages.Ready("e", "v", True, JailReport("required", ()), []),
    messages.StartFailed("m", True),
    messages.Calls(1, [messages.Call(1, "p", "t", b"[]")]),
    messages.Logs(1, [(0, "x")]),
    messages.Outcome(1, 0, 1, b"1", "", "", "", 0.0),
    messages.Invoked(1, 1, 1, b"1"),
    messages.Idle(1, False),
]
TO_WORKER = [
    messages.Run(1, "c", [], b"{}", messages.RunLimits(1, 1, 1, 1, 1, 1, 1)),
    messages.ToolDone(1, 1, b"1"),
    messages.ToolFailed(1, 1, "m", b"{}"),
    messages.Invoke(1, 1, 1, b"1[]", 1.0),
]
FROM_ZYGOTE = [zygote_wire.Forked(1, 2), zygote_wire.Exited(1, 2, "x"), zygote_wire.ForkFailed(1, "x")]


@pytest.mark.parametrize(
    ("decode", "samples"),
    [
        pytest.param(messages.decode_to_supervisor, TO_SUPERVISOR, id="supervisor"),
        pytest.param(messages.decode_to_worker, TO_WORKER, id="worker"),
        pytest.param(zygote_wire.decode_from_zygote, FROM_ZYGOTE, id="from the zygote"),
        pytest.param(zygote_wire.decode_to_zygote, [zygote_wire.Fork(1), zygote_wire.Retire()], id="to the zygote"),
    ],
)
def test_messages_are_read_or_refused(decode: Callable[[bytes], object], samples: list[msgspec.Struct]) -> None:
    @SEEDED
    @given(damaged(st.sampled_from(samples).map(msgspec.msgpack.encode)))
    def try_it(data: bytes) -> None:
        try:
            decode(data)
        except (msgspec.MsgspecError, RecursionError):
            pass

    try_it()


@SEEDED
@given(
    damaged(
        st.sampled_from(
            [
                bridge.encode_message(bridge.Cancel(run=1)),
                bridge.encode_message(bridge.Answer(run=1, call=1), b'{"result":1}'),
                bridge.join_messages(
                    [bridge.encode_message(bridge.Ping(n=1)), bridge.encode_message(bridge.Cancel(run=1))]
                ),
            ]
        )
    )
    | st.binary(max_size=80)
)
def test_frames_of_a_client_are_read_or_refused(frame: bytes) -> None:
    try:
        for message, payload in bridge.decode_frame(frame):
            assert isinstance(payload, bytes)
            assert isinstance(message, msgspec.Struct)
    except bridge.BadFrame:
        pass


# --- the isolate's end of a worker ------------------------------------------------------------------------------------

HEADS = st.lists(st.integers(-2, 14) | st.sampled_from([2**31, 2**53, 2**63, -(2**63)]), max_size=12)


@SEEDED
@given(HEADS, st.text(alphabet="a\u00e4\u20ac\U0001f600\ud800\udc00\n\0", max_size=20))
def test_messages_of_an_isolate_are_items_or_refused(head: list[int], body: str) -> None:
    text = f"{json.dumps(head)}\n{body}"
    for parse, data in (
        (channel.parse_units, text.encode("utf-16-le", "surrogatepass")),
        (channel.parse_utf8, text.encode("utf-8", "surrogatepass")),
    ):
        try:
            items = parse(data)
        except channel.ChannelError:
            continue
        msgspec.msgpack.encode([str(item) for item in items])  # no text in it that could not be sent


@pytest.fixture(scope="module")
def platform() -> Platform:
    return Platform()


PARAMS = st.dictionaries(
    st.sampled_from(
        "host label format compress stream handle hash name length iterations key curve kind jwk mode on count flush "
        "tag padding salt n r p type bits private scheme dictionary level value".split()
    ),
    SCALARS
    | st.sampled_from(["sha256", "SHA-1", "gzip", "deflate", "ec", "rsa", "P-256", "aes-128-cbc", "pem", "der"]),
    max_size=6,
)


def frame(text: bytes, payload: bytes) -> bytes:
    units = text.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
    return struct.pack("<II", len(units) // 2, len(payload)) + units + payload


def exchange(calls: HostCalls, request: bytes) -> bytes | None:
    answer: bytes | None = None
    for at in range(0, len(request), 16384):
        answer = calls.exchange(request[at : at + 16384])
    return answer


def test_every_operation_answers_whatever_it_is_asked(platform: Platform) -> None:
    """Nothing in its parameters, which are the program's, makes the worker give up the isolate."""

    @SEEDED
    @given(st.sampled_from(sorted(platform.operations)), PARAMS, st.lists(st.binary(max_size=40), max_size=4))
    def try_it(name: str, params: dict[str, Any], buffers: list[bytes]) -> None:
        sizes = ",".join(str(len(buffer)) for buffer in buffers)
        text = b'{"name":"%s","sizes":[%s],"params":%s}' % (name.encode(), sizes.encode(), text_of(params))
        answer = exchange(HostCalls(platform.operations), frame(text, b"".join(buffers)))
        assert answer is not None
        platform.reset()

    try_it()


@pytest.mark.parametrize(
    "params", [*ODD_NUMBERS[:4], "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, '"\\ud800"']
)
def test_parameters_that_json_cannot_hold_are_a_refusal(platform: Platform, params: str) -> None:
    """A program's ``toJSON`` can put them there."""
    text = b'{"name":"random","sizes":[],"params":%s}' % params.encode()
    answer = exchange(HostCalls(platform.operations), frame(text, b""))
    assert answer is not None
    assert b"e\0r\0r\0o\0r" in answer


def test_calls_that_are_none_are_refused(platform: Platform) -> None:
    @SEEDED
    @given(
        damaged(st.just(frame(b'{"name":"random","sizes":[3],"params":{"count":1}}', b"abc"))) | st.binary(max_size=40)
    )
    def try_it(request: bytes) -> None:
        try:
            exchange(HostCalls(platform.operations), request)
        except CallBroken:
            pass

    try_it()


# --- the reader's and the transpiler's answers, and V8's texts --------------------------------------------------------

READING = text_of({"ok": True, "open": "(", "body": "x", "close": ")", "chunks": [], "modules": []})


@SEEDED
@given(damaged(st.just(READING)))
def test_a_readers_answer_is_a_reading_or_refused(answer: bytes) -> None:
    try:
        decode_reading(answer)
    except (msgspec.MsgspecError, RecursionError):
        pass


@SEEDED
@given(damaged(st.lists(JSON, max_size=2).map(text_of)))
def test_a_transpilers_answer_is_a_request_or_refused(answer: bytes) -> None:
    try:
        json.loads(second_request(b'{"code":"x","modules":[]}', [], answer))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass


@SEEDED
@given(
    st.lists(
        st.sampled_from(["    at ", "f (", "program.js", ":", "1", ")", "\n", "async ", "x" * 300, " ", "Proxy."]),
        max_size=60,
    )
)
def test_stacks_are_frames_of_the_program(parts: list[str]) -> None:
    script = Script(Reading(True, body="x"), [])
    stack = script.stack("".join(parts))
    assert len(stack) < 50 * 500
    name, message = script.syntax_error("".join(parts))
    assert name
    assert len(message) < 1000
