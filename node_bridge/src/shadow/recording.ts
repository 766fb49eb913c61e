// What the primary's tool calls were answered with: copies, because a host goes on using what its tools returned.

import { type Encoded, encodeClone } from "../values/clone.js";
import { decodeResult } from "../values/result.js";
import { decodeToolValue, encodeToolAnswer } from "../values/tools.js";
import type { Allowance, Share } from "./allowance.js";
import type { Skipped } from "./contract.js";

/** Tools and connectors may have the same names: connectors' values are others. */
export type CallKind = "tool" | "connector";

/** A call as the program made it. */
export interface Call {
  readonly kind: CallKind;
  readonly namespace: string;
  readonly tool: string;
  readonly args: unknown;
}

/** A call of the primary's, and how it ended. */
export interface RecordedCall {
  readonly name: string;
  /** Settles when it has been answered; a tool that never does leaves it open. */
  readonly answered: Promise<Answer>;
}

/** How a call was answered. */
export interface Answer {
  /** As the first, the second, … of the run. */
  readonly order: number;
  readonly tookMs: number;
  /** The value, a new copy each time, or throws what the tool threw. */
  readonly give: () => unknown;
}

// A call without arguments costs something too.
const CALL_CHARACTERS = 500;

/** What is the same for the same call. */
export function keyOf({ kind, namespace, tool, args }: Call): string {
  const { form, text } = encodeClone(args, "arguments");
  return `${kind} ${JSON.stringify([namespace, tool])} ${form}${text}`;
}

export class Recording {
  readonly #calls = new Map<string, RecordedCall[]>();
  readonly #share: Share;
  #answers = 0;
  #spoiled: Skipped | undefined;
  #released = false;

  constructor(allowance: Allowance) {
    this.#share = allowance.share();
  }

  /** Why it is of no use. */
  get spoiled(): Skipped | undefined {
    return this.#spoiled;
  }

  /** The calls of a key, in their order. */
  callsOf(key: string): readonly RecordedCall[] {
    return this.#calls.get(key) ?? [];
  }

  /** Every call, by its key. */
  all(): Iterable<readonly [string, readonly RecordedCall[]]> {
    return this.#calls;
  }

  /** Count something against the share. What comes after the release, the answer of a slow tool for example, is not kept. */
  hold(characters: number): void {
    if (!this.#released && !this.#share.take(characters)) this.spoil("memory");
  }

  /** Make it useless, and free what it holds. */
  spoil(why: Skipped): void {
    this.#spoiled ??= why;
    this.release();
  }

  release(): void {
    this.#released = true;
    this.#calls.clear();
    this.#share.release();
  }

  /** Make a call for the primary, and remember how it ends. */
  async call(call: Call, action: () => unknown): Promise<unknown> {
    const record = this.#begin(call);
    const began = Date.now();
    const answer = (give: () => unknown): void => record?.({ order: this.#answers++, tookMs: Date.now() - began, give });
    try {
      const value = await action();
      answer(record === undefined || this.#released ? () => undefined : this.#copied(call.kind, value));
      return value;
    } catch (thrown) {
      answer(() => {
        throw thrown;
      });
      throw thrown;
    }
  }

  #begin(call: Call): ((answer: Answer) => void) | undefined {
    if (this.#released) return undefined;
    let key: string;
    try {
      key = keyOf(call);
    } catch {
      this.spoil("unrecordable");
      return undefined;
    }
    this.hold(key.length + CALL_CHARACTERS);
    if (this.#spoiled !== undefined) return undefined;
    const { promise, resolve } = withResolver<Answer>();
    const record: RecordedCall = { name: `${call.namespace}.${call.tool}`, answered: promise };
    const same = this.#calls.get(key);
    if (same === undefined) this.#calls.set(key, [record]);
    else same.push(record);
    return resolve;
  }

  /** What gives the value again. */
  #copied(kind: CallKind, value: unknown): () => unknown {
    if (kind === "tool") return this.#copiedResult(value);
    let encoded: Encoded;
    try {
      encoded = encodeClone(value);
    } catch {
      this.spoil("unrecordable");
      return () => undefined;
    }
    this.hold(encoded.text.length);
    return () => decodeResult(encoded.form, encoded.text);
  }

  /** By the codec of tools: what it leaves of a value is what a program gets, and what it refuses fails the call. */
  #copiedResult(value: unknown): () => unknown {
    let text: string;
    try {
      text = encodeToolAnswer(value);
    } catch (thrown) {
      return () => {
        throw thrown;
      };
    }
    this.hold(text.length);
    return () => (decodeToolValue(text) as { result?: unknown }).result;
  }
}

function withResolver<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => (resolve = fulfil));
  return { promise, resolve };
}
