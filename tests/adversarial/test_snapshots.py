"""Isolates that begin with a snapshot, attacked: nothing of its making is to be found, and nothing is the same twice.

The measure is the same engine without snapshots, which evaluates harness and reader in every isolate.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from codemode_executor import IsolateExecutor, Limits
from codemode_executor import zygote as supervisor_zygote

pytestmark = pytest.mark.asyncio(loop_scope="module")

_WITHOUT = """import sys; sys.path[:] = {path!r}
from codemode_executor.worker import snapshots
def unavailable(self, library): raise snapshots.SnapshotsUnavailable("a test wants none")
snapshots.Snapshots.__init__ = unavailable
from codemode_executor.worker.zygote import main; main()"""

#: Everything that can be reached by names, symbols, prototypes and accessors, described.
REALM = """async () => {
  const numbers = new Map(), lines = [];
  const queue = [[globalThis, 'globalThis']];
  const show = (value) => {
    if ((typeof value === 'object' && value !== null) || typeof value === 'function') {
      if (!numbers.has(value)) { numbers.set(value, numbers.size); queue.push([value]) }
      return '#' + numbers.get(value);
    }
    return typeof value + ':' + String(value);
  };
  show(globalThis);
  queue.shift();
  while (queue.length) {
    const [object] = queue.shift();
    const proto = show(Object.getPrototypeOf(object));
    let line = [show(object), typeof object, Object.isExtensible(object), proto].join(' ');
    // The order of properties says only what V8 itself adds to a context that it has read.
    for (const key of Reflect.ownKeys(object).sort((a, b) => (String(a) < String(b) ? -1 : 1))) {
      const d = Reflect.getOwnPropertyDescriptor(object, key);
      line += '|' + String(key) + ' ' + d.enumerable + d.configurable + d.writable + ' ';
      line += 'value' in d ? show(d.value) : show(d.get) + show(d.set);
    }
    lines.push(line);
  }
  return lines;
}"""

#: What a realm remembers without showing it among its properties.
MEMORY = """async () => {
  const seen = {};
  for (const name of ['$1', '$2', '$9', '$_', '$&', '$+', '$`', "$'", 'input', 'lastMatch', 'lastParen', 'leftContext',
                      'rightContext']) seen[name] = RegExp[name];
  const literal = () => /a/g;
  const tag = (strings) => strings;
  let shown;
  try { null.x } catch (error) { shown = error.stack }
  return {
    ...seen,
    limit: Error.stackTraceLimit,
    prepare: typeof Error.prepareStackTrace,
    last: literal().lastIndex,
    template: tag`a` === tag`a`,
    entry: ['__entry__' in globalThis, typeof entry, typeof __entry__],
    symbols: Symbol.keyFor(Symbol.for('x')),
    zone: [Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(0).getTimezoneOffset(), String(new Date(0))],
    locale: [new Intl.NumberFormat().resolvedOptions().locale, (1234.5).toLocaleString()],
    wasm: typeof WebAssembly,
    stack: shown.replace(/\\d+/g, 'n'),
    strict: (function () { return this === undefined })(),
    names: [Object.name, (() => {}).name, Promise.prototype.then.name],
    sources: [String(Object), String(Math.max), String(Promise.prototype.then)],
    numbers: [0.1 + 0.2, (255).toString(16), parseFloat('1e3'), 2 ** 53],
  };
}"""

RANDOM = """async () => {
  const order = [3, 1, 2].map((n) => [n, Math.random()]);
  const two = String([Math.random(), Math.random()]);
  return JSON.stringify([order, crypto.randomUUID(), Math.random().toString(36), two]);
}"""


#: With snapshots, and without.
Pair = tuple[IsolateExecutor, IsolateExecutor]


def engine(**options: Any) -> IsolateExecutor:
    return IsolateExecutor(limits=Limits(timeout_s=60, memory_mb=256), min_workers=1, max_workers=2, **options)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["worker", "process"])
async def engines(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    own = supervisor_zygote._ENTRY
    async with engine(isolation=request.param) as begun:
        await begun.execute("async () => 1")
        supervisor_zygote._ENTRY = _WITHOUT
        try:
            async with engine(isolation=request.param) as evaluated:
                await evaluated.execute("async () => 1")
                supervisor_zygote._ENTRY = own
                yield begun, evaluated
        finally:
            supervisor_zygote._ENTRY = own


async def result_of(executor: IsolateExecutor, code: str) -> Any:
    outcome = await executor.execute(code)
    assert outcome.error is None, outcome.error
    return outcome.result


@pytest.mark.parametrize("code", [REALM, MEMORY], ids=["what it shows", "what it remembers"])
async def test_a_realm_is_the_same_with_and_without(engines: Pair, code: str) -> None:
    begun, evaluated = [await result_of(executor, code) for executor in engines]
    assert len(json.dumps(begun)) > 500
    assert begun == evaluated


async def test_nothing_random_repeats(engines: Pair) -> None:
    """Neither in the isolates of one worker, nor in those of workers of one zygote, which share its snapshot."""
    seen = [await result_of(engines[0], RANDOM) for _ in range(12)]
    parts = [json.loads(text) for text in seen]
    numbers = [number for order, *_ in parts for _, number in order]
    assert len(set(numbers)) == len(numbers)
    for index in (1, 2, 3):
        assert len({part[index] for part in parts}) == len(parts)


async def test_the_difference_would_be_seen(engines: Pair) -> None:
    """The negative control: a realm with one property more, and one that remembers a match."""
    more = REALM.replace("async () => {", "async () => { Array.prototype.left = 1;", 1)
    assert await result_of(engines[0], more) != await result_of(engines[1], REALM)
    match = MEMORY.replace("async () => {", "async () => { /(b)/.exec('abc');", 1)
    assert await result_of(engines[0], match) != await result_of(engines[1], MEMORY)
