// Tool calls as strings, for hosts that carry them themselves.

import type { ToolFunction } from "./contract.js";
import { decodeToolValue, encodeToolValue } from "./values/tools.js";

/**
 * Serves calls whose arguments and results are JSON.
 *
 * Mirrors upstream's `ToolDispatcher`. Only own properties of `fns` can be called, and an error is never empty; upstream
 * runs functions of `Object.prototype` as well, and passes `Error("")` off as a success. It is no `RpcTarget`.
 */
export class ToolDispatcher {
  readonly #fns: Readonly<Record<string, ToolFunction>>;

  constructor(fns: Record<string, ToolFunction>) {
    this.#fns = { ...fns };
  }

  /**
   * Call a function.
   *
   * @param name its name in `fns`
   * @param argsJson a JSON array of the arguments, bytes as upstream tags them; what is no array is the only argument
   * @returns JSON: `{"result": …}`, or `{"error": message}` if there is no such function, or it failed
   */
  async call(name: string, argsJson?: string): Promise<string> {
    const fn = Object.hasOwn(this.#fns, name) ? this.#fns[name] : undefined;
    if (fn === undefined) return JSON.stringify({ error: `Tool "${name}" not found` });
    try {
      const args = argsJson ? decodeToolValue(argsJson) : [];
      return encodeToolValue({ result: await fn(...(Array.isArray(args) ? (args as unknown[]) : [args])) }) as string;
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
      return JSON.stringify({ error: message || "an empty value was thrown" });
    }
  }
}
