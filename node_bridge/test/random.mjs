// Random values that structured clone can carry, from a seed.

const KEYS = ["a", "b", "", "0", "17", "__proto__", "constructor", "toString", "then", "é😀", "r", "root"];
const STRINGS = ["", "x", "é😀", "\ud800", "\u0000\u2028", "__codemode_binary_v1__", '["u"]', "long ".repeat(50)];
const NUMBERS = [0, -0, 1, -1, 0.1, 1e308, 5e-324, 2 ** 53, -(2 ** 31), NaN, Infinity, -Infinity];
const VIEWS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, DataView];
const ERRORS = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

export function randomValues(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const pick = (list) => list[below(list.length)];

  const primitive = () =>
    [
      () => undefined,
      () => null,
      () => next() < 0.5,
      () => pick(NUMBERS),
      () => below(1000),
      () => pick(STRINGS),
      () => BigInt(below(1000) - 500) ** BigInt(below(20)),
    ][below(7)]();

  const value = () => {
    const made = []; // objects that may be met again, unfinished ones among them
    let budget = 1 + below(30);

    const bytes = (length) => Uint8Array.from({ length }, () => below(256)).buffer;

    const any = () => {
      if (made.length > 0 && next() < 0.2) return pick(made);
      budget -= 1;
      return budget < 0 || next() < 0.4 ? primitive() : object();
    };

    const keep = (item) => {
      made.push(item);
      return item;
    };

    const makers = [
      () => {
        const item = keep({});
        for (let i = below(6); i > 0; i -= 1) {
          Object.defineProperty(item, pick(KEYS), { value: any(), writable: true, enumerable: true, configurable: true });
        }
        return item;
      },
      () => {
        const item = keep([]);
        for (let i = below(6); i > 0; i -= 1) item.push(any());
        return item;
      },
      () => {
        const item = keep([]);
        item.length = below(2) ? below(40) : 4294967295;
        for (let i = below(4); i > 0; i -= 1) item[below(Math.min(item.length, 100) || 1)] = any();
        return item;
      },
      () => {
        const item = keep(new Map());
        for (let i = below(5); i > 0; i -= 1) item.set(any(), any());
        return item;
      },
      () => {
        const item = keep(new Set());
        for (let i = below(5); i > 0; i -= 1) item.add(any());
        return item;
      },
      () => keep(new Date(pick([0, -1, 1e12, 8.64e15, NaN]))),
      () => keep(pick([/a/, /[/\]]+/giu, /(?<name>x)\k<name>/v, /\n/my, new RegExp("")])),
      () => {
        // The harness makes messages well-formed wherever they come from.
        const item = keep(new (pick(ERRORS))(pick(STRINGS.filter((text) => text !== "\ud800"))));
        if (next() < 0.4) item.cause = any();
        if (Object.hasOwn(item, "cause")) Object.defineProperty(item, "cause", { enumerable: false });
        return item;
      },
      () => keep(bytes(below(20))),
      () => {
        const existing = made.filter((item) => item instanceof ArrayBuffer);
        const buffer = existing.length > 0 && next() < 0.6 ? pick(existing) : keep(bytes(8 * below(4)));
        const type = pick(VIEWS);
        const size = type.BYTES_PER_ELEMENT ?? 1;
        const offset = size * below(Math.floor(buffer.byteLength / size) + 1);
        return keep(new type(buffer, offset, below(Math.floor((buffer.byteLength - offset) / size) + 1)));
      },
      () => keep(Object(pick([1, -0, NaN, "s", "", true, false, 5n]))),
    ];
    const object = () => pick(makers)();
    return any();
  };

  return { value, below, pick };
}
