// What is left of a run whose result holds functions: they run in its isolate, on its connection.

import type { Connection, InvocationAnswer } from "../connections/connection.js";
import { ExecutorError, HandleCallFailed } from "../errors.js";
import type { Limits } from "../protocol/messages.js";
import { bytesBeyond } from "../protocol/utf8.js";
import { encodeClone } from "../values/clone.js";
import { decodeCloneText } from "./serving.js";

/** A function of the program. Values cross as by structured clone; functions in what it returns are handles too. */
export interface Handle {
  (...args: unknown[]): Promise<unknown>;
  /** It is not needed any more; the others of its run stay. Once is enough. */
  [Symbol.dispose](): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Retained {
  readonly #connection: Connection;
  readonly #run: number;
  readonly #limits: Limits;
  readonly #cancel: () => void;
  readonly #handles = new Map<number, Handle>();
  readonly #released = new Set<number>();
  readonly #waiting = new Map<number, Waiting>();
  #over: string | undefined;

  /** @param cancel ends the run */
  constructor(connection: Connection, run: number, limits: Limits, cancel: () => void) {
    this.#connection = connection;
    this.#run = run;
    this.#limits = limits;
    this.#cancel = cancel;
  }

  /** What stands for the function of a number. */
  handle(number: number): Handle {
    let handle = this.#handles.get(number);
    if (handle === undefined) {
      const call = (...args: unknown[]): Promise<unknown> => this.#call(number, args);
      handle = Object.assign(call, { [Symbol.dispose]: () => this.#release(number) });
      this.#handles.set(number, handle);
    }
    return handle;
  }

  async #call(number: number, args: unknown[]): Promise<unknown> {
    if (this.#released.has(number)) throw dead("it was disposed");
    if (this.#over !== undefined) throw dead(this.#over);
    const { form, text } = encodeClone(args, "arguments");
    const limit = this.#limits.argument_bytes;
    const size = bytesBeyond(text, limit);
    if (size !== undefined) {
      throw new ExecutorError("BAD_REQUEST", `the arguments are ${size} bytes long; the limit is ${limit} bytes (Limits.argument_bytes)`);
    }
    const invocation = this.#connection.invoke(this.#run, number, `${form}${text}`, undefined);
    if (invocation === undefined) throw dead("its run is over");
    this.#connection.hold(this.#run, true);
    return new Promise((resolve, reject) => this.#waiting.set(invocation, { resolve, reject }));
  }

  #release(number: number): void {
    if (this.#over !== undefined || this.#released.has(number)) return;
    this.#released.add(number);
    this.#connection.release(this.#run, [number]);
  }

  onInvocation(answer: InvocationAnswer): void {
    const waiting = this.#waiting.get(answer.invocation);
    this.#waiting.delete(answer.invocation);
    if (this.#waiting.size === 0) this.#connection.hold(this.#run, false);
    if (answer.t === "invoke_failed") {
      const { code, message, name, stack } = answer;
      const failed = code === "HANDLE_CALL_FAILED";
      waiting?.reject(failed ? new HandleCallFailed(message, name, stack) : new ExecutorError(code, message));
      return;
    }
    try {
      waiting?.resolve(decodeCloneText(answer.payload, (number) => this.handle(number)));
    } catch (error) {
      waiting?.reject(new ExecutorError("HANDLE_CALL_FAILED", `what the function returned cannot be decoded: ${(error as Error).message}`));
    }
  }

  /** End the isolate. Handles are dead from now on. Once is enough. */
  dispose(): void {
    if (this.#over !== undefined) return;
    this.end("the result was disposed");
    this.#cancel();
  }

  /** The run is over. */
  end(why: string): void {
    this.#over ??= why;
    for (const { reject } of this.#waiting.values()) reject(dead(why));
    this.#waiting.clear();
  }
}

function dead(why: string): ExecutorError {
  return new ExecutorError("HANDLE_DISPOSED", `the function of the program cannot be called any more: ${why}`);
}
