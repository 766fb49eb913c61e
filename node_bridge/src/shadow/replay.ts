// The shadow's tool calls, answered from a recording: no tool is called.

import { after, orAborted, sleep } from "../connections/timers.js";
import { type Answer, type Call, type RecordedCall, type Recording, keyOf } from "./recording.js";

/** How many names of calls a report holds. */
const MAX_NAMES = 20;

interface Waiting {
  readonly answer: Answer;
  readonly due: number;
  readonly deliver: () => void;
}

/**
 * Answers come after as long as they took, and of those that are waited for at the same time in the order in which they came:
 * a program that lets tools race each other, or a timer, sees the same winner.
 */
export class Replay {
  readonly #recording: Recording;
  readonly #signal: AbortSignal;
  readonly #taken = new Map<string, number>();
  readonly #unexpected: string[] = [];
  readonly #waiting = new Set<Waiting>();
  #delivering = false;
  #wake: () => void = () => {};

  /** @param signal ends what still waits when the run is over */
  constructor(recording: Recording, signal: AbortSignal) {
    this.#recording = recording;
    this.#signal = signal;
  }

  /** The calls that the primary did not make, by name; the first of them. */
  get unexpected(): readonly string[] {
    return this.#unexpected;
  }

  /** The calls of the primary that nobody has made here, by name; the first of them. */
  missing(): string[] {
    const names: string[] = [];
    for (const [key, calls] of this.#recording.all()) {
      for (const { name } of calls.slice(this.#taken.get(key) ?? 0)) {
        if (names.length === MAX_NAMES) return names;
        names.push(name);
      }
    }
    return names;
  }

  /**
   * Answer a call.
   *
   * @throws what the tool threw then; or an Error that says that the primary did not make this call
   */
  async call(call: Call): Promise<unknown> {
    const answer = await this.#take(call).answered;
    await new Promise<void>((deliver) => {
      this.#waiting.add({ answer, due: Date.now() + answer.tookMs, deliver });
      this.#deliverAll().catch(() => {}); // the signal's reason: nobody waits any more
    });
    return answer.give();
  }

  #take(call: Call): RecordedCall {
    const key = keyOf(call);
    const number = this.#taken.get(key) ?? 0;
    const recorded = this.#recording.callsOf(key)[number];
    if (recorded === undefined) {
      const name = `${call.namespace}.${call.tool}`;
      if (this.#unexpected.length < MAX_NAMES) this.#unexpected.push(name);
      const which = number === 0 ? "with these arguments" : `with these arguments more than ${number} times`;
      throw new Error(`${name} was not called ${which} by the executor that answers: a shadow run calls no tool itself`);
    }
    this.#taken.set(key, number + 1);
    return recorded;
  }

  async #deliverAll(): Promise<void> {
    // What the program asks for in the same turn may have been answered before this.
    await sleep(0, this.#signal);
    if (this.#delivering) return this.#wake();
    this.#delivering = true;
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      const pause = first.due - Date.now();
      if (pause > 0) {
        await this.#pause(pause);
        continue; // another one may be first by now
      }
      this.#waiting.delete(first);
      first.deliver();
    }
    this.#delivering = false;
  }

  /** Until `ms` have passed, or another answer is waited for: it may be due before. */
  async #pause(ms: number): Promise<void> {
    const over = new Promise<void>((resolve) => (this.#wake = resolve));
    const timer = after(ms, () => this.#wake());
    try {
      await orAborted(over, this.#signal);
    } finally {
      timer.clear();
    }
  }

  #first(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) if (first === undefined || waiting.answer.order < first.answer.order) first = waiting;
    return first;
  }
}
