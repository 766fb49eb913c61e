"""Cryptography as a program meets it: what cannot be compared side by side. Secrets stay secret, randomness is the
operating system's, and nothing that a program asks for holds its worker."""

from __future__ import annotations

import asyncio
import hashlib
import hmac

import pytest

from codemode_executor import IsolateExecutor, Limits

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Every function and accessor that the program can reach reports its receiver and its arguments; so do setters at names
# that an implementation might assign to. `found` says whether the bytes of `secret` were among them.
SPY = """
  const seen = [];
  const push = (x) => { seen[seen.length] = x };
  const { getOwnPropertyDescriptor, ownKeys, defineProperty, apply, getPrototypeOf } = Reflect;
  const { isView } = ArrayBuffer;
  const Bytes = Uint8Array;
  const typed = getPrototypeOf(Bytes.prototype);
  const bufferOf = getOwnPropertyDescriptor(typed, 'buffer').get;
  const lengthOf = getOwnPropertyDescriptor(typed, 'length').get;
  let watching = false;
  const note = (x) => {
    if (!watching || x === null || (typeof x !== 'object' && typeof x !== 'string')) return;
    watching = false;
    push(x);
    watching = true;
  };
  const wrap = (owner) => {
    for (const key of ownKeys(owner)) {
      const d = getOwnPropertyDescriptor(owner, key);
      if (!d.configurable || key === 'constructor') continue;
      for (const part of ['value', 'get', 'set']) {
        const f = d[part];
        if (typeof f !== 'function') continue;
        d[part] = new Proxy(f, {
          apply(target, self, args) {
            note(self);
            for (let i = 0; i < args.length; i++) note(args[i]);
            return apply(target, self, args);
          },
        });
      }
      defineProperty(owner, key, d);
    }
  };
  const trap = (owner, key) => defineProperty(owner, key, {
    configurable: true,
    get() { note(this); return undefined },
    set(value) {
      note(this); note(value);
      defineProperty(this, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    },
  });
  const owners = [Object, Function.prototype, Array, Array.prototype, typed, getPrototypeOf(Bytes), Bytes,
    Bytes.prototype,
    ArrayBuffer, ArrayBuffer.prototype, DataView.prototype, String, String.prototype, Map.prototype, Set.prototype,
    WeakMap.prototype, WeakSet.prototype, Promise, Promise.prototype, Reflect, JSON, RegExp.prototype, Number, Math,
    Error, getPrototypeOf([][Symbol.iterator]()), CryptoKey.prototype, Crypto.prototype];
  const spy = () => {
    for (let i = 0; i < owners.length; i++) wrap(owners[i]);
    for (let i = 0; i < 12; i++) trap(Array.prototype, i);
    for (const key of ['material', 'bytes', 'buffers', 'slots', 'key', 'data', 'text', 'error', 'params', 'hostName',
      'toJSON', 'then', 'raw', 'd', 'k']) trap(Object.prototype, key);
    watching = true;
  };
  const found = (secret) => {
    watching = false;
    const contains = (view) => {
      const n = apply(lengthOf, view, []);
      outer: for (let at = 0; at + 16 <= n; at++) {
        for (let i = 0; i < 16; i++) if (view[at + i] !== secret[i]) continue outer;
        return true;
      }
      return false;
    };
    let hits = 0;
    const look = (x, depth) => {
      if (typeof x !== 'object' || x === null) return;
      let buffer;
      if (isView(x)) { try { buffer = apply(bufferOf, x, []) } catch { return } }
      else if (x instanceof ArrayBuffer) buffer = x;
      if (buffer !== undefined) { if (contains(new Bytes(buffer))) hits++; return }
      if (depth > 3) return;
      for (const key of ownKeys(x)) {
        const d = getOwnPropertyDescriptor(x, key);
        if (d && 'value' in d) look(d.value, depth + 1);
      }
    };
    for (let i = 0; i < seen.length; i++) look(seen[i], 0);
    return hits;
  };
"""

DERIVE = """
  const { subtle } = crypto;
  const text = (s) => new TextEncoder().encode(s);
  const base = await subtle.importKey('raw', text('input'), 'HKDF', false, ['deriveKey', 'deriveBits']);
  const how = { name: 'HKDF', hash: 'SHA-256', salt: text('s'), info: text('i') };
"""


