// One executor answers, another one runs the same programs after it, and what differs is reported. Nothing of the second may
// be felt by whoever waits for the first.

import type { ExecuteOptions, ExecuteResult, Executor } from "../contract.js";
import { ExecutorError, HandleCallFailed } from "../errors.js";
import { orAborted, sleep, after as later } from "../connections/timers.js";
import { Allowance } from "./allowance.js";
import { type Providers, type Stand, withConnectors, withTools } from "./arguments.js";
import { outside } from "./context.js";
import type { Disagreement, ShadowCounts, ShadowOptions, Skipped } from "./contract.js";
import { Jobs } from "./jobs.js";
import { type CheckedOptions, checkedOptions } from "./options.js";
import { type Seen, differences, reported, seen, seenRejection, timedOut } from "./outcome.js";
import { Recording } from "./recording.js";
import { Replay } from "./replay.js";

/** A program whose primary run is under way, to be compared. */
interface Watch {
  readonly code: string;
  readonly providers: Providers;
  readonly options: ExecuteOptions;
  /** What both get, as the host gave it. */
  readonly given: { readonly providers: Providers; readonly options: ExecuteOptions };
  readonly recording: Recording;
}

const MAY_VARY = ["Date", "Math.random", "performance", "crypto", "fetch"] as const;

/**
 * Runs programs on `primary`, whose answers are the only ones, and those that `sample` chooses on `shadow` afterwards;
 * reports in what the two differ.
 *
 * The answer does not wait for the shadow, and nothing that goes wrong with it rejects: it is counted, or heard by `onFault`.
 * What a chosen program costs the answer is copying: its tools' values, and its result. The shadow's executor is the host's:
 * what it was given besides tools (`globalOutbound`, `bindings`) is used for real, so give it none that changes something.
 */
export class ShadowExecutor implements Executor {
  readonly #options: CheckedOptions;
  readonly #jobs: Jobs;
  readonly #allowance: Allowance;
  readonly #over = new AbortController();
  readonly #counts = { runs: 0, agreed: 0, disagreed: 0, faults: 0 };
  readonly #skipped: Record<Skipped, number> = {
    sampling: 0, queue: 0, memory: 0, unrecordable: 0, aborted: 0, retained: 0, unusable: 0, primary: 0, closed: 0,
  }; // prettier-ignore

  /** @throws {ExecutorError} `BAD_REQUEST`: an option is unusable; the message names it */
  constructor(options: ShadowOptions) {
    this.#options = checkedOptions(options);
    this.#jobs = new Jobs(this.#options.maxRunning, this.#options.maxWaiting);
    this.#allowance = new Allowance(this.#options.maxRecorded);
  }

  /** What has happened so far. */
  get counts(): ShadowCounts {
    return { ...this.#counts, skipped: { ...this.#skipped } };
  }

  /** Run one program on `primary`: what that answers, and what it throws. See `execute` of the executor that answers. */
  async execute(code: string, providersOrFns: Providers, options?: ExecuteOptions): Promise<ExecuteResult> {
    this.#counts.runs += 1;
    const watch = this.#unfelt(code, () => this.#watch(code, providersOrFns, options));
    if (watch === undefined) return await this.#options.primary.execute(code, providersOrFns, options);
    let answer: ExecuteResult;
    try {
      answer = await this.#options.primary.execute(code, watch.providers, watch.options);
    } catch (error) {
      this.#unfelt(code, () => this.#rejected(watch, error), watch.recording);
      throw error;
    }
    this.#unfelt(code, () => this.#compareLater(watch, seen(answer)), watch.recording);
    return answer;
  }

  /** Settles when no comparison is under way or waits for its turn. */
  async idle(): Promise<void> {
    await this.#jobs.idle();
  }

  /** Compare no more, and end the shadow runs. Programs go on being answered; the executors are the host's to close. */
  async close(): Promise<void> {
    this.#over.abort(new ExecutorError("CLOSED", "the shadow executor was closed"));
    this.#jobs.clear();
    await this.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Something of the shadow's that happens on the answer's way. */
  #unfelt<T>(code: string, action: () => T, recording?: Recording): T | undefined {
    try {
      return action();
    } catch (error) {
      recording?.release();
      this.#fault(code, error);
      return undefined;
    }
  }

  #skip(why: Skipped): undefined {
    this.#skipped[why] += 1;
    return undefined;
  }

  #fault(program: string, reason: unknown): void {
    this.#counts.faults += 1;
    this.#tell("onFault", () => this.#options.onFault({ program, reason }));
  }

  /** Call the host, which may throw, or reject, what it likes. */
  #tell(name: string, action: () => unknown): void {
    const onError = (error: unknown): void => console.error(`[codemode-executor] ${name} of a shadow executor failed:`, error);
    try {
      Promise.resolve(action()).catch(onError);
    } catch (error) {
      onError(error);
    }
  }

  /** Whether and how a program is compared. */
  #watch(code: string, providers: Providers, options: ExecuteOptions = {}): Watch | undefined {
    if (this.#over.signal.aborted) return this.#skip("closed");
    if (typeof code !== "string") return this.#skip("unusable");
    if (options.retainHandles === true) return this.#skip("retained");
    if (!this.#options.chosen(code)) return this.#skip("sampling");
    if (this.#jobs.full) return this.#skip("queue");
    const recording = new Recording(this.#allowance);
    const record: Stand = (call, real) => recording.call(call, real);
    const tools = withTools(providers, record);
    const connectors = withConnectors(options.connectors ?? [], record);
    if (tools === undefined || connectors === undefined) return this.#skip("unusable"); // the primary will say how
    recording.hold(code.length);
    const given = { providers, options };
    if (this.#options.tools === "twice") return { code, ...given, given, recording };
    return { code, providers: tools, options: { ...options, connectors }, given, recording };
  }

  #rejected(watch: Watch, error: unknown): void {
    const { signal } = watch.given.options;
    const why = signal?.aborted === true ? "aborted" : isFault(error) ? "primary" : undefined;
    if (why === undefined) return this.#compareLater(watch, seenRejection(error));
    watch.recording.release();
    this.#skip(why);
  }

  #compareLater(watch: Watch, primary: Seen): void {
    const { recording } = watch;
    recording.hold(primary.characters);
    if (recording.spoiled !== undefined) return this.#skip(recording.spoiled);
    const done = new Promise<void>((resolve) => {
      this.#jobs.add({
        run: () => outside(() => this.#compare(watch, primary)).finally(resolve),
        drop: () => {
          recording.release();
          this.#skip(this.#over.signal.aborted ? "closed" : "queue");
          resolve();
        },
      });
    });
    this.#tell("keepAlive", () => this.#options.keepAlive(done));
  }

  async #compare(watch: Watch, primary: Seen): Promise<void> {
    try {
      await sleep(0); // the answer goes first
      const { shadow, replay } = await this.#runShadow(watch);
      // A tool that the program did not wait for can answer meanwhile, with what is no copy or finds no room.
      const { spoiled } = watch.recording;
      if (spoiled !== undefined) return void this.#skip(spoiled);
      const disagreement = compared(watch, primary, shadow, replay);
      this.#counts[disagreement === undefined ? "agreed" : "disagreed"] += 1;
      if (disagreement !== undefined) this.#tell("report", () => this.#options.report(disagreement));
    } catch (error) {
      if (this.#over.signal.aborted) this.#skip("closed");
      else this.#fault(watch.code, error);
    } finally {
      watch.recording.release();
    }
  }

  /** @throws why there is no outcome */
  async #runShadow({ code, given, recording }: Watch): Promise<{ shadow: Seen; replay: Replay | undefined }> {
    const ended = new AbortController();
    const end = (reason: unknown): void => ended.abort(reason);
    const onOver = (): void => end(this.#over.signal.reason);
    this.#over.signal.addEventListener("abort", onOver, { once: true });
    const { giveUpMs } = this.#options;
    const text = `the shadow gave no answer within ${giveUpMs} ms: raise giveUpAfter, or lower its timeout`;
    const timer = later(giveUpMs, () => end(new Error(text)), true);
    try {
      const replay = this.#options.tools === "replay" ? new Replay(recording, ended.signal) : undefined;
      const { providers, options } = replay === undefined ? given : replaying(given, replay);
      const run = this.#options.shadow.execute(code, providers, { connectors: options.connectors ?? [], signal: ended.signal });
      return { shadow: await outcomeOf(orAborted(run, ended.signal), ended.signal), replay };
    } finally {
      timer.clear();
      this.#over.signal.removeEventListener("abort", onOver);
      end(new Error("the shadow run is over"));
    }
  }
}

