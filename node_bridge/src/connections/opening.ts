// Opening a connection, more than once if need be: nothing has been sent yet, and a daemon that restarts is back in a moment.

import { Connection, type ConnectionOptions } from "./connection.js";
import type { Wanted } from "./source.js";
import { backoffMs, orAborted, sleep } from "./timers.js";
import { ConnectFailure, type Dial } from "./transport.js";

/**
 * @param dial answers how to reach the daemon, for each attempt
 * @throws {ExecutorError} there is no connection to be had in time, or it makes no sense to ask again
 */
export async function openPatiently(
  dial: () => Promise<Dial>,
  options: ConnectionOptions,
  wanted: Wanted,
): Promise<Connection> {
  const connectUntil = Date.now() + options.connectTimeoutMs;
  for (let attempt = 0; ; attempt += 1) {
    const connectTimeoutMs = Math.max(1, connectUntil - Date.now());
    try {
      const made = await orAborted(dial(), wanted.signal);
      return await Connection.open(made, { ...options, connectTimeoutMs }, wanted.signal);
    } catch (error) {
      if (!(error instanceof ConnectFailure) || !error.again) throw error;
      const pauseMs = backoffMs(attempt, error.retryAfterMs);
      // One that is busy says when; one that is not there gets as long as a connection may take.
      const until = error.retryAfterMs === undefined ? Math.min(connectUntil, wanted.until) : wanted.until;
      if (Date.now() + pauseMs > until) throw error;
      await sleep(pauseMs, wanted.signal);
    }
  }
}
