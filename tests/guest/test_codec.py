"""The codec of the guest against Python's, in V8: what one side writes is what the other reads."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py_mini_racer import JSEvalException, MiniRacer

from codemode_executor.values import decode_args, encode_value
from codemode_executor.values.tool_codec import MAX_SAFE_INTEGER, TAG

GUEST = Path(__file__).parents[2] / "executor/guest"
BUNDLE = """
require("esbuild").build({
  stdin: {
    contents: 'export * from "./codec.js"; import { takeLate } from "./primordials.js"; takeLate()',
    resolveDir: "src/harness",
  },
  bundle: true, write: false, format: "iife",
  globalName: "codec", target: "es2024", charset: "ascii",
}).then(({ outputFiles }) => process.stdout.write(outputFiles[0].text))
"""
HELPERS = """
// What a value is, in JSON: types that JSON has no word for are spelled out.
const look = (value) => {
  if (value === undefined) return { is: 'undefined' }
  if (typeof value === 'number' && !Number.isFinite(value)) return { is: String(value) }
  if (Object.is(value, -0)) return { is: '-0' }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(look)
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (value instanceof ArrayBuffer) return { is: kind, bytes: [...new Uint8Array(value)] }
  if (ArrayBuffer.isView(value)) return { is: kind, bytes: [...value] }
  // By entries: a member may have any name, `__proto__` included.
  return { is: kind, members: Object.keys(value).map((key) => [key, look(value[key])]) }
}
const taken = (text) => codec.parseMessage(text)[0]
const seen = (text) => JSON.stringify(look(taken(text).value))
const back = (text) => codec.encodeArguments([taken(text).value])
// The value of `text` is JSON itself, for members that no literal can hold.
const parsed = (text) => codec.encodeArguments([JSON.parse(text)])
"""


@dataclass(frozen=True)
class Codec:
    context: MiniRacer

    def run(self, function: str, text: str) -> str:
        # Escaped, so that the text arrives as it is, lone surrogates included.
        answer = self.context.eval(f"{function}({json.dumps(text)})")
        assert isinstance(answer, str)
        return answer

    def seen(self, value: bytes | str) -> object:
        """What the program has of a tool's result."""
        return json.loads(self.run("seen", message(value)))

    def back(self, value: bytes | str) -> list[object]:
        """What Python has of a tool's result that the program passes on as it is."""
        return decode_args(self.run("back", message(value)))

    def sent(self, expression: str) -> str:
        """What leaves the isolate for a call with these arguments."""
        answer = self.context.eval(f"codec.encodeArguments([{expression}])")
        assert isinstance(answer, str)
        return answer


def message(value: bytes | str) -> str:
    text = value.decode() if isinstance(value, bytes) else value
    return f'[{{"kind":0,"id":0,"value":{text}}}]'


def tagged(data: bytes, kind: str = "Uint8Array") -> dict[str, str]:
    return {TAG: kind, "data": base64.b64encode(data).decode()}


