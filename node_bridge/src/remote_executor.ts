// The executor on any platform: a call becomes a run on some connection, and how that ended becomes the envelope.

import type { End } from "./connections/connection.js";
import { type ConnectionSource, closed } from "./connections/source.js";
import { backoffMs, sleep } from "./connections/timers.js";
import type { CommonOptions, ExecuteOptions, ExecuteResult, Executor, ResolvedProvider, ToolFunction } from "./contract.js";
import { ExecutorError, badRequest, shown } from "./errors.js";
import { checkedModules } from "./modules.js";
import { refusalOfNames } from "./names.js";
import { checkedConnectors, checkedProviders, milliseconds } from "./options.js";
import { type OutboundHandler, outboundHandler } from "./outbound.js";
import type { Limits } from "./protocol/messages.js";
import type { ModuleSpec, ProviderSpec } from "./protocol/session.js";
import { bytesBeyond } from "./protocol/utf8.js";
import { ANSWERED } from "./run/answered.js";
import { HostRun } from "./run/host_run.js";
import { type NestingContext, insideRun } from "./run/nesting.js";
import { Serving, decodeCloneText } from "./run/serving.js";
import { type Env, encodeEnv } from "./values/env.js";
import { ResultRefused } from "./values/result.js";

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_QUEUE_MS = 30_000;
// The longest that any daemon carries; a fraction of a second less than the longest timer.
const LONGEST_S = 2_147_483;
// Nothing has run, and a moment later it might.
const TRY_AGAIN = new Set(["BUSY", "QUEUE_FULL", "DRAINING"]);

/** What a platform gives. */
export interface Platform {
  readonly source: ConnectionSource;
  /** Stands for the daemon: runs that are started from tool calls find their parents by it. */
  readonly daemon: object;
  readonly context: NestingContext;
  /** This executor needs it no more. */
  release(): Promise<void>;
}

/** The namespaces of a run. */
interface Namespaces {
  readonly specs: readonly ProviderSpec[];
  readonly serving: Serving;
}

let noticed = false;

export class RemoteExecutor implements Executor {
  readonly #platform: Platform;
  readonly #timeoutMs: number;
  readonly #queueTimeoutMs: number;
  readonly #limits: Partial<Limits>;
  readonly #modules: readonly ModuleSpec[];
  readonly #env: Env;
  readonly #outbound: OutboundHandler | undefined;
  readonly #running = new Set<AbortController>();
  #closed = false;
  #released: Promise<void> | undefined;
  #timeoutNoticed = false;

  /** @throws {ExecutorError} `BAD_REQUEST`: an option is unusable; the message names it */
  protected constructor(options: CommonOptions, platform: () => Platform) {
    this.#timeoutMs = milliseconds("timeout", options.timeout, DEFAULT_TIMEOUT_MS);
    this.#queueTimeoutMs = milliseconds("queueTimeout", options.queueTimeout, DEFAULT_QUEUE_MS);
    this.#limits = { ...options.limits, timeout_s: Math.min(this.#timeoutMs / 1000, LONGEST_S) };
    this.#modules = checkedModules(options.modules);
    this.#env = encodeEnv(checkedBindings(options.bindings));
    this.#outbound = outboundHandler(options.globalOutbound);
    this.#platform = platform();
    if (options.loader === undefined || options.loader === null || noticed) return;
    noticed = true;
    console.info("[codemode-executor] The option loader is ignored: programs run in the codemode-executor daemon.");
  }

  /**
   * Run one program.
   *
   * @param code an async arrow function, statements, or either in a Markdown fence
   * @param providersOrFns the namespaces of tools in its scope. Functions by name are deprecated: they are `codemode`.
   * @param options further namespaces, and a signal that ends it
   * @returns the envelope. A program that failed, in whatever way, is in `error`; so are names that cannot be used.
   * @throws {ExecutorError} the machinery failed; `code` says how. `CONNECTION_LOST`: it may have run in part, and is not
   *   run again. Every other fault before `accepted` means that nothing has run.
   *
   * Mirrors upstream's `execute`, which rejects for many things that a program can do.
   */
  async execute(
    code: string,
    providersOrFns: ResolvedProvider[] | Record<string, ToolFunction>,
    options?: ExecuteOptions,
  ): Promise<ExecuteResult> {
    if (typeof code !== "string") throw badRequest(`code must be a string, not ${shown(code)}`);
    const providers = checkedProviders(providersOrFns);
    const connectors = checkedConnectors(options);
    const reason = refusalOfNames(providers, connectors);
    if (reason !== undefined) return { result: undefined, error: reason };
    if (this.#closed) throw closed();
    options?.signal?.throwIfAborted();
    const specs: ProviderSpec[] = [
      ...providers.map(({ name, fns, prelude }) => ({ name, tools: Object.keys(fns), ...(prelude && { prelude }) })),
      ...connectors.map(({ name }) => ({ name, connector: true as const })),
    ];
    const serving = new Serving(providers, connectors, this.#env, this.#outbound);
    return await this.#untilEnded(options?.signal, (signal) =>
      this.#run(code, { specs, serving }, options?.retainHandles === true, signal),
    );
  }

  /** Take no more programs, and end those that run: they reject with `CLOSED`. May be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const running of this.#running) running.abort(closed());
    this.#released ??= this.#platform.release();
    await this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Gives `action` a signal of its own that follows the caller's and `close`. */
  async #untilEnded<T>(outer: AbortSignal | undefined, action: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = new AbortController();
    const onAbort = (): void => running.abort(outer?.reason);
    outer?.addEventListener("abort", onAbort, { once: true });
    this.#running.add(running);
    try {
      return await action(running.signal);
    } finally {
      this.#running.delete(running);
      outer?.removeEventListener("abort", onAbort);
    }
  }