/** The arguments with calls that are answered from the recording. They were usable before. */
function replaying({ providers, options }: Watch["given"], replay: Replay): Watch["given"] {
  const stand: Stand = (call) => replay.call(call);
  const tools = withTools(providers, stand) ?? [];
  return { providers: tools, options: { connectors: withConnectors(options.connectors ?? [], stand) ?? [] } };
}

/** @throws a fault of the machinery, or the signal's reason */
async function outcomeOf(run: Promise<ExecuteResult>, signal: AbortSignal): Promise<Seen> {
  let envelope: ExecuteResult;
  try {
    envelope = await run;
  } catch (error) {
    if (signal.aborted || isFault(error)) throw error;
    return seenRejection(error);
  }
  try {
    return seen(envelope);
  } finally {
    // Of upstream's, which may hold stubs.
    (envelope as Partial<Disposable>)[Symbol.dispose]?.();
  }
}

/** By what it says of itself: another copy of this package has another class. */
function isFault(error: unknown): boolean {
  if (error instanceof ExecutorError || error instanceof HandleCallFailed) return true;
  return error instanceof Error && error.name === "ExecutorError" && typeof (error as { code?: unknown }).code === "string";
}

function compared(watch: Watch, primary: Seen, shadow: Seen, replay: Replay | undefined): Disagreement | undefined {
  const differs = differences(primary, shadow);
  const calls = { missing: replay?.missing() ?? [], unexpected: replay?.unexpected ?? [] };
  const sameCalls = calls.missing.length === 0 && calls.unexpected.length === 0;
  if (!sameCalls && !(timedOut(primary) && timedOut(shadow))) differs.push("calls");
  if (differs.length === 0) return undefined;
  const program = watch.code;
  const mayVary = MAY_VARY.filter((name) => program.includes(name));
  return { program, differs, primary: reported(primary), shadow: reported(shadow), calls, mayVary };
}
