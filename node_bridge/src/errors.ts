// Faults of the machinery. A program that fails is an outcome, in the envelope; what is here rejects.

/**
 * What `ExecutorError.code` can be.
 *
 * Of this package: `BAD_REQUEST` (an argument is unusable), `CLOSED`, `CONNECT_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`,
 * `CONNECTION_LOST` (the run may have run in part), `PROTOCOL_ERROR`, `QUEUE_FULL`, `QUEUE_TIMEOUT`, `PYTHON_NOT_FOUND`,
 * `DAEMON_START_FAILED`, `HANDLE_DISPOSED`. Of the daemon, whose words are passed on: `BAD_REQUEST`, `BUSY`, `DRAINING`,
 * `HANDLE_CALL_FAILED`, `HANDLE_DISPOSED`, `HARDENING_UNAVAILABLE`, `INTERNAL`, `NESTING_LIMIT`, `QUEUE_FULL`,
 * `QUEUE_TIMEOUT`, `RETAINED_LIMIT`, `WORKER_CRASHED`, `WORKER_START_FAILED`, `CLOSED`, `CANCELLED`.
 */
export type ErrorCode = string;

/** More about a fault than its text. */
export interface FaultDetails {
  /** Whole milliseconds after which another attempt is likely to be welcome. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The machinery failed: the daemon is not to be reached, has no room, or was lost. The program's own failures are in
 * `ExecuteResult.error`.
 */
export class ExecutorError extends Error {
  override readonly name: string = "ExecutorError";
  /** Stable upper-case identifier, made for programs. */
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** A function that a program returned was called, and threw. `programError` is the name of what it threw. */
export class HandleCallFailed extends ExecutorError {
  override readonly name = "HandleCallFailed";
  readonly programError: string;
  readonly programStack: string;

  constructor(message: string, programError: string, programStack: string) {
    super("HANDLE_CALL_FAILED", message);
    this.programError = programError;
    this.programStack = programStack;
  }
}

/** An argument is unusable; nothing has run. */
export function badRequest(message: string): ExecutorError {
  return new ExecutorError("BAD_REQUEST", message);
}

/** A value as a message shows it: a few characters, whatever it is. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}