@pytest.fixture(scope="module")
def codec() -> Iterator[Codec]:
    bundle = subprocess.run(
        ["node", "-e", BUNDLE], cwd=GUEST, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    with MiniRacer() as context:
        context.eval(bundle)
        context.eval(HELPERS)
        yield Codec(context)


def written_exactly(number: float) -> bool:
    """Whether JavaScript's text for it, read by Python, is the same number.

    Between 2^53 and 1e21 JavaScript writes as many digits as identify the double, then zeros;
    Python reads them as an integer that is exact.
    """
    return not 2**53 < abs(number) < 1e21


TEXT = st.text(st.characters(codec=None), max_size=8)
KEYS = st.sampled_from([TAG, "data", "value", "__proto__", "toJSON", "then", "0", "length"]) | TEXT
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False).filter(written_exactly)
    | TEXT
    | st.sampled_from(["escaped", "Uint8Array", "AAAA"])
    | st.binary(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
IN_V8 = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@IN_V8
@given(value=VALUES)
def test_a_result_passed_on_as_an_argument_is_the_same(codec: Codec, value: object) -> None:
    assert codec.back(encode_value(value)) == [value]


def looked_at(value: object) -> object:
    """What ``look`` says of the JavaScript value that ``value`` must become."""
    if isinstance(value, bytes):
        return {"is": "Uint8Array", "bytes": list(value)}
    if isinstance(value, list):
        return [looked_at(item) for item in value]
    if isinstance(value, dict):
        members = [[key, looked_at(item)] for key, item in value.items()]
        return {"is": "Object", "members": members}
    if isinstance(value, float) and value == 0 and str(value)[0] == "-":
        return {"is": "-0"}
    return value


def in_order(value: object) -> object:
    """JavaScript puts names that are whole numbers first."""
    if isinstance(value, list):
        return [in_order(item) for item in value]
    if isinstance(value, dict):
        inner = {key: in_order(item) for key, item in value.items()}
        if "members" in inner and "is" in inner:
            members: list[list[object]] = inner["members"]  # pyright: ignore[reportAssignmentType]
            inner["members"] = sorted(members, key=lambda member: str(member[0]))
        return inner
    return value


@IN_V8
@given(value=VALUES)
def test_the_program_sees_the_value_that_the_tool_returned(codec: Codec, value: object) -> None:
    assert in_order(codec.seen(encode_value(value))) == in_order(looked_at(value))


@IN_V8
@given(value=VALUES)
def test_json_that_the_program_has_arrives_as_it_is(codec: Codec, value: object) -> None:
    # Bytes aside, a guest's data is JSON of any shape, tags of ours included.
    plain = json.loads(json.dumps(value, default=lambda data: list(data)))
    assert decode_args(codec.run("parsed", json.dumps(plain))) == [plain]


# What a program hands to a tool, and what the tool has.
@pytest.mark.parametrize(
    ("expression", "args"),
    [
        ("", []),
        ("1, 'a', null, true", [1, "a", None, True]),
        ("1.5, 1e21, 2 ** 53, -1", [1.5, 1e21, 2**53, -1]),
        ("-0", [0]),
        ("NaN, Infinity, -Infinity", [None, None, None]),
        ("undefined, () => 1, Symbol('x')", [None, None, None]),
        ("{ a: undefined, b: () => 1, c: 1 }", [{"c": 1}]),
        ("[undefined, , 1]", [[None, None, 1]]),
        ("'\\ud800', '\\u{1f600}', '\\0'", ["\ud800", "😀", "\0"]),
        ("{ '\\udc00': 1 }", [{"\udc00": 1}]),
        ("new Date(0)", ["1970-01-01T00:00:00.000Z"]),
        ("new Map([[1, 2]]), new Set([1]), /x/", [{}, {}, {}]),
        ("Object('boxed'), Object(1), Object(true)", ["boxed", 1, True]),
        ("{ toJSON() { return [1] } }", [[1]]),
        ("JSON.parse('{\"__proto__\": 1}')", [{"__proto__": 1}]),
        ("Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } })", [{"own": 1}]),
        ("new Proxy([1, 2], {}), new Proxy({ a: 1 }, {})", [[1, 2], {"a": 1}]),
        # bytes
        ("new Uint8Array([0, 1, 255])", [b"\0\1\xff"]),
        ("new Uint8Array(0), new ArrayBuffer(0)", [b"", b""]),
        ("new Uint8Array([1, 2, 3, 4]).subarray(1, 3)", [b"\2\3"]),
        ("new Uint8Array([1, 2]).buffer", [b"\1\2"]),
        ("new Uint16Array([1, 256])", [b"\1\0\0\1"]),
        ("new Float64Array([1])", [b"\0\0\0\0\0\0\xf0\x3f"]),
        ("new BigInt64Array([-1n])", [b"\xff" * 8]),
        ("new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)", [b"\2\3"]),
        ("{ deep: [{ er: new Uint8Array([7]) }] }", [{"deep": [{"er": b"\7"}]}]),
        ("new Uint8Array(new SharedArrayBuffer(2))", [b"\0\0"]),
        ("new Uint8Array(new ArrayBuffer(2, { maxByteLength: 8 }))", [b"\0\0"]),
        # node's Buffer is a Uint8Array with a toJSON of its own
        (
            "Object.assign(new Uint8Array([1, 2]), { toJSON() { return { type: 'Buffer' } } })",
            [b"\1\2"],
        ),
        (
            "Object.assign(new Uint8Array([1]), { toJSON() { return 'text' } })",
            [b"\1"],
        ),
        ("Object.assign(new Uint8Array([1]), { a: 1 })", [b"\1"]),
    ],
)
def test_what_a_program_passes(codec: Codec, expression: str, args: list[object]) -> None:
    found = decode_args(codec.sent(expression))
    assert found == args
    assert [type(item) for item in found] == [type(item) for item in args]


@pytest.mark.parametrize(
    "expression",
    [
        f"{{ {TAG}: 'Uint8Array', data: 'AAAA' }}",
        f"{{ {TAG}: 'Uint8Array', data: 'no base64' }}",
        f"{{ {TAG}: 'ArrayBuffer' }}",
        f"{{ {TAG}: 'escaped', value: 1 }}",
        f"{{ {TAG}: 'escaped', value: {{ {TAG}: 'escaped', value: {{ {TAG}: 1, data: '' }} }} }}",
        f"[{{ a: {{ {TAG}: null }} }}]",
        f"{{ {TAG}: {{ {TAG}: 'Uint8Array', data: 'AAAA' }}, data: 'AAAA' }}",
        f"{{ value: {{ {TAG}: 'x', data: 'y' }} }}",
        "{ data: 'AAAA' }",
    ],
)
def test_data_that_looks_like_a_tag_survives_both_ways(codec: Codec, expression: str) -> None:
    plain = json.loads(str(codec.context.eval(f"JSON.stringify([{expression}])")))
    assert decode_args(codec.sent(expression)) == plain
    assert codec.back(encode_value(plain[0])) == plain


def test_a_tag_next_to_bytes_is_told_apart(codec: Codec) -> None:
    args = decode_args(codec.sent(f"{{ {TAG}: new Uint8Array([1]), data: 'AAAA' }}"))
    assert args == [{TAG: b"\1", "data": "AAAA"}]
    assert codec.back(encode_value(args[0])) == args


def test_an_array_with_a_tag_as_property_is_an_array(codec: Codec) -> None:
    assert decode_args(codec.sent(f"Object.assign([1, 2], {{ {TAG}: 'x' }})")) == [[1, 2]]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("1n", "TypeError"),
        ("{ a: [1n] }", "TypeError"),
        ("(() => { const a = []; a.push(a); return a })()", "TypeError"),
        ("{ get a() { throw new RangeError('from a getter') } }", "RangeError"),
        ("{ toJSON() { throw new RangeError('from toJSON') } }", "RangeError"),
        ("(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()", "TypeError"),
        ("(() => { const b = new ArrayBuffer(8); b.transfer(); return b })()", "TypeError"),
        ("(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a })()", "RangeError"),
    ],
)
def test_what_cannot_be_passed_throws(codec: Codec, expression: str, name: str) -> None:
    with pytest.raises(JSEvalException, match=name):
        codec.sent(expression)


