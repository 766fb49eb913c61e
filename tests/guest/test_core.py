"""The small pieces of the web platform where no comparison with upstream tells what is right: what a hostile program
gets hold of, what is written down, and bytes by the thousand."""

from __future__ import annotations

import base64
import json
import random

import pytest

from codemode_executor import ExecuteResult, IsolateExecutor

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]


def succeeded(outcome: ExecuteResult) -> object:
    """The result of a run that has not failed."""
    assert outcome.error is None, outcome.error
    return outcome.result


# --- what nobody catches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("queueMicrotask(() => { throw new Error('in a microtask') })", "in a microtask"),
        ("setImmediate(() => { throw 'a string' })", "a string"),
        ("reportError(new TypeError('reported'))", "reported"),
        ("addEventListener('x', () => 1); reportError(null)", "null"),
        ("queueMicrotask(() => { throw { toString() { throw 1 }, get message() { throw 2 } } })", "{}"),
        ("AbortSignal.timeout(1).onabort = () => { throw new Error('at an abort') }", "at an abort"),
    ],
)
async def test_uncaught_errors_are_logged_and_end_nothing(executor: IsolateExecutor, statement: str, line: str) -> None:
    outcome = await executor.execute(f"async () => {{ {statement}; await scheduler.wait(20); return 'alive' }}")
    assert succeeded(outcome) == "alive"
    uncaught = [entry for entry in outcome.logs if entry.startswith("[uncaught] ")]
    assert len(uncaught) == 1
    if line != "{}":
        assert uncaught == [f"[uncaught] {line}"]


async def test_an_error_that_a_listener_has_seen_to_is_not_logged(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const seen = []
      addEventListener('error', (event) => { seen.push(event.message); event.preventDefault() })
      queueMicrotask(() => { throw new RangeError('first') })
      reportError(new Error('second'))
      await scheduler.wait(5)
      return seen
    }""")
    assert succeeded(outcome) == ["Uncaught Error: second", "Uncaught RangeError: first"]
    assert outcome.logs == []


async def test_a_listener_that_throws_at_an_error_is_logged_too(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      addEventListener('error', () => { throw new Error('worse') })
      queueMicrotask(() => { throw new Error('bad') })
      await scheduler.wait(5)
      return 'alive'
    }""")
    assert succeeded(outcome) == "alive"
    assert outcome.logs == ["[uncaught] worse"]


