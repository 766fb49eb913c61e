// Where a run gets its connection from.

import { ExecutorError } from "../errors.js";
import type { Connection } from "./connection.js";

export interface Wanted {
  /** How deeply the run is nested in tool calls of other runs. */
  readonly depth: number;
  /** Milliseconds, as `Date.now` counts them, until which it waits. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

export interface ConnectionSource {
  /**
   * A connection on which a run can begin.
   *
   * @throws {ExecutorError} there is none
   */
  acquire(wanted: Wanted): Promise<Connection>;
  /** The run is over, or was never begun. */
  release(connection: Connection): void;
  /** End all connections, and what runs on them. */
  close(): Promise<void>;
}

export function closed(): ExecutorError {
  return new ExecutorError("CLOSED", "the executor is closed");
}