# What a dispatch coroutine may write itself: the tags are upstream's.
@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (tagged(b"\1\2"), {"is": "Uint8Array", "bytes": [1, 2]}),
        (tagged(b"\1\2", "ArrayBuffer"), {"is": "ArrayBuffer", "bytes": [1, 2]}),
        (tagged(b"\1\2", "ArrayBufferView"), {"is": "Uint8Array", "bytes": [1, 2]}),
        (tagged(b""), {"is": "Uint8Array", "bytes": []}),
        ([tagged(b"\1")], [{"is": "Uint8Array", "bytes": [1]}]),
        ({"a": tagged(b"\1")}, {"is": "Object", "members": [["a", {"is": "Uint8Array", "bytes": [1]}]]}),
        ({TAG: 1, "data": 2}, {"is": "Object", "members": [[TAG, 1], ["data", 2]]}),
        (
            {TAG: "escaped", "value": tagged(b"\1")},
            {"is": "Object", "members": [[TAG, "Uint8Array"], ["data", "AQ=="]]},
        ),
    ],
)
def test_tags_of_a_dispatching_host(codec: Codec, value: object, seen: object) -> None:
    assert codec.seen(json.dumps(value)) == seen


def test_large_integers_of_a_program_are_the_same_double(codec: Codec) -> None:
    (value,) = decode_args(codec.sent("2 ** 60 + 2 ** 20"))
    assert isinstance(value, (int, float))
    assert float(value) == 2.0**60 + 2.0**20


def test_numbers_beyond_json_are_what_javascript_makes_of_them(codec: Codec) -> None:
    assert codec.seen("[1e999, -0.0, 12345678901234567890]") == [
        {"is": "Infinity"},
        {"is": "-0"},
        12345678901234567000,
    ]


# Both sides read the same of what only a dispatching host writes.
@pytest.mark.parametrize(
    "value",
    [
        {TAG: "escaped", "value": None},
        {TAG: "escaped", "value": 1},
        {TAG: "escaped", "value": "text"},
        {TAG: "escaped", "value": True},
        {TAG: "escaped", "value": [tagged(b"\1")]},
        {TAG: "escaped", "value": {"a": tagged(b"\1")}},
        {TAG: "escaped", "value": {}},
        {TAG: "escaped"},
        {TAG: "unknown", "data": "AQI="},
        {TAG: 3, "data": "AQI="},
        {TAG: None, "data": "AQI="},
        {TAG: "escaped", "data": "AQI="},
    ],
    ids=json.dumps,
)
def test_odd_tags_are_read_alike(codec: Codec, value: object) -> None:
    text = json.dumps(value)
    assert in_order(codec.seen(text)) == in_order(looked_at(decode_args(f"[{text}]")[0]))


def test_bytes_in_the_details_of_a_failure_are_decoded(codec: Codec) -> None:
    item = {"kind": 1, "id": 0, "message": "m", "details": {"raw": tagged(b"\1")}}
    answer = codec.context.eval(f"JSON.stringify(look(taken({json.dumps(json.dumps([item]))}).details))")
    assert json.loads(str(answer)) == {
        "is": "Object",
        "members": [["raw", {"is": "Uint8Array", "bytes": [1]}]],
    }


def test_a_large_binary_crosses_both_ways(codec: Codec) -> None:
    data = bytes(range(256)) * 4096
    assert codec.back(encode_value({"data": data})) == [{"data": data}]
