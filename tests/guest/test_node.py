"""The node: modules where no comparison with upstream tells what is right: what a hostile program gets hold of, what it
does to itself, and bytes by the thousand."""

from __future__ import annotations

import base64
import random

import pytest

from codemode_executor import ExecuteResult, IsolateExecutor, Limits
from guest.crawl import crawl

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

MODULES = (
    "assert",
    "async_hooks",
    "buffer",
    "events",
    "path",
    "process",
    "querystring",
    "string_decoder",
    "timers",
    "timers/promises",
    "url",
    "util",
)


def succeeded(outcome: ExecuteResult) -> object:
    """The result of a run that has not failed."""
    assert outcome.error is None, outcome.error
    return outcome.result


# --- nothing of the machinery is reachable ----------------------------------------------------------

_CRAWL = crawl("exports")


@pytest.mark.parametrize("module", MODULES)
async def test_nothing_of_the_machinery_is_reachable(executor: IsolateExecutor, module: str) -> None:
    outcome = await executor.execute(f"""async () => {{
      {_CRAWL}
      const module = await import('node:{module}');
      return crawl([module, module.default, globalThis.process, globalThis.Buffer]);
    }}""")
    assert succeeded(outcome) == []


async def test_a_callback_does_not_see_who_calls_it(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { inspect } = await import('node:util');
      const { EventEmitter } = await import('node:events');
      const assert = await import('node:assert');
      const seen = [];
      Error.prepareStackTrace = (error, sites) => sites;
      const look = function () {
        for (const site of new Error('x').stack) {
          for (const method of ['getThis', 'getFunction']) if (site[method]() !== undefined) seen.push(String(site));
        }
        return false;
      };
      inspect({ [inspect.custom]: look });
      inspect({ get a() { return look() } }, { getters: true });
      const emitter = new EventEmitter();
      emitter.on('x', look);
      emitter.emit('x');
      try { assert.throws(() => { throw 1 }, look) } catch {}
      Buffer.from({ length: 1, get 0() { return look() } });
      process.nextTick(look);
      await new Promise((resolve) => setTimeout(resolve, 5));
      delete Error.prepareStackTrace;
      return seen;
    }""")
    assert succeeded(outcome) == []


async def test_builtin_modules_are_found_by_name_only(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'fs', '']
      .map((name) => process.getBuiltinModule(name))""")
    assert succeeded(outcome) == [None] * 6


# --- a program that patches the language hurts itself alone -----------------------------------------


@pytest.mark.parametrize(
    "patch",
    [
        "Array.prototype.push = () => { throw new Error('push') }",
        "Object.prototype.get = () => 1",
        "Function.prototype.call = () => { throw new Error('call') }",
        "Map.prototype.set = () => { throw new Error('set') }",
        "Symbol.prototype.toString = () => { throw new Error('toString') }",
        "String.prototype.replace = () => { throw new Error('replace') }",
        "Promise.prototype.then = () => { throw new Error('then') }",
        "Uint8Array.prototype.subarray = () => { throw new Error('subarray') }",
        "Reflect.apply = () => { throw new Error('apply') }",
    ],
)
async def test_a_patched_language_breaks_no_later_run(executor: IsolateExecutor, patch: str) -> None:
    use = """
      const { inspect } = await import('node:util');
      const { AsyncLocalStorage } = await import('node:async_hooks');
      const text = inspect({ a: [1, 'x', new Map([[1, 2]])] }) + Buffer.from('hi').toString('hex');
      return [text, new AsyncLocalStorage().run(7, () => 'ran')];
    """
    broken = await executor.execute(f"async () => {{ {patch}; {use} }}")
    assert broken.error is not None or isinstance(broken.result, list)
    whole = await executor.execute(f"async () => {{ {use} }}")
    assert succeeded(whole) == ["{ a: [ 1, 'x', Map(1) { 1 => 2 } ] }6869", "ran"]


async def test_inspect_survives_what_it_is_shown(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { inspect } = await import('node:util');
      let deep = {};
      for (let i = 0; i < 100000; i++) deep = { deep };
      const wide = Array.from({ length: 100000 }, (_, i) => i);
      const cyclic = { list: [] };
      for (let i = 0; i < 50; i++) cyclic.list.push({ cyclic, i });
      return [
        inspect(deep, { depth: Infinity }).length > 0,
        inspect(wide).length < 2000,
        inspect(cyclic).includes('[Circular *1]'),
        inspect('x'.repeat(1e6)).length < 11000,
        inspect(Object.create(null, { constructor: { get() { throw new Error('no') } } })),
      ];
    }""")
    assert succeeded(outcome) == [True, True, True, True, "[Object: null prototype] {}"]


async def test_a_proxy_stays_native_where_inspect_watches(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { types } = await import('node:util');
      const proxy = new Proxy({}, { get: (target, key) => key });
      const calls = [];
      class Sub { constructor() { return new Proxy(this, {}) } }
      let message;
      try { Proxy({}, {}) } catch (error) { message = error.message }
      return [proxy.hello, Proxy.name, Proxy.length, 'prototype' in Proxy, types.isProxy(proxy),
        types.isProxy(new Sub()), types.isProxy({}), message];
    }""")
    assert succeeded(outcome) == [
        "hello",
        "Proxy",
        2,
        False,
        True,
        True,
        False,
        "Constructor Proxy requires 'new'",
    ]


# --- bounds ----------------------------------------------------------------------------------------


