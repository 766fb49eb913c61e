"""Rich results: what the harness writes for values that are not JSON, read as Python values."""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import math
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode_executor import IsolateExecutor
from codemode_executor.values import ValueRefused, decode_result
from codemode_executor.values.result_codec import RICH, JSError, JSRegExp

ROWS: list[tuple[str, object]] = [
    ("({ a: undefined, b: null })", {"a": None, "b": None}),
    ("[1, , undefined]", [1, None, None]),
    ("[NaN, Infinity, -Infinity]", [pytest.approx(math.nan, nan_ok=True), math.inf, -math.inf]),
    ("[10n, -(2n ** 70n)]", [10, -(2**70)]),
    ("new Map([['a', 1], [2, { b: new Map() }]])", {"a": 1, 2: {"b": {}}}),
    ("new Map([[{ k: 1 }, 1]])", [({"k": 1}, 1)]),
    ("new Map([[1, 'one'], [true, 'yes']])", [(1, "one"), (True, "yes")]),
    ("new Set([1, 'x', { y: 2 }])", [1, "x", {"y": 2}]),
    ("new Date(1e12)", datetime.datetime(2001, 9, 9, 1, 46, 40, tzinfo=datetime.UTC)),
    ("[new Date(NaN), new Date(8.64e15)]", [None, None]),
    ("/a(b)/gi", JSRegExp("a(b)", "gi")),
    ("new TypeError('bad', { cause: new Error('why') })", JSError("TypeError", "bad", "", JSError("Error", "why", ""))),
    ("Object.assign(new Error('m'), { name: 'Own' })", JSError("Error", "m", "")),
    ("new Uint8Array([0, 255])", b"\x00\xff"),
    ("new Uint8Array([1, 2, 3, 4]).buffer", b"\x01\x02\x03\x04"),
    ("new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)", b"\x02\x03"),
    ("new Uint8Array([1, 2, 3, 4]).subarray(1, 3)", b"\x02\x03"),
    ("[new Float64Array([1.5]), new Int16Array([-2, 3])]", [[1.5], [-2, 3]]),
    ("new BigUint64Array([2n ** 64n - 1n])", [2**64 - 1]),
    ("[Object(5), Object('s'), Object(false), Object(7n)]", [5, "s", False, 7]),
    ("({ ['__proto__']: new Map(), constructor: undefined })", {"__proto__": {}, "constructor": None}),
    ("[undefined, 'a\\ud800\\u0000']", [None, "a\ud800\x00"]),
]


@pytest.mark.parametrize(("expression", "expected"), ROWS, ids=[row[0] for row in ROWS])
async def test_each_row_of_the_table(rich_executor: IsolateExecutor, expression: str, expected: object) -> None:
    outcome = await rich_executor.execute(f"async () => ({expression})")
    assert outcome.error is None
    assert outcome.result == expected


@pytest.fixture(scope="module")
def rich_executor() -> Any:
    """Made anew on each test's loop: an executor serves one loop at a time and follows to the next."""
    return IsolateExecutor(min_workers=1, max_workers=1)


async def test_minus_zero(rich_executor: IsolateExecutor) -> None:
    (zero,) = (await rich_executor.execute("async () => [-0]")).result
    assert math.copysign(1, zero) == -1


async def test_cycles_and_shared_references_stay(rich_executor: IsolateExecutor) -> None:
    code = "async () => { const a = { list: [] }; a.self = a; a.list.push(a); const s = {}; return { a, s, t: s } }"
    result: Any = (await rich_executor.execute(code)).result
    assert result["a"]["self"] is result["a"]
    assert result["a"]["list"][0] is result["a"]
    assert result["s"] is result["t"]


async def test_objects_that_are_reached_many_times_do_not_multiply(rich_executor: IsolateExecutor) -> None:
    code = "async () => { let d = { end: 1 }; for (let i = 0; i < 60; i++) d = { l: d, r: d }; return d }"
    outcome = await rich_executor.execute(code)
    assert outcome.error is None
    assert outcome.usage.bytes_out < 10_000


async def test_a_cycle_that_python_has_no_value_for_is_an_error(rich_executor: IsolateExecutor) -> None:
    outcome = await rich_executor.execute("async () => { const m = new Map(); m.set(m, 1); return m }")
    assert outcome.result is None or isinstance(outcome.result, (dict, list))
    assert outcome.error is None or "cannot be decoded" in outcome.error


