// What a host does with an executor alone: one program, with the namespaces, connectors, bindings and network that a case
// names.
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";
import { resolveProvider } from "@cloudflare/codemode";
import { Desk } from "./desk.mjs";
import { makeExecutor } from "./executors.mjs";

export async function runProgram(step, host) {
  const { code, timeout = 30_000, modules } = step;
  const bindings = step.bindings && BINDINGS[step.bindings](host);
  const globalOutbound = step.outbound && OUTBOUNDS[step.outbound](host);
  const executor = makeExecutor(host.side, host.env, { timeout, bindings, globalOutbound, modules });
  const providers = (step.providers ?? []).map((name) => PROVIDERS[name](host));
  const connectors = step.connectors && step.connectors.map((name) => CONNECTORS[name](host));
  const { result, error, logs } = await executor.execute(code, providers, connectors && { connectors });
  return { result, error, logs };
}

/** Namespaces, most of them as upstream's `resolveProvider` makes them. */
const PROVIDERS = {
  /** The arguments stand as a program gave them. */
  files: ({ journal }) =>
    resolveProvider({
      name: "files",
      tools: {
        read: { description: "Read a file.", execute: (path, ...more) => (journal.note("read", path, ...more), Promise.resolve(`content of ${path}`)) },
        write: { description: "Write a file.", execute: async (...args) => (journal.note("write", ...args), args.length) },
      },
    }),
  /** Some of these tools may not be called by programs, some cannot be. */
  mixed: ({ journal }) =>
    resolveProvider({
      tools: {
        open: { description: "Free to call.", execute: async (args) => (journal.note("open", args), "opened") },
        guarded: { description: "Needs approval.", needsApproval: true, execute: async () => "never" },
        maybe: { description: "Needs approval at times.", needsApproval: async () => false, execute: async () => "never" },
        unguarded: { description: "Needs none.", needsApproval: false, execute: async () => "yes" },
        client: { description: "Runs at the client." },
        "dotted.name": { description: "Needs another name.", execute: async () => "dotted" },
      },
    }),
  clashing: () => resolveProvider({ tools: { "a.b": { execute: async () => 1 }, "a-b": { execute: async () => 2 } } }),
  withPrelude: ({ journal }) => ({
    name: "kit",
    fns: { twice: async (n) => (journal.note("twice", n), n * 2), base: async () => "a tool" },
    prelude: "kit.quadruple = async (n) => kit.twice(await kit.twice(n)); kit.base = () => 'of the prelude';",
  }),
  withBrokenPrelude: () => ({ name: "kit", fns: {}, prelude: "throw new Error('the prelude failed');" }),
  reserved: () => ({ name: "Promise", fns: {} }),
  desk: () => ({ name: "desk", fns: { kindOf: async () => "a tool" } }),
};

const CONNECTORS = {
  /** As upstream's runtime does it: an object of the host between program and connector. */
  desk: ({ ctx, env, journal }) => {
    const desk = new Desk(ctx, env, journal);
    class Calls extends RpcTarget {
      callTool(method, args) {
        return desk.executeTool(method, args, { executionId: "none" });
      }
    }
    return { name: "desk", binding: new Calls() };
  },
  /** A service has it: the binding is a stub. */
  remote: ({ ctx, journal }) => ({ name: "remote", binding: ctx.exports.Desks({ props: { journal: journal.key } }) }),
  /** It says what upstream's runtime says when a run has to stop. */
  control: () => ({
    name: "control",
    binding: {
      callTool: async (method) =>
        method === "pause" ? { __codemode_control__: "pause" } : { __codemode_control__: "error", message: `no ${method}` },
    },
  }),
  reserved: () => ({ name: "console", binding: { callTool: async () => 1 } }),
  twice: () => ({ name: "desk", binding: { callTool: async () => 1 } }),
};

/** A connector as a service of the Worker. */
export class Desks extends WorkerEntrypoint {
  async callTool(method, args) {
    if (method === "fail") throw new RangeError("the service failed");
    return { method, args, kinds: new Map([[1, new Date(0)]]) };
  }
}

const shared = { shared: true };
const ring = { name: "ring" };
ring.self = ring;

const BINDINGS = {
  plain: () => ({ TEXT: "t", NUMBER: 1.5, LIST: [1, { a: null }], FLAG: false }),
  kinds: () => ({
    map: new Map([["k", { v: 1 }]]),
    set: new Set([1, "1"]),
    date: new Date(86_400_000),
    regExp: /a+/giu,
    big: 2n ** 70n,
    numbers: [NaN, Infinity, -Infinity, -0],
    nothing: undefined,
    holes: [1, , 3], // prettier-ignore
    error: new TypeError("told so", { cause: 1 }),
    bytes: new Uint8Array([1, 2]),
    words: new Uint16Array([1, 65535]),
    buffer: new Uint8Array([9]).buffer,
    boxed: Object("boxed"),
  }),
  shared: () => ({ one: shared, two: [shared], ring }),
  taggedLike: () => ({ data: { __codemode_binary_v1__: "Uint8Array", data: "AQI=" }, fn: { __codemode_binary_v1__: "function", data: "x" }, when: new Date(0) }),
  service: ({ ctx, journal }) => ({ SERVICE: ctx.exports.Service({ props: { tenant: "acme", journal: journal.key } }) }),
  services: ({ ctx, journal }) => ({
    deep: { one: ctx.exports.Service({ props: { tenant: "one", journal: journal.key } }), list: [ctx.exports.Service({ props: { tenant: "two" } })] },
    since: new Date(0),
  }),
  environment: () => ({
    text: "t",
    object: { a: 1 },
    empty: {},
    none: null,
    inside: { when: new Date(0) },
    list: [new Date(0), NaN],
    undefinedInside: [{ u: undefined }],
    undefinedAlone: [undefined],
    holes: [1, , 3], // prettier-ignore
    named: Object.assign([1], { extra: new Date(0) }),
    toJSON: { toJSON: "data", a: 1 },
    twice: [shared, shared],
    bytesInside: { b: new Uint8Array(1) },
    boxedInside: [Object(1)],
    bigInside: { n: 1n },
    ring,
    map: new Map(),
    date: new Date(0),
    big: 1n,
    nan: NaN,
    infinity: Infinity,
    negative: -0,
    nothing: undefined,
    error: new Error("e"),
    bytes: new Uint8Array([1]),
    boxed: Object("boxed"),
  }),
  functions: ({ journal }) => ({ query: async (text) => (journal.note("query", text), new Map([[text, 1n]])), since: new Date(5) }),
  target: () => ({ store: new Store() }),
  instance: () => ({ broken: new Loose() }),
  symbol: () => ({ mark: Symbol("mark") }),
  namespace: ({ env }) => ({ AGENT: env.AGENT }),
};

class Store extends RpcTarget {
  secret = "a property is no method";

  get(key) {
    return new Map([[key, new Date(0)]]);
  }
}

class Loose {
  inside = 1;
}

const OUTBOUNDS = {
  service: ({ ctx, journal }) => ctx.exports.Service({ props: { journal: journal.key } }),
};
