// What services of Workers have answered a program with and it goes on using: functions and objects of theirs, as stubs. They
// are kept until the run ends, and then let go, for they keep something alive at the other end.

import { isService, useMember } from "../values/service.js";

/** The service under which a program finds them; no binding has this path. */
export const ANSWERED = "#";

const MAX_KEPT = 1000;

type Callable = (...args: readonly unknown[]) => unknown;

export class Answered {
  readonly #kept: object[] = [];
  readonly #results: unknown[] = [];
  #ended = false;

  /**
   * What a service answered, written down.
   *
   * @param encode is given what numbers the stubs in it
   */
  encode(result: unknown, encode: (handle: (value: object) => number | undefined) => string): string {
    const before = this.#kept.length;
    try {
      return encode((value) => (typeof value === "function" || isService(value) ? this.#keep(value) : undefined));
    } finally {
      // Whoever lets a result go lets go of the stubs in it.
      if (this.#kept.length > before && !this.#ended) this.#results.push(result);
      else release(result);
    }
  }

  /**
   * Use one of them: `number` or `number.member`.
   *
   * @param args of a call; `undefined` to have a member's value
   * @throws there is none, or what it throws
   */
  async use(name: string, args: readonly unknown[] | undefined): Promise<unknown> {
    const [, number, member] = /^(\d{1,9})(?:\.(.*))?$/s.exec(name) ?? [];
    const kept = number === undefined ? undefined : this.#kept[Number(number)];
    if (kept === undefined) throw new TypeError(`there is no answer ${name.slice(0, 40)} of a service`);
    if (member !== undefined) return await useMember(kept, member, args);
    if (args === undefined || typeof kept !== "function") throw new TypeError("what a service answered can be called, or has members");
    return await (kept as Callable)(...args);
  }

  /** The run is over. */
  end(): void {
    this.#ended = true;
    for (const result of this.#results.splice(0)) release(result);
    this.#kept.length = 0;
  }

  #keep(value: object): number {
    if (this.#kept.length >= MAX_KEPT) throw new RangeError(`services have answered with more than ${MAX_KEPT} functions and objects`);
    return this.#kept.push(value) - 1;
  }
}

function release(result: unknown): void {
  if ((typeof result !== "object" && typeof result !== "function") || result === null) return;
  const { [Symbol.dispose]: dispose } = result as { [Symbol.dispose]?: unknown };
  if (typeof dispose === "function") dispose.call(result);
}