async def test_a_pending_timeout_does_not_hold_the_run(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("async () => { scheduler.wait(1e12); return AbortSignal.timeout(1e9).aborted }")
    assert succeeded(outcome) is False


# --- a program that listens at every builtin ------------------------------------------------------

_USES = """
  const c = new AbortController()
  const any = AbortSignal.any([c.signal, AbortSignal.timeout(5)])
  const t = new EventTarget()
  t.addEventListener('x', { handleEvent() {} }, { signal: any, once: true })
  t.dispatchEvent(new CustomEvent('x', { detail: 1 }))
  addEventListener('error', (event) => event.preventDefault())
  reportError(new Error('seen'))
  c.abort()
  for (const label of ['utf-8', 'latin1', 'shift_jis', 'gb18030', 'nope']) {
    try { new TextDecoder(label, { fatal: true }).decode(new Uint8Array([65, 0x82, 0xa0])) } catch {}
  }
  new TextEncoder().encodeInto('\\u00e9', new Uint8Array(9))
  try { atob('*') } catch {}
  btoa(atob('aGk='))
  try { structuredClone({ f() {} }) } catch {}
  const buffer = new ArrayBuffer(4, { maxByteLength: 8 })
  structuredClone([new Map([[{}, new Set([new Date(0), /x/, new Error('e', { cause: 1 })])]]), new Uint8Array(buffer)],
    { transfer: [buffer] })
  queueMicrotask(() => { throw new Error('m') })
  clearImmediate(setImmediate(() => 1))
  setImmediate(() => { throw new Error('i') })
  navigator.sendBeacon('https://a.b')
  performance.now()
  try { WebAssembly.validate(new Uint8Array([0, 97, 115, 109])); new WebAssembly.Module() } catch {}
  await scheduler.wait(10, { signal: new AbortController().signal })
"""


async def test_nothing_of_the_harness_comes_by(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
      const found = []
      let busy = false
      let looks = 0
      const has = Object.hasOwn, { apply, ownKeys } = Reflect
      const look = (value, where) => {
        if (busy || (typeof value !== 'object' && typeof value !== 'function') || value === null) return
        busy = true
        looks++
        try {
          for (const key of ['hostCall', 'primordials', 'randomFill', 'exports', 'setTimer']) {
            if (has(value, key)) found[found.length] = where + ' saw ' + key
          }
        } finally {
          busy = false
        }
      }
      const wrap = (holder, key, where) => {
        const descriptor = Object.getOwnPropertyDescriptor(holder, key)
        if (typeof descriptor?.value !== 'function' || !descriptor.writable) return
        const original = descriptor.value
        holder[key] = function (...args) {
          look(this, where)
          for (let i = 0; i < args.length; i++) look(args[i], where)
          return apply(original, this, args)
        }
      }
      Error.prepareStackTrace = (error, sites) => {
        for (let i = 0; i < sites.length; i++) {
          look(sites[i].getThis(), 'a frame')
          look(sites[i].getFunction(), 'a frame')
        }
        return 'stack'
      }
      for (const type of [Array, Map, Set, Promise, Function, Object, String, Uint8Array, ArrayBuffer, Date, RegExp]) {
        for (const key of ownKeys(type.prototype)) {
          if (key !== 'constructor' && key !== 'apply') wrap(type.prototype, key, type.name + '.prototype')
        }
      }
      for (const key of ['keys', 'defineProperty', 'assign', 'freeze', 'getPrototypeOf']) wrap(Object, key, 'Object')
      for (const key of ['apply', 'construct', 'get', 'defineProperty']) wrap(Reflect, key, 'Reflect')
      wrap(JSON, 'stringify', 'JSON'); wrap(JSON, 'parse', 'JSON')
      Object.defineProperty(Object.prototype, 'toJSON', { get() { look(this, 'toJSON') }, configurable: true })
      Object.defineProperty(Object.prototype, 'then', { get() { look(this, 'then') }, configurable: true })
"""
        + _USES
        + """
      delete Object.prototype.toJSON
      delete Object.prototype.then
      const before = found.length
      new Map().set({ hostCall: 1 }, 1) // that the traps are set
      return [found, before, looks > 100]
    }"""
    )
    assert succeeded(outcome) == [["Map.prototype saw hostCall"], 0, True]


async def test_uses_are_what_they_are_for(executor: IsolateExecutor) -> None:
    """The negative control of the test above: without its traps, every use runs to its end."""
    assert succeeded(await executor.execute("async () => {" + _USES + "return 'done'}")) == "done"


async def test_a_callers_code_is_not_reachable(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const seen = []
      const probe = function () {
        for (const name of ['caller', 'arguments', 'callee']) {
          try { seen.push(typeof probe[name]) } catch (error) { seen.push(error.name) }
        }
      }
      const t = new EventTarget()
      t.addEventListener('x', probe)
      t.dispatchEvent(new Event('x'))
      queueMicrotask(probe)
      structuredClone({ get x() { probe(); return 1 } })
      await scheduler.wait(1)
      return [...new Set(seen)].sort()
    }""")
    assert succeeded(outcome) == ["TypeError", "undefined"]


async def test_forged_objects_are_told_apart(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const forged = [
        () => new EventTarget().dispatchEvent(Object.create(Event.prototype)),
        () => AbortSignal.any([Object.create(AbortSignal.prototype)]),
        () => new EventTarget().addEventListener('x', () => 1, { signal: { aborted: true } }),
        () => Object.create(TextDecoder.prototype).decode(),
        () => clearImmediate({ [Symbol.toStringTag]: 'Immediate' }),
        () => new DOMException('m').constructor.call({}, 'm'),
        () => Reflect.construct(AbortSignal, [], Object),
      ]
      return forged.map((call) => { try { return call() } catch (error) { return error.name } })
    }""")
    assert succeeded(outcome) == ["TypeError"] * 7


async def test_long_labels_do_not_leave_the_isolate(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const names = []
      for (const label of ['x'.repeat(1e6), '\\ud800', '\\u0000', 'latin1\\u00a0', '__proto__', 'constructor']) {
        try { names.push(new TextDecoder(label).encoding) } catch (error) { names.push(error.name) }
      }
      return names
    }""")
    assert succeeded(outcome) == ["RangeError"] * 6


# --- copies ---------------------------------------------------------------------------------------


async def test_copies_nest_as_deep_as_memory_goes(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      let deep = null
      for (let i = 0; i < 100000; i++) deep = i % 3 === 0 ? { deep } : i % 3 === 1 ? [deep] : new Map([[1, deep]])
      let copy = structuredClone(deep)
      let depth = 0
      while (copy !== null) {
        copy = copy instanceof Map ? copy.get(1) : Array.isArray(copy) ? copy[0] : copy.deep
        depth++
      }
      return depth
    }""")
    assert succeeded(outcome) == 100000


async def test_a_copy_is_no_way_around_the_memory_limit(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      let held = [new ArrayBuffer(1 << 20)]
      new Uint8Array(held[0]).fill(1)
      for (;;) held = [...held, ...structuredClone(held)]
    }""")
    assert outcome.error
    assert outcome.result is None


