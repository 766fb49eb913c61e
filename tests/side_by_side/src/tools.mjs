// The fixture tools of every case. One file, loaded by upstream's host inside workerd and by the process that serves our
// engine's tool calls, so that a difference between two outcomes is the executors' and never the tools'.

/** Tools that a case has only if it names them: as tools of everybody they would hide what a namespace does alone. */
const ON_REQUEST = new Set(["constructor", "toString", "valueOf", "hasOwnProperty", "then", "名前", "issues_list"]);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function all() {
  let calls = 0;
  let tries = 0;
  let inFlight = 0;
  let most = 0;
  return {
    // values as they come
    echo: async (x) => x,
    args: async (...a) => a,
    type: async (x) => Object.prototype.toString.call(x),
    typeAt: async (path, x) => Object.prototype.toString.call(path.reduce((value, key) => value[key], x)),
    keys: async (x) => Object.keys(x),
    sizeOf: async (x) => (typeof x === "string" ? x.length : x.byteLength ?? JSON.stringify(x).length),
    sync: (x) => x,
    // values that tools return
    undef: async () => undefined,
    nul: async () => null,
    zero: async () => 0,
    empty: async () => "",
    no: async () => false,
    big: async (n) => "x".repeat(n),
    bytes: async () => new Uint8Array([0, 255, 128]),
    f32: async () => new Float32Array([1.5, 2.5]),
    buffer: async () => new Uint8Array([1, 2, 3]).buffer,
    slice: async () => new Uint8Array([1, 2, 3, 4]).subarray(1, 3),
    date: async () => new Date(0),
    map: async () => new Map([["a", 1]]),
    set: async () => new Set([1]),
    regexp: async () => /a/g,
    error: async () => new Error("a value"),
    bigint: async () => 10n,
    cyc: async () => {
      const a = {};
      a.a = a;
      return a;
    },
    shared: async () => {
      const one = { n: 1 };
      return [one, one];
    },
    nested: async () => ({ b: new Uint8Array([1, 2]), list: [new Uint8Array([3])] }),
    sparse: async () => [1, , 3],
    odd: async () => ({ u: undefined, f: () => 1, s: Symbol("x"), n: NaN, i: -Infinity, z: -0 }),
    json: async () => ({ toJSON: () => "from toJSON" }),
    fn: async () => () => 1,
    symbol: async () => Symbol("x"),
    proto: async () => JSON.parse('{"__proto__":{"polluted":1},"ok":1}'),
    taglike: async () => ({ __codemode_binary_v1__: "Uint8Array", data: "!!!notbase64" }),
    errfield: async () => ({ error: "i am data" }),
    resultfield: async () => ({ result: 1, error: null, logs: [] }),
    then7: async () => ({ then: 7 }),
    surrogate: async () => "\ud800\u0000\u2028",
    emoji: async () => "a😀é",
    deep: async (n) => {
      let value = 0;
      for (let i = 0; i < n; i += 1) value = [value];
      return value;
    },
    maxint: async () => 9007199254740991,
    huge: async () => 1e308,
    tiny: async () => 5e-324,
    float: async () => 0.1 + 0.2,
    rows: async (n) => Array.from({ length: n }, (_, i) => ({ i, name: `row ${i}` })),
    page: async ({ cursor } = {}) => {
      const n = cursor ? +cursor : 0;
      return { items: [n, n + 1], next: n < 4 ? String(n + 2) : null };
    },
    // failures
    boom: async () => {
      throw new Error("tool boom");
    },
    boomSync: () => {
      throw new Error("sync boom");
    },
    boomRich: async () => {
      const e = new TypeError("quota");
      e.code = "E42";
      e.details = { retryAfter: 3 };
      throw e;
    },
    boomCause: async () => {
      throw new Error("outer", { cause: new RangeError("inner") });
    },
    boomStr: async () => {
      throw "plain";
    },
    boomEmpty: async () => {
      throw new Error("");
    },
    boomNull: async () => {
      throw null;
    },
    boomUndef: async () => {
      throw undefined;
    },
    boomNumber: async () => {
      throw 42;
    },
    boomObject: async () => {
      throw { message: "an object", code: 1 };
    },
    boomLong: async (n) => {
      throw new Error("e".repeat(n));
    },
    boomLines: async () => {
      throw new Error("line 1\nline 2\u2028\u0000");
    },
    boomSurrogate: async () => {
      throw new Error("lone \ud800");
    },
    // time and order
    slow: async (ms) => {
      await sleep(ms);
      return "slept " + ms;
    },
    later: async (ms, x) => {
      await sleep(ms);
      return x;
    },
    never: () => new Promise(() => {}),
    count: async () => ++calls,
    gauge: async (ms) => {
      most = Math.max(most, ++inFlight);
      await sleep(ms);
      inFlight -= 1;
      return most;
    },
    flaky: async () => {
      if (++tries % 3) throw new Error("503 try " + tries);
      return "ok after " + tries;
    },
    // names
    "issues.list": async () => "dotted",
    issues_list: async () => "underscored",
    "create-pr": async () => "hyphen",
    delete: async () => "reserved",
    "2fa": async () => "digit",
    名前: async () => "cjk",
    Ünï: async () => "umlauts",
    "a/b": async () => "slash",
    "a b": async () => "space",
    $: async () => "dollar",
    _private: async () => "underscore",
    constructor: async () => "ctor",
    toString: async () => "ts",
    valueOf: async () => "vo",
    hasOwnProperty: async () => "hop",
    then: async () => "then!",
  };
}

/**
 * Fresh tools, and what the host saw of them.
 *
 * @param {string[] | undefined} names the tools that a case asks for, or all but those on request
 * @returns {{ fns: Record<string, Function>, seen: string[] }} `seen` grows by the name of every call that arrives
 */
export function makeTools(names) {
  const tools = all();
  const seen = [];
  const fns = {};
  for (const name of names ?? Object.keys(tools).filter((key) => !ON_REQUEST.has(key))) {
    if (!Object.hasOwn(tools, name)) throw new Error(`there is no fixture tool named ${name}`);
    fns[name] = (...args) => {
      seen.push(name);
      return tools[name](...args);
    };
  }
  return { fns, seen };
}
