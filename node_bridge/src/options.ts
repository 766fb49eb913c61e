// Options and arguments, checked where they enter.

import type { ConnectorBinding, ExecuteOptions, ResolvedProvider, ToolFunction } from "./contract.js";
import { badRequest, shown } from "./errors.js";

const MAX_MS = 2 ** 31 - 1;

const RAW_FNS =
  "[@cloudflare/codemode] Passing raw fns to executor.execute() is deprecated. Use ResolvedProvider[] instead." +
  " This will be removed in the next major version.";

/** A time in milliseconds, greater than 0. */
export function milliseconds(name: string, value: unknown, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw badRequest(`${name} must be a number of milliseconds, not ${shown(value)}`);
  }
  if (!(value > 0 && value <= MAX_MS)) {
    throw badRequest(`${name} is ${value} ms; it must be greater than 0 and at most ${MAX_MS} ms (2^31 - 1)`);
  }
  return value;
}

/** A whole number in a range. */
export function count(name: string, value: unknown, low: number, high: number, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isInteger(value) || (value as number) < low || (value as number) > high) {
    throw badRequest(`${name} must be a whole number from ${low} to ${high}, not ${shown(value)}`);
  }
  return value as number;
}

/** A daemon's token. */
export function checkedToken(token: unknown): string {
  if (typeof token !== "string" || !/^[\x21-\x7e]{16,512}$/.test(token)) {
    throw badRequest("token must be the daemon's token: a string of 16 to 512 printable ASCII characters without spaces");
  }
  return token;
}

/** The second argument of `execute`. */
export function checkedProviders(given: unknown): ResolvedProvider[] {
  if (typeof given !== "object" || given === null) {
    throw badRequest(`providersOrFns must be a list of providers, or functions by name, not ${shown(given)}`);
  }
  if (!Array.isArray(given)) {
    console.warn(RAW_FNS);
    return [{ name: "codemode", fns: checkedFns("providersOrFns", given) }];
  }
  return (given as unknown[]).map((provider, index) => {
    const where = `providersOrFns[${index}]`;
    if (typeof provider !== "object" || provider === null) throw badRequest(`${where} must be an object, not ${shown(provider)}`);
    const { name, fns, prelude } = provider as Record<string, unknown>;
    if (typeof name !== "string") throw badRequest(`${where}.name must be a string, not ${shown(name)}`);
    if (prelude !== undefined && typeof prelude !== "string") {
      throw badRequest(`${where}.prelude must be a string, not ${shown(prelude)}`);
    }
    return { name, fns: checkedFns(`${where}.fns`, fns), ...(prelude !== undefined && { prelude }) };
  });
}

function checkedFns(where: string, fns: unknown): Record<string, ToolFunction> {
  if (typeof fns !== "object" || fns === null) throw badRequest(`${where} must be functions by name, not ${shown(fns)}`);
  for (const [name, fn] of Object.entries(fns)) {
    if (typeof fn !== "function") throw badRequest(`${where}: the tool ${shown(name)} is not a function: ${shown(fn)}`);
  }
  return fns as Record<string, ToolFunction>;
}

/** The connectors of the third argument of `execute`. */
export function checkedConnectors(options: ExecuteOptions | undefined): ConnectorBinding[] {
  const given: unknown = options?.connectors ?? [];
  if (!Array.isArray(given)) throw badRequest(`options.connectors must be a list, not ${shown(given)}`);
  return (given as unknown[]).map((connector, index) => {
    const where = `options.connectors[${index}]`;
    if (typeof connector !== "object" || connector === null) throw badRequest(`${where} must be an object, not ${shown(connector)}`);
    const { name, binding } = connector as Partial<ConnectorBinding>;
    if (typeof name !== "string") throw badRequest(`${where}.name must be a string, not ${shown(name)}`);
    // A stub of Workers is a function by `typeof`.
    if (typeof binding?.callTool !== "function") {
      throw badRequest(`${where}.binding must have a method callTool(method, args)`);
    }
    return { name, binding };
  });
}
