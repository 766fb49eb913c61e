// One connection to a daemon: a session over a transport, the sign of life that each end owes the other, and whoever has
// the run that is going on.

import { ExecutorError } from "../errors.js";
import { Batch } from "../protocol/batch.js";
import { Close, type LogLine, type Message, Violation, messageBytesBeyond } from "../protocol/messages.js";
import { type Event, type RunSpec, Session } from "../protocol/session.js";
import { after, type Timer } from "./timers.js";
import { ConnectFailure, type Dial, type Transport } from "./transport.js";

type Of<T extends Event["t"]> = Extract<Event, { readonly t: T }>;
export type IncomingCall = Of<"call">;
/** How a run ended on the wire. */
export type End = Of<"refused" | "result" | "error" | "fault">;
export type InvocationAnswer = Of<"invoked" | "invoke_failed">;

/** Whoever has begun a run. */
export interface RunHandler {
  onAccepted(token: string): void;
  onCall(call: IncomingCall): void;
  onCancelCall(call: number): void;
  onLogs(lines: readonly LogLine[]): void;
  onEnd(end: End): void;
  onInvocation(answer: InvocationAnswer): void;
  /** The retained run is over. */
  onOver(message: string): void;
  /** The connection is gone, and the run with it. */
  onLost(error: ExecutorError): void;
}

export interface ConnectionOptions {
  /** Milliseconds until the socket is open and the daemon has said hello. */
  readonly connectTimeoutMs: number;
  /** Calls what it is given once the current turn is over. */
  readonly later: (action: () => void) => void;
}

// An answer is not even encoded while so much waits to leave.
const HIGH_WATER = 8 * 1024 * 1024;
// Pings without any sign of life, after which the peer is given up.
const MISSED = 2;
const MAX_HEARTBEAT_MS = 60_000;

export class Connection {
  readonly #session = new Session();
  readonly #batch: Batch;
  #transport: Transport | undefined;
  #handler: RunHandler | undefined;
  #closed = false;
  #heartbeat: Timer | undefined;
  #heard = false;
  #missed = 0;
  #buffered = 0;
  #greeted: (() => void) | undefined;
  #failed: ((error: ExecutorError) => void) | undefined;
  #onClosed: (() => void) | undefined;

  private constructor(later: (action: () => void) => void) {
    this.#batch = new Batch((head, tail) => this.#transport?.send(head, tail), later);
  }