async def test_a_spy_in_every_builtin_never_meets_a_key(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => {"
        + SPY
        + DERIVE
        + """
  const secret = new Uint8Array(await subtle.deriveBits(how, base, 256));
  const wrapping = await subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['unwrapKey', 'encrypt']);
  const iv = new Uint8Array(12);
  const wrapped = await subtle.encrypt({ name: 'AES-GCM', iv }, wrapping, secret);
  const jwk = await subtle.encrypt({ name: 'AES-GCM', iv }, wrapping,
    text(JSON.stringify({ kty: 'oct', k: secret.toBase64({ alphabet: 'base64url', omitPadding: true }) })));
  const peer = await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveKey']);
  spy();
  const aes = await subtle.deriveKey(how, base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
  const sealed = await subtle.encrypt({ name: 'AES-GCM', iv }, aes, text('hello'));
  await subtle.decrypt({ name: 'AES-GCM', iv }, aes, sealed);
  const code = { name: 'HMAC', hash: 'SHA-256', length: 256 };
  const mac = await subtle.deriveKey(how, base, code, false, ['sign', 'verify']);
  const signature = await subtle.sign('HMAC', mac, text('m'));
  await subtle.verify('HMAC', mac, signature, text('m'));
  const raw = await subtle.unwrapKey('raw', wrapped, wrapping, { name: 'AES-GCM', iv }, 'AES-CBC', false, ['encrypt']);
  await subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, raw, text('x'));
  const parsed = await subtle.unwrapKey('jwk', jwk, wrapping, { name: 'AES-GCM', iv }, 'AES-CTR', false, ['encrypt']);
  const agreed = { name: 'ECDH', public: peer.publicKey };
  await subtle.deriveKey(agreed, peer.privateKey, { name: 'AES-GCM', length: 256 }, false, ['encrypt']);
  await subtle.exportKey('raw', aes).catch(() => {});
  const { createCipheriv, createHmac, KeyObject } = await import('node:crypto');
  createHmac('sha256', mac).update('m').digest();
  KeyObject.from(aes).symmetricKeySize;
  try { createCipheriv('aes-256-gcm', aes, iv) } catch {}
  for (const key of [aes, mac, raw, parsed]) { JSON.stringify(key); String(key); Object.entries(key) }
  const met = seen.length;
  return [found(secret), met > 50];
}"""
    )
    assert outcome.error is None
    assert outcome.result == [0, True]


async def test_the_spy_would_notice(executor: IsolateExecutor) -> None:
    """The control: an extractable key does pass through a builtin that the program itself calls."""
    outcome = await executor.execute(
        "async () => {"
        + SPY
        + DERIVE
        + """
  const secret = new Uint8Array(await subtle.deriveBits(how, base, 256));
  const aes = await subtle.deriveKey(how, base, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
  spy();
  new Uint8Array(await subtle.exportKey('raw', aes)).slice(0);
  return found(secret) > 0;
}"""
    )
    assert outcome.error is None
    assert outcome.result is True


async def test_the_platform_leaves_nothing_of_itself_behind(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
  const { subtle } = crypto;
  let frames = [];
  Error.prepareStackTrace = (error, sites) => {
    frames.push(...sites.map((s) => [typeof s.getThis(), typeof s.getFunction()]));
    return '';
  };
  const wrong = [
    () => subtle.digest('no', new Uint8Array(1)), () => crypto.getRandomValues(1), () => subtle.importKey('raw'),
  ];
  for (const f of wrong) {
    try { await f() } catch (e) { e.stack }
  }
  const callers = [];
  for (const f of [subtle.digest, crypto.getRandomValues, crypto.randomUUID]) {
    try { callers.push(f.caller, f.arguments) } catch (e) { callers.push(e.name) }
  }
  return [frames.filter(([self, fn]) => fn === 'function' && self === 'object').length,
    callers.filter((c) => typeof c === 'function').length,
    Object.getOwnPropertyNames(globalThis).filter((n) => n.startsWith('__'))];
}"""
    )
    assert outcome.error is None
    assert outcome.result == [0, 0, []]


async def test_random_values_never_repeat_across_runs_and_workers(executor: IsolateExecutor) -> None:
    program = "async () => [crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(16)).toHex(), Math.random()]"
    async with IsolateExecutor(limits=Limits(timeout_s=20), min_workers=2, max_workers=2) as other:
        outcomes = await asyncio.gather(
            *(executor.execute(program) for _ in range(10)), *(other.execute(program) for _ in range(20))
        )
    values = [value for outcome in outcomes for value in outcome.result]
    assert len(set(values)) == 90


async def test_workers_that_were_forked_from_one_process_make_different_keys(executor: IsolateExecutor) -> None:
    program = """async () => {
      const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign']);
      const signed = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
      const secret = async (key) => (await crypto.subtle.exportKey('jwk', key)).d;
      return [await secret(pair.privateKey), await secret(signed.privateKey)];
    }"""
    async with IsolateExecutor(limits=Limits(timeout_s=20), min_workers=4, max_workers=4, isolation="process") as other:
        outcomes = await asyncio.gather(*(other.execute(program) for _ in range(8)))
    assert all(outcome.error is None for outcome in outcomes)
    assert len({value for outcome in outcomes for value in outcome.result}) == 16


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (
            "c.pbkdf2Sync('p', 's', 2 ** 31 - 1, 64, 'sha512')",
            "Pbkdf2 failed: iteration counts above 5000000 are not supported (requested 2147483647).",
        ),
        ("c.scryptSync('p', 's', 32, { N: 2 ** 20, maxmem: 2 ** 40 })", "the limits are 67108864 and 2097152"),
        ("c.scryptSync('p', 's', 32, { N: 1024, r: 1, p: 2 ** 20, maxmem: 2 ** 40 })", "the limits are"),
        ("c.generateKeyPairSync('rsa', { modulusLength: 65536 })", "RSA keys of 1024 to 4096 bits"),
        ("c.createSign('sha256').update(Buffer.alloc(2 ** 25)).update('x')", "may be at most 33554432 bytes"),
        ("c.pbkdf2Sync('p', 's', 1, 2 ** 30, 'sha1')", "length must be an integer between 0 and"),
    ],
)
async def test_work_that_nothing_could_interrupt_is_refused(executor: IsolateExecutor, call: str, error: str) -> None:
    outcome = await executor.execute(f"async () => {{ const c = await import('node:crypto'); {call} }}")
    assert outcome.error is not None
    assert error in outcome.error


async def test_a_long_message_is_digested_in_the_memory_of_a_small_run(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
  const { createHash } = await import('node:crypto');
  const piece = new Uint8Array(8 << 20).fill(7);
  const hash = createHash('sha256');
  for (let i = 0; i < 16; i++) hash.update(piece);
  const whole = await crypto.subtle.digest('SHA-512', piece);
  return [hash.digest('hex'), new Uint8Array(whole).toHex()];
}"""
    )
    piece = b"\x07" * (8 << 20)
    digest = hashlib.sha256()
    for _ in range(16):
        digest.update(piece)
    assert outcome.error is None
    assert outcome.result == [digest.hexdigest(), hashlib.sha512(piece).hexdigest()]