HOSTILE = [
    "[]",
    "{}",
    '{"root": 1}',
    '{"root": {"r": 0}, "table": []}',
    '{"root": {"r": -1}, "table": [["o"]]}',
    '{"root": {"r": true}, "table": [["o"], ["o"]]}',
    '{"root": {"r": 0}, "table": [["?"]]}',
    '{"root": {"r": 0}, "table": [[]]}',
    '{"root": {"r": 0}, "table": [["o", "a"]]}',
    '{"root": {"r": 0}, "table": [["o", 1, 1]]}',
    '{"root": {"r": 0}, "table": [["s", 1e9]]}',
    '{"root": {"r": 0}, "table": [["s", 2, 5, 1]]}',
    '{"root": {"r": 0}, "table": [["s", 1000000000]]}',
    '{"root": {"r": 0}, "table": [["b", "%%%"]]}',
    '{"root": {"r": 0}, "table": [["v", "Uint8Array", 0, 0, 1]]}',
    '{"root": {"r": 0}, "table": [["v", "Uint8Array", 1, 0, 5], ["b", "AAAA"]]}',
    '{"root": {"r": 0}, "table": [["v", "Float64Array", 1, 0, 9007199254740991], ["b", "AAAA"]]}',
    '{"root": {"r": 0}, "table": [["v", "Evil", 1, 0, 1], ["b", "AAAA"]]}',
    '{"root": {"r": 0}, "table": [["d", "x"]]}',
    '{"root": {"r": 0}, "table": [["x", "a"]]}',
    '{"root": {"r": 0}, "table": [["E", "a"]]}',
    '{"root": {"r": 0}, "table": [["w", {"r": 0}]]}',
    '{"root": ["u", 1], "table": []}',
    '{"root": ["n", "7"], "table": []}',
    '{"root": ["i", "1e5"], "table": []}',
    '{"root": ["i", "' + "9" * 5000 + '"], "table": []}',
    '{"root": ["q", "x"], "table": []}',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_the_harness_never_writes_is_refused(text: str) -> None:
    with pytest.raises(ValueRefused):
        decode_result(RICH, text.encode())


def test_unknown_forms_are_refused() -> None:
    for form in (-1, 3, 99):
        with pytest.raises(ValueRefused):
            decode_result(form, b"1")


_LEAF = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "o", "s", "m", "v", "b", "r", "AAAA"])
_NODES = st.recursive(
    _LEAF, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.just("r"), inner), max_leaves=12
)


@given(root=_NODES, table=st.lists(st.lists(_NODES, max_size=6), max_size=5))
def test_any_json_is_a_value_or_refused(root: object, table: list[object]) -> None:
    with contextlib.suppress(ValueRefused):
        decode_result(RICH, json.dumps({"root": root, "table": table}).encode())


# --- what a few bytes of text may become ---------------------------------------------------------------------------


def _rich(root: str, *table: str) -> bytes:
    return f'{{"root":{root},"table":[{",".join(table)}]}}'.encode()


def test_many_arrays_of_holes_are_refused_before_they_are_made() -> None:
    refs = ",".join(f'{{"r":{n}}}' for n in range(1, 61))
    text = _rich('{"r":0}', f'["a",{refs}]', *(['["s",1000000]'] * 60))
    with peak() as most, pytest.raises(ValueRefused, match="arrays with many holes"):
        decode_result(RICH, text)
    assert most() < 64 * 1024 * 1024


@pytest.mark.parametrize("kind", ["Uint8Array", "Float64Array"])
def test_many_views_of_one_buffer_are_refused_before_they_are_made(kind: str) -> None:
    size = 800_000
    data = base64.b64encode(bytes(size)).decode()
    count = size if kind == "Uint8Array" else size // 8
    refs = ",".join(f'{{"r":{n}}}' for n in range(2, 202))
    views = [f'["v","{kind}",1,{0 if kind == "Float64Array" else 1},{count - 1}]' for _ in range(200)]
    text = _rich('{"r":0}', f'["a",{refs}]', f'["b","{data}"]', *views)
    with peak() as most, pytest.raises(ValueRefused, match="many views"):
        decode_result(RICH, text)
    assert most() < 128 * 1024 * 1024


def test_a_large_typed_array_alone_is_no_trick() -> None:
    data = base64.b64encode(struct.pack("<300000d", *range(300000))).decode()
    value = decode_result(RICH, _rich('{"r":1}', f'["b","{data}"]', '["v","Float64Array",0,0,300000]'))
    assert value == list(map(float, range(300000)))


def test_integers_whose_hashes_a_program_can_choose_are_no_keys() -> None:
    entries = ",".join(f'["i","{n * (2**61 - 1)}"],{n}' for n in range(1, 3000))
    value = decode_result(RICH, _rich('{"r":0}', f'["m",{entries}]'))
    assert isinstance(value, list)
    assert value[0] == (2**61 - 1, 1)
    assert decode_result(RICH, _rich('{"r":0}', '["m",["i","5"],1]')) == {5: 1}


@contextlib.contextmanager
def peak() -> Iterator[Callable[[], int]]:
    """The most that Python has allocated since, in bytes."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