# --- bytes ----------------------------------------------------------------------------------------

_DECODE = """async () => {
  const cases = %s
  return cases.map(([label, parts]) => {
    const decoder = new TextDecoder(label, { ignoreBOM: true })
    let text = ''
    for (const part of parts) text += decoder.decode(Uint8Array.fromHex(part), { stream: true })
    return text + decoder.decode()
  })
}"""


def in_pieces(source: random.Random, data: bytes) -> list[str]:
    """``data`` cut anywhere, as hexadecimal texts."""
    cuts = sorted(source.randrange(len(data) + 1) for _ in range(source.randrange(4)))
    return [data[start:end].hex() for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


async def test_utf8_as_python_decodes_it(executor: IsolateExecutor) -> None:
    source = random.Random(5)
    leads = [0x41, 0x7F, 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x9F, 0xA0]
    inputs = [bytes(source.choice(leads) for _ in range(source.randrange(1, 24))) for _ in range(3000)]
    inputs += ["aé€😀".encode() * count for count in range(1, 40)]
    outcome = await executor.execute(_DECODE % json.dumps([["utf-8", in_pieces(source, data)] for data in inputs]))
    assert succeeded(outcome) == [data.decode("utf-8", "replace") for data in inputs]


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("utf-16le", "utf-16-le"),
        ("utf-16be", "utf-16-be"),
        ("shift_jis", "cp932"),
        ("euc-kr", "cp949"),
        ("gb18030", "gb18030"),
        ("gbk", "gb18030"),
        ("big5", "big5hkscs"),
        ("euc-jp", "euc_jp"),
        ("iso-2022-jp", "iso2022_jp"),
        ("windows-1251", "cp1251"),
        ("iso-8859-7", "iso8859_7"),
    ],
)
async def test_text_of_every_kind_in_any_pieces(executor: IsolateExecutor, label: str, codec: str) -> None:
    source = random.Random(label)
    samples = [
        "plain ASCII, only",
        "Привет, мир",
        "αβγδε",
        "日本語のテキスト、カタカナ。",
        "한국어 텍스트",
        "中文文本",
        "中文繁體文字",
        "a日b本c",
        "😀",
    ]
    texts: list[str] = []
    cases: list[list[object]] = []
    for sample in samples:
        try:
            data = sample.encode(codec)
        except UnicodeEncodeError:
            continue
        for _ in range(20):
            texts.append(sample)
            cases.append([label, in_pieces(source, data)])
    assert len(texts) >= 40
    assert succeeded(await executor.execute(_DECODE % json.dumps(cases))) == texts


async def test_utf8_of_every_character(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const encoder = new TextEncoder(), decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      const sizes = [0, 0, 0, 0, 0]
      for (let from = 0; from < 0x110000; from += 0x800) {
        if (from >= 0xd800 && from < 0xe000) continue
        let text = ''
        for (let point = from; point < from + 0x800; point++) {
          const one = String.fromCodePoint(point)
          text += one
          if (point % 97 === 0) sizes[encoder.encode(one).length]++
        }
        if (decoder.decode(encoder.encode(text)) !== text) return from
      }
      return sizes
    }""")
    points = [point for point in range(0, 0x110000, 97) if not 0xD800 <= point < 0xE000]
    sizes = [len(chr(point).encode()) for point in points]
    assert succeeded(outcome) == [sizes.count(size) for size in range(5)]


async def test_a_failed_decoding_leaves_nothing_to_the_next(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const strict = new TextDecoder('utf-8', { fatal: true })
      try { strict.decode(new Uint8Array([65, 66, 0xff])) } catch {}
      return [new TextDecoder().decode(new Uint8Array([67])), strict.decode(new Uint8Array([68]))]
    }""")
    assert succeeded(outcome) == ["C", "D"]


async def test_base64_as_python_has_it(executor: IsolateExecutor) -> None:
    source = random.Random(7)
    inputs = [bytes(source.randrange(256) for _ in range(size)) for size in range(60)]
    inputs.append(bytes(source.randrange(256) for _ in range(20000)))
    encoded = [base64.b64encode(data).decode() for data in inputs]
    outcome = await executor.execute(
        "async () => " + json.dumps(encoded) + ".map((text) => { const b = atob(text); return [b, btoa(b)] })"
    )
    expected = [[data.decode("latin-1"), text] for data, text in zip(inputs, encoded, strict=True)]
    assert succeeded(outcome) == expected
