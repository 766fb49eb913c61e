// The client's end of one connection as a state machine: frames in, events out, messages made. It does no I/O, has no
// clock, and holds no value of a program.
//
//     OPENING ── hello ──► IDLE ── run ──► PENDING ── accepted ──► RUNNING ── result, error, fault ──► IDLE
//                                             └─ refused ─► IDLE          └─ result ─► RETAINED ── over ─► IDLE

import { type Incoming, type Limits, type Message, Violation, readFrame, write } from "./messages.js";

export type State = "opening" | "idle" | "pending" | "running" | "retained" | "broken";

/** A namespace as the daemon is told of it. */
export type ProviderSpec =
  | { readonly name: string; readonly tools: readonly string[]; readonly prelude?: string }
  | { readonly name: string; readonly connector: true };

export interface ModuleSpec {
  readonly name: string;
  /** Text; base64 for `data`. */
  readonly source: string;
  readonly kind?: string;
}

/** A run as the daemon is told of it. */
export interface RunSpec {
  readonly code: string;
  readonly providers: readonly ProviderSpec[];
  readonly functions: readonly string[];
  readonly services: readonly string[];
  readonly modules: readonly ModuleSpec[];
  readonly limits: Partial<Limits>;
  readonly outbound: boolean;
  readonly retain: boolean;
  readonly parent: string | undefined;
  /** `this.env` as JSON. */
  readonly env: string;
}

type Run = { readonly run: number };
type Of<T extends Incoming["t"]> = Extract<Incoming, { readonly t: T }>;
/** What has happened, in the order in which it did. Messages that a client has no use for are no events. */
export type Event = Exclude<Incoming, Of<"pong">>;

// The harness's own last words, beyond what a program may log; and the digit of a form, beyond a value.
const NOTICE_LINES = 16;
const NOTICE_CHARACTERS = 64 * 1024;
const FORM_CHARACTERS = 1;

export class Session {
  #state: State = "opening";
  #hello: Of<"hello"> | undefined;
  #draining = false;
  #run = 0;
  #lastCall = 0;
  #openCalls = new Set<number>();
  #lastInvocation = 0;
  #openInvocations = new Set<number>();
  #ping = 0;
  #logLines = 0;
  #logCharacters = 0;

  get state(): State {
    return this.#state;
  }