async def test_buffers_count_as_memory() -> None:
    async with IsolateExecutor(limits=Limits(memory_mb=64, timeout_s=20)) as executor:
        outcome = await executor.execute("""async () => {
          const kept = [];
          for (let i = 0; i < 400; i++) kept.push(Buffer.alloc(1024 * 1024, i));
          return kept.length;
        }""")
    assert outcome.error is not None
    assert "memory" in outcome.error


@pytest.mark.parametrize(
    "loop",
    [
        "const e = new (await import('node:events')).EventEmitter(); e.on('x', () => e.emit('x'));"
        " while (true) { try { e.emit('x') } catch {} }",
        "const turn = () => process.nextTick(turn); turn(); await new Promise(() => {})",
        "const { setInterval } = await import('node:timers/promises'); for await (const _ of setInterval(1)) {}",
        "const { AsyncLocalStorage } = await import('node:async_hooks'); const s = new AsyncLocalStorage();"
        " await s.run(1, async () => { while (true) await null })",
    ],
)
async def test_what_never_ends_is_ended(loop: str) -> None:
    async with IsolateExecutor(limits=Limits(timeout_s=0.5)) as executor:
        outcome = await executor.execute(f"async () => {{ {loop} }}")
    assert outcome.error == "Execution timed out"


# --- bytes by the thousand, against Python's own codecs ---------------------------------------------


async def test_encodings_agree_with_python(executor: IsolateExecutor) -> None:
    random.seed(5)
    samples: list[bytes] = [random.randbytes(random.randrange(40)) for _ in range(400)]
    samples += ["".join(random.choices("aé€😀\x00", k=9)).encode()[: random.randrange(20)] for _ in range(400)]
    given = [base64.b64encode(sample).decode() for sample in samples]
    outcome = await executor.execute(
        f"async () => {given!r}.map((text) => {{ const b = Buffer.from(text, 'base64');"
        " return [b.toString('hex'), b.toString('base64url'), b.toString('latin1'), b.toString('utf8'),"
        " b.toString('ascii'), Buffer.from(b.toString('latin1'), 'latin1').equals(b)] })"
    )
    expected = [
        [
            sample.hex(),
            base64.urlsafe_b64encode(sample).decode().rstrip("="),
            sample.decode("latin1"),
            sample.decode("utf8", "replace"),
            bytes(byte & 127 for byte in sample).decode("ascii"),
            True,
        ]
        for sample in samples
    ]
    assert succeeded(outcome) == expected


async def test_pieces_decode_as_the_whole(executor: IsolateExecutor) -> None:
    random.seed(7)
    texts = ["".join(random.choices("aéß€漢😀", k=12)) for _ in range(60)]
    outcome = await executor.execute(f"""async () => {{
      const {{ StringDecoder }} = await import('node:string_decoder');
      const wrong = [];
      for (const text of {texts!r}) {{
        for (const encoding of ['utf8', 'utf16le', 'base64', 'hex', 'latin1']) {{
          const bytes = Buffer.from(text, encoding === 'utf16le' ? 'utf16le' : 'utf8');
          for (const size of [1, 2, 3, 5]) {{
            const decoder = new StringDecoder(encoding);
            let joined = '';
            for (let i = 0; i < bytes.length; i += size) joined += decoder.write(bytes.subarray(i, i + size));
            joined += decoder.end();
            if (encoding === 'base64') joined = Buffer.from(joined, 'base64').toString('base64');
            // There upstream's decoder splits pairs, and so does ours.
            if (encoding === 'utf16le' && size % 2 === 1) continue;
            if (joined !== bytes.toString(encoding)) wrong.push([text, encoding, size]);
          }}
        }}
      }}
      return wrong;
    }}""")
    assert succeeded(outcome) == []


async def test_numbers_are_read_as_they_were_written(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const wrong = [];
      const buffer = Buffer.alloc(8);
      for (const name of Object.keys(Buffer.prototype)) {
        if (!/^write(U?Int|Float|Double|BigU?Int)/.test(name)) continue;
        const read = 'read' + name.slice(5);
        const big = /Big/.test(name);
        const sized = /^write(U?Int|Uint)(LE|BE)$/.test(name);
        for (const value of [0, 1, 100, /U[Ii]nt/.test(name) ? 127 : -128]) {
          const given = big ? BigInt(value) : value;
          const args = sized ? [0, 5] : [0];
          buffer[name](given, ...args);
          if (buffer[read](...args) !== given) wrong.push([name, value]);
        }
      }
      return wrong;
    }""")
    assert succeeded(outcome) == []


# --- stores ------------------------------------------------------------------------------------------


async def test_stores_stay_apart_among_many_tasks(executor: IsolateExecutor) -> None:
    outcome = await executor.execute("""async () => {
      const { AsyncLocalStorage } = await import('node:async_hooks');
      const store = new AsyncLocalStorage();
      const wrong = [];
      const task = async (id) => {
        for (let i = 0; i < 20; i++) {
          await new Promise((resolve) => (i % 3 ? queueMicrotask(resolve) : setTimeout(resolve, (id * 7 + i) % 3)));
          if (store.getStore() !== id) wrong.push([id, i]);
        }
        return id;
      };
      const ids = await Promise.all(Array.from({ length: 30 }, (_, id) => store.run(id, task, id)));
      return [ids.length, wrong, store.getStore()];
    }""")
    assert succeeded(outcome) == [30, [], None]
