// What crosses between a program and its host, by way of upstream's own `runCode`: arguments, results of tools, results.
import { resolveProvider, runCode } from "@cloudflare/codemode";
import { shown } from "./shown.mjs";

class Point {
  constructor(x, y) {
    Object.assign(this, { x, y });
  }
  get sum() {
    return this.x + this.y;
  }
}

const circle = {};
circle.self = circle;

/** What tools return, by name. */
const RETURNED = {
  nothing: undefined,
  null: null,
  number: -0.5,
  "not a number": Number.NaN,
  infinite: [Number.POSITIVE_INFINITY, -0],
  text: "é€😀\u0000\u2028",
  half: "\ud83d",
  date: new Date(0),
  map: new Map([["k", 1]]),
  set: new Set([1]),
  point: new Point(1, 2),
  "own JSON": { toJSON: () => ({ made: "by itself" }) },
  holes: [1, , 3, undefined],
  gone: { a: undefined, b: () => 1, c: Symbol("s") },
  error: new RangeError("as a value"),
  bigint: 10n,
  circle,
  bytes: { array: new Uint8Array([0, 255]), buffer: new Uint8Array([1, 2]).buffer, view: new Float32Array([0.5]), in: [new Uint8Array(0)] },
  "a function": () => 1,
  proto: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  url: new URL("https://example.com/a?b=c"),
  long: "x".repeat(300_000),
};

/** What programs return. Instances of classes, and objects without a prototype, are among the documented differences. */
const RESULTS = [
  "undefined", "null", "-0", "NaN", "10n", "'\\ud83d'", "new Date(0)", "new Map([[{ a: 1 }, new Set([1, 'x'])]])", "[1, , 3]",
  "({ a: undefined })", "new RangeError('as a result')", "/a.b/giu", "new Uint8Array([1, 2])", "new Uint16Array([1, 65535]).subarray(1)",
  "[Object(1), Object('s'), Object(false)]",
  "(() => { const o = { n: 1 }; o.self = o; return o; })()", "(() => { const o = {}; return [o, o]; })()", "({ then: undefined, a: 1 })", "Promise.resolve([Promise.resolve(1)].length)",
  "'y'.repeat(300_000).length", "new ArrayBuffer(3)",
];

const ARGUMENTS = [
  "", "undefined", "null", "1, 'two', [3]", "{ at: new Date(0), gone: undefined, list: [undefined, , NaN] }", "new Uint8Array([1, 2, 255])",
  "{ deep: { bytes: new Uint8Array([9]).buffer } }", "new Map([[1, 2]])", "'x'.repeat(300_000)", "{ toJSON: () => 'own' }", "'\\ud800'", "[[[[[[[[[[1]]]]]]]]]]",
];

async function outcomeOf(executor, code, providers) {
  return runCode({ code, executor, providers }).then(
    ({ result, logs }) => ({ result: shown(result), logs }),
    (error) => ({ error: error.message }),
  );
}

const short = (value) => (typeof value === "string" && value.length > 1000 ? `${value.length} characters` : value);

export const valueScenarios = {
  async "what tools return"(executor) {
    const outcomes = {};
    for (const [name, value] of Object.entries(RETURNED)) {
      const providers = [resolveProvider({ tools: { give: { execute: async () => value } } })];
      const code = `async () => {
        const given = await codemode.give({});
        const kinds = [typeof given, Array.isArray(given), Object.prototype.toString.call(given), Object.keys(Object(given)).length];
        return [kinds, typeof given === "string" ? given.length : given];
      }`;
      outcomes[name] = await outcomeOf(executor, code, providers);
    }
    return outcomes;
  },

  async "what programs return"(executor) {
    const outcomes = {};
    for (const text of RESULTS) outcomes[text] = await outcomeOf(executor, `async () => ${text}`, []);
    return outcomes;
  },

  async "what tools are called with"(executor) {
    const outcomes = {};
    for (const text of ARGUMENTS) {
      const seen = [];
      const providers = [resolveProvider({ tools: { take: { execute: async (...args) => void seen.push(args.map((arg) => shown(arg))) } } })];
      outcomes[text] = { ...(await outcomeOf(executor, `async () => { await codemode.take(${text}); }`, providers)), seen: seen.map((args) => args.map(short)) };
    }
    return outcomes;
  },

  async "what tools throw"(executor) {
    const thrown = { error: new Error("plain"), text: "only text", nothing: undefined, object: { code: 7 }, number: 0, caused: new Error("outer", { cause: new Error("inner") }) };
    const outcomes = {};
    for (const [name, value] of Object.entries(thrown)) {
      const fail = async () => {
        throw value;
      };
      const providers = [resolveProvider({ tools: { fail: { execute: fail } } })];
      outcomes[name] = [
        await outcomeOf(executor, "async () => { try { await codemode.fail(); } catch (e) { return [e instanceof Error, e.message]; } }", providers),
        await outcomeOf(executor, "async () => await codemode.fail()", providers),
      ];
    }
    return outcomes;
  },
};
