// The package as Node loads it.

import type { CommonOptions } from "../contract.js";
import { badRequest, shown } from "../errors.js";
import { milliseconds } from "../options.js";
import { RemoteExecutor } from "../remote_executor.js";
import { type ReachOptions, reachDaemon } from "./reaching.js";

export * from "../exports.js";
export type { ReachOptions } from "./reaching.js";
export type { TlsOptions } from "./dial.js";

/** Options of `DynamicWorkerExecutor`. Mirrors upstream's type of that name. */
export interface DynamicWorkerExecutorOptions extends CommonOptions, ReachOptions {}

const CONNECT_MS = 10_000;

/**
 * Runs programs that a model wrote, each in a V8 isolate of its own, in the `codemode-executor` daemon.
 *
 * With `url` and `token` it is a daemon that runs already; without, this process starts one of its own, which ends with it.
 * It needs no closing: nothing of it keeps a process alive that has nothing else to do.
 *
 * Mirrors upstream's `DynamicWorkerExecutor`. Upstream takes any number as `timeout`.
 */
export class DynamicWorkerExecutor extends RemoteExecutor {
  /** @throws {ExecutorError} `BAD_REQUEST`: an option is unusable; the message names it */
  constructor(options: DynamicWorkerExecutorOptions = {}) {
    if (typeof options !== "object" || options === null) throw badRequest(`options must be an object, not ${shown(options)}`);
    super(options, () => reachDaemon(options, milliseconds("connectTimeout", options.connectTimeout, CONNECT_MS)));
  }
}
