// Who answers the calls of a program: tools, connectors, functions of `this.env`, the network. Looked up in these tables and
// nowhere else.

import type { IncomingCall } from "../connections/connection.js";
import type { ConnectorBinding, ResolvedProvider, ToolFunction } from "../contract.js";
import { type OutboundHandler, outboundHandler } from "../outbound.js";
import { encodeClone } from "../values/clone.js";
import type { Env } from "../values/env.js";
import { decodeResult } from "../values/result.js";
import { useMember } from "../values/service.js";
import { decodeToolArguments, encodeToolValue } from "../values/tools.js";
import { ANSWERED, Answered } from "./answered.js";

/** Where answers leave. */
export interface Outlet {
  /** What was sent before waits to leave: the next answer is not even encoded. */
  readonly isSlow: boolean;
  /** Settles when it is not slow any more. */
  ready(): Promise<void>;
}

interface HasSignal {
  readonly signal: AbortSignal;
}

export class Serving {
  readonly #tools: ReadonlyMap<string, ReadonlyMap<string, ToolFunction>>;
  readonly #connectors: ReadonlyMap<string, ConnectorBinding["binding"]>;
  readonly #env: Env;
  readonly #outbound: OutboundHandler | undefined;
  readonly #answered = new Answered();

  constructor(
    providers: readonly ResolvedProvider[],
    connectors: readonly ConnectorBinding[],
    env: Env,
    outbound: OutboundHandler | undefined,
  ) {
    this.#tools = new Map(providers.map(({ name, fns }) => [name, new Map(Object.entries(fns))]));
    this.#connectors = new Map(connectors.map(({ name, binding }) => [name, binding]));
    this.#env = env;
    this.#outbound = outbound;
  }

  /**
   * Serve one call.
   *
   * @param maxBytes what the answer may measure
   * @param outlet says when an answer may be encoded
   * @param unwanted has the signal that is aborted when nobody wants the answer any more
   * @returns the answer as it is sent
   * @throws what the tool threw, or why the call cannot be served
   */
  async serve(call: IncomingCall, maxBytes: number, outlet: Outlet, unwanted: HasSignal): Promise<string> {
    if (call.kind === "tool") {
      const fn = this.#tools.get(call.provider)?.get(call.tool);
      if (fn === undefined) throw new Error(`Tool "${call.tool}" not found`);
      const result = await fn(...decodeToolArguments(call.payload));
      if (outlet.isSlow) await outlet.ready();
      return encodeToolValue(result) ?? "";
    }
    const result = await this.#serveClone(call, maxBytes, unwanted);
    if (outlet.isSlow) await outlet.ready();
    if (call.kind !== "env" || this.#env.functions.has(call.tool)) return cloneText(result);
    return this.#answered.encode(result, (handle) => cloneText(result, handle));
  }

  /** Nobody calls any more. */
  end(): void {
    this.#answered.end();
  }

  async #serveClone({ kind, provider, tool, payload }: IncomingCall, maxBytes: number, unwanted: HasSignal): Promise<unknown> {
    const argument = decodeCloneText(payload);
    if (kind === "connector") {
      const binding = this.#connectors.get(provider);
      if (binding === undefined) throw new Error(`nobody serves ${provider}.${tool}`);
      return await binding.callTool(tool, argument);
    }
    if (kind === "env") {
      const fn = this.#env.functions.get(tool);
      if (fn === undefined) return await this.#serveService(tool, argument, maxBytes, unwanted);
      if (!Array.isArray(argument)) throw new TypeError("the arguments of a call must be an array");
      return await fn(...(argument as unknown[]));
    }
    if (this.#outbound === undefined) throw new Error("nobody serves the network");
    return await this.#outbound(argument, maxBytes, unwanted.signal);
  }

  /** A member of a service: called, asked for where there are no arguments; or a request to it. */
  async #serveService(tool: string, argument: unknown, maxBytes: number, unwanted: HasSignal): Promise<unknown> {
    if (argument !== undefined && !Array.isArray(argument)) throw new TypeError("the arguments of a call must be an array");
    const args = argument as unknown[] | undefined;
    if (tool.startsWith(`${ANSWERED}.`)) return await this.#answered.use(tool.slice(ANSWERED.length + 1), args);
    // No service stands inside another, so only one path fits.
    const [path, service] = [...this.#env.services].find(([at]) => tool.startsWith(`${at}.`)) ?? [];
    if (path === undefined || service === undefined) {
      throw new TypeError(`The RPC receiver does not implement the method "${tool}".`);
    }
    const name = tool.slice(path.length + 1);
    if (name !== "fetch" || args === undefined) return await useMember(service, name, args);
    const fetcher = { fetch: (request: Request) => (service as { fetch(request: Request): Promise<Response> }).fetch(request) };
    return await outboundHandler(fetcher)?.(args[0], maxBytes, unwanted.signal);
  }
}

/** A value of a form's digit and text, as connectors' values and results are written. */
export function decodeCloneText(payload: string, handle?: (number: number) => unknown): unknown {
  const form = payload.charCodeAt(0) - 0x30;
  return decodeResult(form, payload.length > 1 ? payload.slice(1) : undefined, handle);
}

/** A value as its form's digit and text. */
function cloneText(value: unknown, handle?: (value: object) => number | undefined): string {
  const { form, text } = encodeClone(value, "result", handle && { handle, shape: () => undefined });
  return `${form}${text}`;
}