async def test_abandoned_ciphers_do_not_grow_for_ever(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        """async () => {
  const { createCipheriv } = await import('node:crypto');
  const key = new Uint8Array(32), iv = new Uint8Array(16);
  const first = createCipheriv('aes-256-cbc', key, iv);
  for (let i = 0; i < 1500; i++) createCipheriv('aes-256-cbc', key, iv);
  let refused;
  try { first.final() } catch (e) { refused = e.message }
  return [refused, createCipheriv('aes-256-cbc', key, iv).final('hex').length];
}"""
    )
    assert outcome.error is None
    assert outcome.result == ["more than 1000 digests and ciphers are open, and this one was the oldest", 32]


async def test_a_handle_of_one_run_is_nothing_in_the_next(executor: IsolateExecutor) -> None:
    program = """async () => {
      const { createHash } = await import('node:crypto');
      return createHash('sha256').update(new Uint8Array(300000)).update('%s').digest('hex');
    }"""
    for text in ("a", "b"):
        outcome = await executor.execute(program % text)
        assert outcome.result == hashlib.sha256(bytes(300000) + text.encode()).hexdigest()


async def test_a_web_token_is_signed_as_anybody_would(executor: IsolateExecutor) -> None:
    """What models write most: a JSON web token by HMAC, in both dialects."""
    outcome = await executor.execute(
        """async () => {
  const part = (x) => Buffer.from(JSON.stringify(x)).toString('base64url');
  const body = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: '1' })}`;
  const { createHmac } = await import('node:crypto');
  const text = (s) => new TextEncoder().encode(s);
  const how = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', text('secret'), how, false, ['sign']);
  const web = Buffer.from(await crypto.subtle.sign('HMAC', key, text(body))).toString('hex');
  return [body, createHmac('sha256', 'secret').update(body).digest('hex'), web];
}"""
    )
    assert outcome.error is None
    body, node, web = outcome.result
    assert node == web == hmac.digest(b"secret", body.encode(), "sha256").hex()