  /** The daemon's operator has the last word, and the host should know. */
  #noticeTimeout(seconds: number): void {
    if (this.#timeoutNoticed || seconds >= (this.#limits.timeout_s ?? 0)) return;
    this.#timeoutNoticed = true;
    console.warn(
      `[codemode-executor] The option timeout is ${this.#timeoutMs} ms, and the daemon gives no run more than` +
        ` ${seconds * 1000} ms: start it with a wider --limit timeout_s.`,
    );
  }

  async #run(code: string, namespaces: Namespaces, retain: boolean, signal: AbortSignal): Promise<ExecuteResult> {
    const until = Date.now() + this.#queueTimeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt(code, namespaces, retain, until, signal);
      if (!("refused" in outcome)) return outcome;
      const { code: why, message, retryAfterS } = outcome.refused;
      const retryAfterMs = retryAfterS === undefined ? undefined : Math.ceil(retryAfterS * 1000);
      const pauseMs = backoffMs(attempt, retryAfterMs);
      if (!TRY_AGAIN.has(why) || Date.now() + pauseMs > until) throw new ExecutorError(why, message, { retryAfterMs });
      await sleep(pauseMs, signal);
    }
  }

  async #attempt(
    code: string,
    { specs, serving }: Namespaces,
    retain: boolean,
    until: number,
    signal: AbortSignal,
  ): Promise<ExecuteResult | { readonly refused: Extract<End, { t: "refused" }> }> {
    const { source, daemon, context } = this.#platform;
    const parent = context.getStore()?.get(daemon);
    const depth = parent === undefined ? 0 : parent.depth + 1;
    const connection = await source.acquire({ depth, until, signal });
    const limits = tightened(connection.hello.limits, this.#limits);
    this.#noticeTimeout(limits.timeout_s);
    const size = bytesBeyond(code, limits.program_bytes);
    if (size !== undefined) {
      source.release(connection);
      const text = `the program is ${size} bytes long; the limit is ${limits.program_bytes} bytes: send a shorter one`;
      return { result: undefined, error: text, logs: [] };
    }
    const run = new HostRun(
      connection,
      serving,
      limits,
      insideRun(context, daemon, depth),
      () => source.release(connection),
    );
    const spec = {
      code,
      providers: specs,
      functions: [...this.#env.functions.keys()],
      services: this.#env.services.size > 0 ? [...this.#env.services.keys(), ANSWERED] : [],
      modules: this.#modules,
      limits: this.#limits,
      outbound: this.#outbound !== undefined,
      retain,
      parent: parent?.token,
      env: this.#env.text,
    };
    const end = await ended(run, run.run(spec), signal);
    return end.t === "refused" ? { refused: end } : envelope(run, end);
  }
}

/** Settles as `end`, or at once when the signal is aborted. */
async function ended(run: HostRun, end: Promise<End>, signal: AbortSignal): Promise<End> {
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason as Error);
      run.abandon();
    };
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    end.then(
      (value) => (settled(), resolve(value)),
      (error: unknown) => (settled(), reject(error as Error)),
    );
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

function envelope(run: HostRun, end: Exclude<End, { t: "refused" }>): ExecuteResult {
  const { logs, retained } = run;
  switch (end.t) {
    case "fault":
      throw new ExecutorError(end.code, end.message);
    case "error":
      return { result: undefined, error: end.message || "the program failed without a message", logs };
    case "result":
      break;
  }
  try {
    const handle = retained === undefined ? undefined : (number: number) => retained.handle(number);
    const made: ExecuteResult = { result: decodeCloneText(end.payload, handle), logs };
    if (retained === undefined) return made;
    // As upstream's, whose envelope holds stubs.
    return Object.defineProperty(made, Symbol.dispose, { value: () => retained.dispose(), enumerable: false });
  } catch (error) {
    if (!(error instanceof ResultRefused)) throw error;
    retained?.dispose();
    return { result: undefined, error: `the result cannot be decoded: ${error.message}`, logs };
  }
}

/** The daemon's limits, with every bound that the run sets lower. */
function tightened(daemons: Limits, own: Partial<Limits>): Limits {
  const lower = Object.entries(own).filter(([name, value]) => {
    const widest = daemons[name as keyof Limits];
    return typeof value === "number" && (widest === null || value < widest);
  });
  return { ...daemons, ...(Object.fromEntries(lower) as Partial<Limits>) };
}

function checkedBindings(bindings: unknown): Record<string, unknown> {
  if (bindings === undefined) return {};
  if (typeof bindings !== "object" || bindings === null || Array.isArray(bindings)) {
    throw badRequest(`bindings must be an object of values by name, not ${shown(bindings)}`);
  }
  return bindings as Record<string, unknown>;
}
