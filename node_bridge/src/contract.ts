// The shapes of upstream's contract, and what this package adds to them.

import type { Limits } from "./protocol/messages.js";

/** `Request` and `Response` of the platform that this is compiled for; nothing is known of them where it has none. */
type PlatformRequest = typeof globalThis extends { Request: { prototype: infer T } } ? T : unknown;
type PlatformResponse = typeof globalThis extends { Response: { prototype: infer T } } ? T : unknown;

/** What a program came to. Read `error` first. Mirrors upstream's `ExecuteResult`. */
export interface ExecuteResult {
  /** The value that it returned, as by structured clone; `undefined` if it returned nothing or failed. */
  result: unknown;
  /** The message of what failed, never empty; absent if nothing did. */
  error?: string;
  /** What it wrote to `console.log`, `console.warn` (`[warn] …`) and `console.error` (`[error] …`), in order. */
  logs?: string[];
}

/** A tool: called with the program's arguments. */
export type ToolFunction = (...args: unknown[]) => Promise<unknown>;

/** A namespace of tools, ready to be executed. Mirrors upstream's `ResolvedProvider`. */
export interface ResolvedProvider {
  /** The identifier under which a program finds it. */
  name: string;
  /** Functions by name. */
  fns: Record<string, ToolFunction>;
  /** Statements that run before the program. What they assign to the namespace comes before its tools. */
  prelude?: string;
}

/**
 * A namespace without a list of tools: every method of it is a call of `binding.callTool(method, argument)`, whose values
 * cross as by structured clone. Mirrors upstream's `ConnectorBinding`.
 */
export interface ConnectorBinding {
  name: string;
  binding: {
    callTool(method: string, args: unknown): Promise<unknown>;
  };
}

/** Options of one `execute`. Mirrors upstream's `ExecuteOptions`; all but `connectors` are additions. */
export interface ExecuteOptions {
  /** Further namespaces. */
  connectors?: ConnectorBinding[];
  /** Ends the run when it is aborted: `execute` then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Functions in the result can be called (`await result.next()`), in the program's isolate, until the envelope is
   * disposed (`envelope[Symbol.dispose]()`) or nobody has called for a while. Without it a function in a result is an error.
   */
  retainHandles?: boolean | undefined;
}

/** Runs programs. Mirrors upstream's `Executor`. */
export interface Executor {
  execute(
    code: string,
    providersOrFns: ResolvedProvider[] | Record<string, ToolFunction>,
    options?: ExecuteOptions,
  ): Promise<ExecuteResult>;
}

/** A tool with no more than a description. Mirrors upstream's type of that name. */
export type SimpleToolRecord = Record<string, { description?: string; execute: (args: unknown) => Promise<unknown> }>;

/** Tools by name: descriptors, an AI SDK `ToolSet`, or simple records. Wider than upstream's type of that name. */
export type ToolProviderTools = SimpleToolRecord | Record<string, object>;

/** Tools under a namespace. Mirrors upstream's `ToolProvider`. */
export interface ToolProvider {
  /** The namespace; `codemode` without one. */
  name?: string;
  tools: ToolProviderTools;
  /** Declarations for the model. */
  types?: string;
}

/** Serves a program's requests to the network: a function, or what has `fetch` as a Fetcher of Workers has. */
export type Outbound =
  | ((request: PlatformRequest) => PlatformResponse | Promise<PlatformResponse>)
  | { fetch(request: PlatformRequest): PlatformResponse | Promise<PlatformResponse> };

/** The source of a module: an ES module, or what the only member says. */
export type ModuleSource =
  | string
  | { js: string }
  | { cjs: string }
  | { text: string }
  | { json: unknown }
  | { data: ArrayBuffer | Uint8Array };

/** What every executor of this package takes. Mirrors upstream's `DynamicWorkerExecutorOptions`. */
export interface CommonOptions {
  /** Upstream's; accepted so that a call needs no change, and ignored. */
  loader?: unknown;
  /** Wall time of a program, waiting for tools included. Milliseconds, at most 2^31 - 1; 60 000 without. */
  timeout?: number | undefined;
  /** Serves the programs' `fetch`. Without it, and with `null`, programs have no network. */
  globalOutbound?: Outbound | null | undefined;
  /** What programs can import besides `node:` modules, by name. `executor.js` is reserved and ignored. */
  modules?: Record<string, ModuleSource> | undefined;
  /**
   * What programs find as `this.env`: values, which cross as by structured clone; functions, instances of `RpcTarget` and, in
   * workerd, stubs of services, which programs can call.
   */
  bindings?: Record<string, unknown> | undefined;
  /** Tighter bounds than the daemon's, by their names in the native `Limits`. */
  limits?: Partial<Omit<Limits, "timeout_s">> | undefined;
  /** How long opening a connection may take, attempts that fail included. Milliseconds; 10 000 without. */
  connectTimeout?: number | undefined;
  /** How long a run may wait for a connection, and for a daemon that is busy. Milliseconds; 30 000 without. */
  queueTimeout?: number | undefined;
}

export type { Limits };
