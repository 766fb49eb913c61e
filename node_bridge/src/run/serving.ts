// Who answers the calls of a program: tools, connectors, functions of `this.env`, the network. Looked up in these tables and
// nowhere else.

import type { IncomingCall } from "../connections/connection.js";
import type { ConnectorBinding, ResolvedProvider, ToolFunction } from "../contract.js";
import type { OutboundHandler } from "../outbound.js";
import { encodeClone } from "../values/clone.js";
import type { EnvFunction } from "../values/env.js";
import { decodeResult } from "../values/result.js";
import { decodeToolArguments, encodeToolValue } from "../values/tools.js";

export class Serving {
  readonly #tools: ReadonlyMap<string, ReadonlyMap<string, ToolFunction>>;
  readonly #connectors: ReadonlyMap<string, ConnectorBinding["binding"]>;
  readonly #functions: ReadonlyMap<string, EnvFunction>;
  readonly #outbound: OutboundHandler | undefined;

  constructor(
    providers: readonly ResolvedProvider[],
    connectors: readonly ConnectorBinding[],
    functions: ReadonlyMap<string, EnvFunction>,
    outbound: OutboundHandler | undefined,
  ) {
    this.#tools = new Map(providers.map(({ name, fns }) => [name, new Map(Object.entries(fns))]));
    this.#connectors = new Map(connectors.map(({ name, binding }) => [name, binding]));
    this.#functions = functions;
    this.#outbound = outbound;
  }

  /**
   * Serve one call.
   *
   * @param maxBytes what the answer may measure
   * @param ready settles when an answer may be encoded
   * @param signal aborted when nobody wants the answer any more
   * @returns the answer as it is sent
   * @throws what the tool threw, or why the call cannot be served
   */
  async serve(call: IncomingCall, maxBytes: number, ready: () => Promise<void>, signal: AbortSignal): Promise<string> {
    if (call.kind === "tool") {
      const fn = this.#tools.get(call.provider)?.get(call.tool);
      if (fn === undefined) throw new Error(`Tool "${call.tool}" not found`);
      const result = await fn(...decodeToolArguments(call.payload));
      await ready();
      return encodeToolValue(result) ?? "";
    }
    const result = await this.#serveClone(call, maxBytes, signal);
    await ready();
    const { form, text } = encodeClone(result);
    return `${form}${text}`;
  }

  async #serveClone({ kind, provider, tool, payload }: IncomingCall, maxBytes: number, signal: AbortSignal): Promise<unknown> {
    const argument = decodeCloneText(payload);
    if (kind === "connector") {
      const binding = this.#connectors.get(provider);
      if (binding === undefined) throw new Error(`nobody serves ${provider}.${tool}`);
      return await binding.callTool(tool, argument);
    }
    if (kind === "env") {
      const fn = this.#functions.get(tool);
      if (fn === undefined) throw new TypeError(`The RPC receiver does not implement the method "${tool}".`);
      if (!Array.isArray(argument)) throw new TypeError("the arguments of a call must be an array");
      return await fn(...(argument as unknown[]));
    }
    if (this.#outbound === undefined) throw new Error("nobody serves the network");
    return await this.#outbound(argument, maxBytes, signal);
  }
}

/** A value of a form's digit and text, as connectors' values and results are written. */
export function decodeCloneText(payload: string, handle?: (number: number) => unknown): unknown {
  const form = payload.charCodeAt(0) - 0x30;
  return decodeResult(form, payload.length > 1 ? payload.slice(1) : undefined, handle);
}
