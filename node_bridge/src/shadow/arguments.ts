// The arguments of `execute`, with every tool and connector replaced by something that stands in for it.

import type { ConnectorBinding, ResolvedProvider, ToolFunction } from "../contract.js";
import type { Call } from "./recording.js";

export type Providers = ResolvedProvider[] | Record<string, ToolFunction>;

/**
 * What answers a call.
 *
 * @param real makes it, for who does
 */
export type Stand = (call: Call, real: () => unknown) => Promise<unknown>;

/** The functions of every namespace, or undefined for what is none. */
export function withTools(given: Providers, stand: Stand): Providers | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  if (!Array.isArray(given)) return functions("codemode", given, stand);
  const made: ResolvedProvider[] = [];
  for (const provider of given as readonly (ResolvedProvider | null | undefined)[]) {
    const fns = functions(provider?.name, provider?.fns, stand);
    if (provider === null || provider === undefined || fns === undefined) return undefined;
    made.push({ ...provider, fns });
  }
  return made;
}

function functions(namespace: unknown, fns: unknown, stand: Stand): Record<string, ToolFunction> | undefined {
  if (typeof namespace !== "string" || typeof fns !== "object" || fns === null) return undefined;
  const made: [string, ToolFunction][] = [];
  for (const [tool, fn] of Object.entries(fns as Record<string, unknown>)) {
    if (typeof fn !== "function") return undefined;
    const call = fn as ToolFunction;
    made.push([tool, (...args) => stand({ kind: "tool", namespace, tool, args }, () => call(...args))]);
  }
  return Object.fromEntries(made); // defines: `__proto__` is a name like any other
}

/** The connectors, or undefined for what is none. */
export function withConnectors(given: readonly ConnectorBinding[], stand: Stand): ConnectorBinding[] | undefined {
  if (!Array.isArray(given)) return undefined;
  const made: ConnectorBinding[] = [];
  for (const connector of given as readonly (ConnectorBinding | null | undefined)[]) {
    const { name, binding } = connector ?? {};
    if (typeof name !== "string" || typeof binding?.callTool !== "function") return undefined;
    const callTool = (tool: string, args: unknown): Promise<unknown> =>
      stand({ kind: "connector", namespace: name, tool, args }, () => binding.callTool(tool, args));
    made.push({ name, binding: { callTool } });
  }
  return made;
}
