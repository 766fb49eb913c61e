// One run from the host's side: it serves the program's calls, keeps what it logs, and knows how it ended.

import type { Connection, End, IncomingCall, InvocationAnswer, RunHandler } from "../connections/connection.js";
import { after, type Timer } from "../connections/timers.js";
import { ExecutorError } from "../errors.js";
import type { Limits, LogLine } from "../protocol/messages.js";
import type { RunSpec } from "../protocol/session.js";
import { bytesBeyond } from "../protocol/utf8.js";
import { type ToolFailure, toolFailureOf } from "../values/tools.js";
import { Retained } from "./retained.js";
import type { Serving } from "./serving.js";

// What upstream captures of the console, and how it writes it. A notice is the harness's own: further lines are dropped.
const PREFIXES = new Map([
  ["log", ""],
  ["warn", "[warn] "],
  ["error", "[error] "],
  ["notice", "[notice] "],
]);
// Over and above its deadline, how long a daemon may take to say that a run has ended.
const OVERDUE_MS = 30_000;
const LAST_LOOK_MS = 1000;
// How long one that was cancelled may take.
const CANCEL_MS = 5000;
const HEADER_ROOM = 4096;
const MAX_FAILURE_MESSAGE = 1_000_000;
const MAX_FAILURE_MORE = 500_000;

/** How tool calls are made part of their run. */
export type Inside = (token: string, action: () => void) => void;

/** Whether a call's answer is wanted. Few ask for the signal, and one that nobody asks for is never made. */
class Unwanted {
  #controller: AbortController | undefined;
  #reason: unknown;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}

export class HostRun implements RunHandler {
  readonly logs: string[] = [];
  /** What holds the functions of its result alive. */
  retained: Retained | undefined;
  readonly #connection: Connection;
  readonly #serving: Serving;
  readonly #inside: Inside;
  readonly #onOver: () => void;
  readonly #answerBytes: number;
  readonly #limits: Limits;
  readonly #calls = new Map<number, Unwanted>();
  #number = 0;
  #token = "";
  #deadline: Timer | undefined;
  #settle: ((end: End) => void) | undefined;
  #fail: ((error: ExecutorError) => void) | undefined;

  /**
   * @param connection on which nothing runs
   * @param limits of the run
   * @param inside calls an action as part of a tool call of the run of a token
   * @param onOver called once, when the connection is free again, or gone
   */
  constructor(connection: Connection, serving: Serving, limits: Limits, inside: Inside, onOver: () => void) {
    this.#connection = connection;
    this.#serving = serving;
    this.#inside = inside;
    this.#onOver = onOver;
    this.#limits = limits;
    this.#answerBytes = Math.min(limits.tool_result_bytes, connection.hello.maxMessageBytes - HEADER_ROOM);
  }

  /**
   * Run it.
   *
   * @returns how it ended
   * @throws {ExecutorError} it cannot be sent, or its connection was lost
   */
  run(spec: RunSpec): Promise<End> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      try {
        this.#number = this.#connection.begin(spec, this);
      } catch (error) {
        reject(error as Error); // before the connection goes, which is no news then
        this.#onOver();
      }
    });
  }

  /** Nobody wants its end any more. */
  abandon(): void {
    this.#connection.cancel(this.#number);
    this.#endCalls();
    this.#watch(CANCEL_MS, "the daemon did not end a run that was cancelled");
  }

  onAccepted(token: string): void {
    this.#token = token;
    this.#watch(this.#limits.timeout_s * 1000 + OVERDUE_MS, "the daemon did not end a run whose time was over");
  }

  onCall(call: IncomingCall): void {
    this.#inside(this.#token, () => void this.#serve(call));
  }

  async #serve(call: IncomingCall): Promise<void> {
    const unwanted = new Unwanted();
    this.#calls.set(call.call, unwanted);
    try {
      const answer = await this.#serving.serve(call, this.#answerBytes, this.#connection, unwanted);
      const size = bytesBeyond(answer, this.#answerBytes);
      if (size === undefined) return this.#connection.answer(this.#number, call.call, answer);
      const what = call.kind === "env" || call.kind === "outbound" ? call.tool : `${call.provider}.${call.tool}`;
      const message = `the result of ${what} is ${size} bytes long; the limit is ${this.#answerBytes} bytes (Limits.tool_result_bytes)`;
      this.#connection.answerError(this.#number, call.call, { message });
    } catch (thrown) {
      this.#connection.answerError(this.#number, call.call, bounded(toolFailureOf(thrown)));
    } finally {
      this.#calls.delete(call.call);
    }
  }

  onCancelCall(call: number): void {
    this.#calls.get(call)?.abort(new DOMException("The program does not want the answer any more", "AbortError"));
  }

  onLogs(lines: readonly LogLine[]): void {
    for (const [level, text] of lines) {
      const prefix = PREFIXES.get(level);
      if (prefix !== undefined) this.logs.push(prefix + text);
    }
  }

  onEnd(end: End): void {
    this.#deadline?.clear();
    if (end.t === "result" && end.retained) {
      this.retained = new Retained(this.#connection, this.#number, this.#limits, () => this.abandon());
    } else {
      this.#endCalls();
      this.#onOver();
    }
    this.#settle?.(end);
  }

  onInvocation(answer: InvocationAnswer): void {
    this.retained?.onInvocation(answer);
  }

  onOver(message: string): void {
    this.#deadline?.clear();
    this.#endCalls();
    this.retained?.end(message);
    this.#onOver();
  }

  onLost(error: ExecutorError): void {
    this.#deadline?.clear();
    this.#endCalls();
    this.retained?.end(error.message);
    this.#onOver();
    this.#fail?.(error);
  }

  /** A request to the network ends with its program. Tools run to their end: they may have something to finish. */
  #endCalls(): void {
    this.#serving.end();
    if (this.#calls.size === 0) return;
    for (const unwanted of this.#calls.values()) unwanted.abort(new DOMException("The program has ended", "AbortError"));
    this.#calls.clear();
  }

  /** This host may have been busy: what has come meanwhile is read before the daemon is judged. */
  #watch(ms: number, why: string): void {
    this.#deadline?.clear();
    this.#deadline = after(ms, () => {
      this.#deadline = after(LAST_LOOK_MS, () => this.#connection.terminate(why), true);
    }, true); // prettier-ignore
  }
}

/** As far as a message may be. The daemon cuts it to what a program gets, and says so. */
function bounded({ message, ...more }: ToolFailure): ToolFailure {
  const cut = message.slice(0, MAX_FAILURE_MESSAGE);
  return bytesBeyond(JSON.stringify(more), MAX_FAILURE_MORE) === undefined ? { message: cut, ...more } : { message: cut };
}
