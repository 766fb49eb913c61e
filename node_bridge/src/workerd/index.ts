// The package as workerd loads it: a socket belongs to the request that opened it, so every run opens one.

import { OnePerRun } from "../connections/single.js";
import type { CommonOptions } from "../contract.js";
import { badRequest, shown } from "../errors.js";
import { checkedToken, milliseconds } from "../options.js";
import { RemoteExecutor } from "../remote_executor.js";
import { NO_CONTEXT, type NestingContext } from "../run/nesting.js";
import { contextOf } from "../run/storage.js";
import { dialWorker } from "./dial.js";

export * from "../exports.js";

/** Options of `DynamicWorkerExecutor`. Mirrors upstream's type of that name. */
export interface DynamicWorkerExecutorOptions extends CommonOptions {
  /** Where the daemon listens: `wss://host:port`, or `ws://…`. */
  url: string;
  /** The daemon's token. */
  token: string;
}

const CONNECT_MS = 10_000;

// With `nodejs_compat` or `nodejs_als` a run that a tool call starts knows its parent. A Worker without them has no such thing,
// and the module is then not to be had.
const context: NestingContext = await import("node:async_hooks").then(
  ({ AsyncLocalStorage }) => contextOf(AsyncLocalStorage),
  () => NO_CONTEXT,
);

const daemons = new Map<string, object>();

/** Runs programs in the `codemode-executor` daemon at `url`. See the package's class of that name for Node. */
export class DynamicWorkerExecutor extends RemoteExecutor {
  /** @throws {ExecutorError} `BAD_REQUEST`: an option is unusable; the message names it */
  constructor(options: DynamicWorkerExecutorOptions) {
    if (typeof options !== "object" || options === null) throw badRequest(`options must be an object, not ${shown(options)}`);
    super(options, () => {
      const url = checkedUrl(options.url);
      const connectTimeoutMs = milliseconds("connectTimeout", options.connectTimeout, CONNECT_MS);
      const dial = dialWorker(url, checkedToken(options.token));
      const source = new OnePerRun(dial, { connectTimeoutMs, later: (action) => queueMicrotask(action) });
      const daemon = daemons.get(url) ?? {};
      daemons.set(url, daemon);
      return { source, daemon, context, release: () => source.close() };
    });
  }
}

function checkedUrl(url: unknown): string {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^(?:ws|http)s?:$/.test(parsed.protocol)) {
    throw badRequest(`url must be wss://host:port or ws://host:port, not ${shown(url)}: a Worker has no daemon of its own`);
  }
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    throw badRequest("url holds more than an address; a token never goes into a URL: use the option token");
  }
  return parsed.href.replace(/^http/, "ws");
}