  /**
   * Opens a connection, up to the daemon's hello.
   *
   * @throws {ConnectFailure} there is none
   */
  static async open(dial: Dial, options: ConnectionOptions, signal?: AbortSignal): Promise<Connection> {
    const connection = new Connection(options.later);
    const giveUp = new AbortController();
    const onAbort = (): void => giveUp.abort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const timer = after(options.connectTimeoutMs, () => giveUp.abort());
    try {
      signal?.throwIfAborted();
      await connection.#connect(dial, giveUp.signal);
      return connection;
    } catch (error) {
      if (!connection.#closed) connection.#transport?.terminate(); // else it is closing, with a word on why
      signal?.throwIfAborted();
      if (!giveUp.signal.aborted) throw error;
      throw new ConnectFailure("CONNECT_FAILED", `no daemon answered within ${options.connectTimeoutMs} ms`, true);
    } finally {
      timer.clear();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #connect(dial: Dial, signal: AbortSignal): Promise<void> {
    const greeted = new Promise<void>((resolve, reject) => {
      this.#greeted = resolve;
      this.#failed = reject;
    });
    greeted.catch(() => {}); // it is awaited below, unless dialling fails first
    const onAbort = (): void => this.#failed?.(new ConnectFailure("CONNECT_FAILED", "the daemon said nothing", true));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const events = {
        onOpen: (transport: Transport) => void (this.#transport = transport),
        onFrame: (text: string) => this.#onFrame(text),
        onClosed: (code: number, reason: string) => this.#onTransportClosed(code, reason),
      };
      await dial(events, signal);
      await greeted;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#greeted = this.#failed = undefined;
    }
    this.#transport?.hold(false);
    this.#beat();
  }

  /** What the daemon said of itself. */
  get hello(): Of<"hello"> {
    return this.#session.hello;
  }

  /** A run can begin here. */
  get usable(): boolean {
    return !this.#closed && this.#session.state === "idle" && !this.#session.draining;
  }

  /** Called once, when the connection is of no use any more. */
  set onClosed(action: () => void) {
    if (this.#closed) action();
    else this.#onClosed = action;
  }

  /**
   * Begin a run; the handler is told what becomes of it.
   *
   * @returns its number, by which everything that belongs to it is named
   * @throws {ExecutorError} it is larger than a message may be
   */
  begin(spec: RunSpec, handler: RunHandler): number {
    const { run, message } = this.#session.run(spec);
    const limit = this.hello.maxMessageBytes;
    const size = messageBytesBeyond(message, limit);
    if (size !== undefined) {
      this.close(); // its session believes that the run has begun
      const text = `the program, its modules and bindings are ${size} bytes long; the daemon takes ${limit} (max_message_bytes)`;
      throw new ExecutorError("BAD_REQUEST", text);
    }
    this.#handler = handler;
    this.#transport?.hold(true);
    this.#batch.add(message);
    this.#batch.flush();
    return run;
  }

  /** Settles when an answer may be encoded: what was sent before it has left. */
  async ready(): Promise<void> {
    while (this.isSlow) {
      this.#batch.flush();
      await this.#transport?.drained();
    }
  }

  /** So much waits to leave that an answer should not even be encoded: see `ready`. */
  get isSlow(): boolean {
    return !this.#closed && this.#transport !== undefined && this.#transport.buffered > HIGH_WATER;
  }

  /** Answer a call, if anybody still waits for it. */
  answer(run: number, call: number, payload: string): void {
    this.#add(this.#session.answer(run, call, payload));
  }

  answerError(run: number, call: number, failure: { readonly message: string }): void {
    this.#add(this.#session.answerError(run, call, failure));
  }

  /** End the run, if it goes on. */
  cancel(run: number): void {
    this.#add(this.#session.cancel(run));
    this.#batch.flush();
  }

  /** Call a function of a retained run. Answers the invocation's number, or `undefined` if the run is over. */
  invoke(run: number, handle: number, payload: string, timeoutS: number | undefined): number | undefined {
    const made = this.#session.invoke(run, handle, payload, timeoutS);
    this.#add(made?.message);
    return made?.invocation;
  }

  release(run: number, handles: readonly number[]): void {
    this.#add(this.#session.release(run, handles));
  }

  /** Whether a retained run keeps the process alive: while it is called. */
  hold(run: number, held: boolean): void {
    if (this.#session.isRetained(run)) this.#transport?.hold(held);
  }

  /** Leave in order. A run that is going on fails with `error`. */
  close(error = new ExecutorError("CLOSED", "this host has closed the connection")): void {
    if (this.#closed) return;
    this.#transport?.close(Close.DONE, "");
    this.#lose(error, error.message);
  }

  /** Leave at once. A run that is going on is lost. */
  terminate(why: string): void {
    if (this.#closed) return;
    this.#transport?.terminate();
    this.#lose(lost(why), why);
  }

  #add(message: Message | undefined): void {
    if (message !== undefined) this.#batch.add(message);
  }

  #onFrame(text: string): void {
    if (this.#closed) return;
    this.#heard = true;
    try {
      for (const event of this.#session.receive(text)) this.#deliver(event);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#transport?.close(Close.VIOLATION, closeReason(error.message));
      const why = `the daemon broke the protocol: ${error.message}`;
      this.#lose(lost(why, "PROTOCOL_ERROR"), why);
    }
  }

  #deliver(event: Event): void {
    const handler = this.#handler;
    switch (event.t) {
      case "hello":
        this.#greeted?.();
        break;
      case "draining":
        if (handler === undefined) this.close();
        break;
      case "accepted":
        handler?.onAccepted(event.token);
        break;
      case "call":
        handler?.onCall(event);
        break;
      case "cancel_call":
        handler?.onCancelCall(event.call);
        break;
      case "logs":
        handler?.onLogs(event.lines);
        break;
      case "invoked":
      case "invoke_failed":
        handler?.onInvocation(event);
        break;
      case "over":
        this.#rest();
        handler?.onOver(event.message);
        break;
      case "result":
        if (event.retained) this.#transport?.hold(false);
        else this.#rest();
        handler?.onEnd(event);
        break;
      case "refused":
      case "error":
      case "fault":
        this.#rest();
        handler?.onEnd(event);
    }
  }

  /** The run is over; the next may come. */
  #rest(): void {
    this.#handler = undefined;
    this.#transport?.hold(false);
  }

  #beat(): void {
    const ms = Math.min(Math.max(this.hello.heartbeatS * 1000, 100), MAX_HEARTBEAT_MS);
    this.#heartbeat = after(ms, () => this.#onBeat(), true);
  }

  /** Something has come, or at least something has left: a large message takes its time. */
  #onBeat(): void {
    const buffered = this.#transport?.buffered ?? 0;
    this.#missed = this.#heard || buffered < this.#buffered ? 0 : this.#missed + 1;
    this.#heard = false;
    this.#buffered = buffered;
    if (this.#missed > MISSED) return this.terminate("the daemon gives no sign of life");
    this.#batch.add(this.#session.ping());
    this.#batch.flush();
    this.#beat();
  }

  #onTransportClosed(code: number, reason: string): void {
    const why = describeClose(code, reason);
    this.#lose(lost(why), why);
  }

  /** `why` is for whoever waits for it to open. */
  #lose(error: ExecutorError, why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#heartbeat?.clear();
    const handler = this.#handler;
    this.#handler = undefined;
    const early = `the connection ended before it was of use: ${why}`;
    this.#failed?.(new ConnectFailure("CONNECT_FAILED", early, error.code === "CONNECTION_LOST"));
    handler?.onLost(error);
    this.#onClosed?.();
  }
}

function lost(why: string, code = "CONNECTION_LOST"): ExecutorError {
  const text = `the connection to the daemon was lost: ${why}. The program may have run in part; it is not run again`;
  return new ExecutorError(code, text);
}

/** A close frame has room for 123 bytes. */
const closeReason = (text: string): string => text.replace(/[^ -~]/g, "?").slice(0, 120);

function describeClose(code: number, reason: string): string {
  const said = reason === "" ? "" : `, ${JSON.stringify(reason.slice(0, 200))}`;
  switch (code) {
    case Close.GOING_AWAY:
      return `the daemon stops (1001${said})`;
    case Close.TOO_LARGE:
      return `a message was too large (1009${said})`;
    case Close.VIOLATION:
      return `the daemon says that this host broke the protocol (4400${said})`;
    case Close.TOO_SLOW:
      return `this host read too slowly (4408${said})`;
    case 1006:
      return `the socket ended without a word${said}`;
    default:
      return `it was closed (${code}${said})`;
  }
}