  /** What the daemon said of itself. */
  get hello(): Of<"hello"> {
    if (this.#hello === undefined) throw new Error("the daemon has not said hello");
    return this.#hello;
  }

  /** No run can begin here any more. */
  get draining(): boolean {
    return this.#draining;
  }

  /** The run has answered and goes on. */
  isRetained(run: number): boolean {
    return this.#state === "retained" && run === this.#run;
  }

  /**
   * What a frame says.
   *
   * @throws {Violation} the daemon does not keep to the protocol; the session is broken from then on
   */
  *receive(frame: string): Generator<Event, void, void> {
    if (this.#state === "broken") return;
    try {
      for (const message of readFrame(frame)) {
        const event = this.#take(message);
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (error instanceof Violation) this.#state = "broken";
      throw error;
    }
  }

  #take(message: Incoming): Event | undefined {
    switch (message.t) {
      case "hello":
        this.#expect(message, "opening");
        this.#hello = message;
        this.#state = "idle";
        return message;
      case "draining":
        this.#expect(message, "idle", "pending", "running", "retained");
        this.#draining = true;
        return message;
      case "pong":
        this.#expect(message, "idle", "pending", "running", "retained");
        if (message.n > this.#ping) throw new Violation("a pong answers what was not asked");
        return undefined;
      default:
        return this.#isOfThisRun(message) ? this.#takeOfRun(message) : undefined;
    }
  }

  #isOfThisRun(message: Run & Incoming): boolean {
    if (this.#state === "opening") throw unexpected(message, this.#state);
    if (message.run > this.#run) throw new Violation(`a message ${message.t} is about the run ${message.run}, which was not begun`);
    return message.run === this.#run;
  }

  #takeOfRun(message: Exclude<Incoming, Of<"hello" | "draining" | "pong">>): Event | undefined {
    switch (message.t) {
      case "accepted":
        this.#expect(message, "pending");
        this.#state = "running";
        return message;
      case "refused":
        this.#expect(message, "pending");
        this.#end();
        return message;
      case "call":
        this.#expect(message, "running", "retained");
        if (message.call <= this.#lastCall) throw new Violation(`the call ${message.call} comes twice or out of order`);
        this.#lastCall = message.call;
        this.#openCalls.add(message.call);
        this.#checkCall(message);
        return message;
      case "cancel_call":
        this.#expect(message, "running", "retained");
        if (message.call > this.#lastCall) throw new Violation(`the call ${message.call} is cancelled before it came`);
        return this.#openCalls.delete(message.call) ? message : undefined;
      case "logs":
        this.#expect(message, "running", "retained");
        this.#checkLogs(message);
        return message;
      case "result":
        this.#expect(message, "running");
        this.#checkValue(message.payload, this.hello.limits.result_bytes, "a result");
        if (message.retained) this.#state = "retained";
        else this.#end();
        return message;
      case "error":
        this.#expect(message, "running");
        this.#end();
        return message;
      case "fault":
        this.#expect(message, "running");
        this.#end();
        return message;
      case "invoked":
      case "invoke_failed":
        this.#expect(message, "retained");
        if (!this.#openInvocations.delete(message.invocation)) {
          throw new Violation(`the invocation ${message.invocation} is answered and was not made, or twice`);
        }
        if (message.t === "invoked") {
          this.#checkValue(message.payload, this.hello.limits.result_bytes, "what a function returned");
        }
        return message;
      case "over":
        this.#expect(message, "retained");
        this.#end();
        return message;
    }
  }

  /** The daemon keeps these bounds; what does not is not the daemon that said hello. */
  #checkCall({ call, payload }: Of<"call">): void {
    const { tool_calls, tool_calls_in_flight, argument_bytes } = this.hello.limits;
    if (call > tool_calls) throw new Violation(`there are more than ${tool_calls} calls (Limits.tool_calls)`);
    if (this.#openCalls.size > tool_calls_in_flight) {
      throw new Violation(`more than ${tool_calls_in_flight} calls wait at once (Limits.tool_calls_in_flight)`);
    }
    this.#checkValue(payload, argument_bytes, "an argument list");
  }

  #checkLogs({ lines }: Of<"logs">): void {
    const { log_lines, log_bytes } = this.hello.limits;
    this.#logLines += lines.length;
    for (const [, text] of lines) this.#logCharacters += text.length;
    if (this.#logLines > log_lines + NOTICE_LINES || this.#logCharacters > log_bytes + NOTICE_CHARACTERS) {
      throw new Violation(`more is logged than ${log_lines} lines or ${log_bytes} bytes (Limits.log_lines, Limits.log_bytes)`);
    }
  }

  /** Characters are the fewest bytes that a text can have. */
  #checkValue(payload: string, limit: number, what: string): void {
    if (payload.length > limit + FORM_CHARACTERS) {
      throw new Violation(`${what} of ${payload.length} characters came; the limit is ${limit} bytes`);
    }
  }

  #expect(message: Incoming, ...states: State[]): void {
    if (!states.includes(this.#state)) throw unexpected(message, this.#state);
  }

  #end(): void {
    this.#state = "idle";
    this.#openCalls.clear();
    this.#openInvocations.clear();
  }

  /** Begin a run. Only while idle and not draining. What belongs to it is named by its number from here on. */
  run(spec: RunSpec): { run: number; message: Message } {
    if (this.#state !== "idle") throw new Error(`a run cannot begin while the connection is ${this.#state}`);
    this.#state = "pending";
    this.#run += 1;
    this.#lastCall = 0;
    this.#lastInvocation = 0;
    this.#logLines = 0;
    this.#logCharacters = 0;
    const header = {
      t: "run",
      run: this.#run,
      code: spec.code,
      providers: spec.providers,
      ...(spec.functions.length > 0 && { functions: spec.functions }),
      ...(spec.services.length > 0 && { services: spec.services }),
      ...(spec.modules.length > 0 && { modules: spec.modules }),
      ...(Object.keys(spec.limits).length > 0 && { limits: spec.limits }),
      ...(spec.outbound && { outbound: "client" }),
      ...(spec.retain && { retain: true }),
      ...(spec.parent !== undefined && { parent: spec.parent }),
    };
    return { run: this.#run, message: write(header, spec.env) };
  }

  /** A call's answer; `undefined` if nobody waits for it any more. */
  answer(run: number, call: number, payload: string): Message | undefined {
    return this.#isOpen(run, call) ? write({ t: "answer", run, call }, payload) : undefined;
  }

  /** A call's failure; `undefined` if nobody waits for it any more. */
  answerError(run: number, call: number, failure: { readonly message: string }): Message | undefined {
    return this.#isOpen(run, call) ? write({ ...failure, t: "answer_error", run, call }) : undefined;
  }

  /** Tools of an earlier run may still be busy: their calls have the numbers that calls of this run have too. */
  #isOpen(run: number, call: number): boolean {
    return run === this.#run && this.#openCalls.delete(call);
  }

  /** End the run; `undefined` if it is over. */
  cancel(run: number): Message | undefined {
    const going = this.#state === "pending" || this.#state === "running" || this.#state === "retained";
    return going && run === this.#run ? write({ t: "cancel", run }) : undefined;
  }

  /** Call a function of the retained run; `undefined` if it is over. */
  invoke(
    run: number,
    handle: number,
    payload: string,
    timeoutS: number | undefined,
  ): { invocation: number; message: Message } | undefined {
    if (this.#state !== "retained" || run !== this.#run) return undefined;
    const invocation = (this.#lastInvocation += 1);
    this.#openInvocations.add(invocation);
    const header = { t: "invoke", run, invocation, handle, ...(timeoutS !== undefined && { timeout_s: timeoutS }) };
    return { invocation, message: write(header, payload) };
  }

  /** Functions of the retained run are not needed any more; `undefined` if it is over. */
  release(run: number, handles: readonly number[]): Message | undefined {
    return this.#state === "retained" && run === this.#run ? write({ t: "release", run, handles }) : undefined;
  }

  ping(): Message {
    this.#ping += 1;
    return write({ t: "ping", n: this.#ping });
  }
}

function unexpected(message: Incoming, state: State): Violation {
  return new Violation(`a message ${message.t} came while the connection was ${state}`);
}
