// Compiled, never run: what a host of upstream's writes, with this package's executor in its place.
import type {
  ConnectorBinding as TheirConnector,
  DynamicWorkerExecutorOptions as TheirOptions,
  ExecuteOptions as TheirExecuteOptions,
  ExecuteResult as TheirResult,
  Executor as TheirExecutor,
  ResolvedProvider as TheirProvider,
  ToolProvider as TheirToolProvider,
} from "@cloudflare/codemode";
import {
  type ConnectorBinding,
  DynamicWorkerExecutor,
  type DynamicWorkerExecutorOptions,
  type ExecuteOptions,
  type ExecuteResult,
  type Executor,
  ExecutorError,
  type ResolvedProvider,
  ToolDispatcher,
  type ToolProvider,
  sanitizeToolName,
} from "codemode-executor-bridge";

declare const env: { LOADER: WorkerLoader; OUTBOUND: Fetcher };
declare const theirProviders: TheirProvider[];
declare const theirConnectors: TheirConnector[];
declare const theirOptions: TheirOptions;

/** The only line that changes. */
const executor: TheirExecutor = new DynamicWorkerExecutor({ url: "wss://daemon", token: "…", loader: env.LOADER, timeout: 30_000, globalOutbound: env.OUTBOUND, modules: { "a.js": "" }, bindings: { KEY: "v" } });

/** Upstream's options, spread. */
export const spread: TheirExecutor = new DynamicWorkerExecutor({ ...theirOptions, url: "wss://daemon", token: "…" });

export async function host(): Promise<TheirResult> {
  const result: TheirResult = await executor.execute("async () => 1", theirProviders, { connectors: theirConnectors });
  return result.error === undefined ? result : executor.execute("async () => 1", { f: async (x: unknown) => x });
}

// Each type of this package takes what upstream's takes, and gives what upstream's gives.
export const results: [TheirResult, ExecuteResult] = [{} as ExecuteResult, {} as TheirResult];
export const providers: [TheirProvider, ResolvedProvider] = [{} as ResolvedProvider, {} as TheirProvider];
export const connectors: [TheirConnector, ConnectorBinding] = [{} as ConnectorBinding, {} as TheirConnector];
export const executeOptions: [TheirExecuteOptions, ExecuteOptions] = [{} as ExecuteOptions, {} as TheirExecuteOptions];
export const executors: [TheirExecutor, Executor] = [{} as Executor, {} as TheirExecutor];
export const toolProvider: ToolProvider = {} as TheirToolProvider;
export const options: Omit<DynamicWorkerExecutorOptions, "url" | "token"> = {} as TheirOptions;

export async function additions(own: DynamicWorkerExecutor, signal: AbortSignal): Promise<string> {
  await using closed = own;
  try {
    await closed.execute("async () => 1", [], { signal, retainHandles: true });
  } catch (error) {
    if (error instanceof ExecutorError) return error.code;
  }
  const outbound: DynamicWorkerExecutorOptions["globalOutbound"] = async (request) => new Response(request.url);
  new DynamicWorkerExecutor({ url: "wss://daemon", token: "…", globalOutbound: outbound, modules: { m: { json: {} } } });
  return `${await new ToolDispatcher({}).call(sanitizeToolName("a.b"), "[]")}`;
}

// @ts-expect-error a timeout is a number
new DynamicWorkerExecutor({ url: "wss://daemon", token: "…", timeout: "60" });
// @ts-expect-error code is a text
export const bad = executor.execute(1, []);
