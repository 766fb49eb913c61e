// Modules as upstream takes them, as the daemon takes them.

import { badRequest, shown } from "./errors.js";
import type { ModuleSource } from "./contract.js";
import type { ModuleSpec } from "./protocol/session.js";
import { toBase64 } from "./values/base64.js";

const KINDS = ["js", "cjs", "json", "text", "data"];
// The name that upstream gives the program's own module.
const RESERVED = "executor.js";

/**
 * The option `modules` without the reserved name.
 *
 * @throws {ExecutorError} `BAD_REQUEST`: a source is unusable. Whether it parses is not looked at.
 */
export function checkedModules(modules: Readonly<Record<string, ModuleSource>> | undefined): ModuleSpec[] {
  if (modules === undefined) return [];
  if (typeof modules !== "object" || modules === null) {
    throw badRequest(`modules must be an object of sources by name, not ${shown(modules)}`);
  }
  return Object.entries(modules)
    .filter(([name]) => name !== RESERVED)
    .map(([name, source]) => module(name, source));
}

function module(name: string, source: unknown): ModuleSpec {
  if (typeof source === "string") return { name, source };
  const members = typeof source === "object" && source !== null ? Object.entries(source) : [];
  const [kind = "", value] = members[0] ?? [];
  if (members.length !== 1 || !KINDS.includes(kind)) {
    throw badRequest(`modules[${shown(name)}] must be a string, or an object of one member, one of ${KINDS.join(", ")}`);
  }
  if (kind === "data") return { name, kind, source: toBase64(bytes(name, value)) };
  if (kind === "json") return { name, kind, source: json(name, value) };
  if (typeof value !== "string") throw badRequest(`modules[${shown(name)}].${kind} must be a string, not ${shown(value)}`);
  return { name, kind, source: value };
}

function bytes(name: string, value: unknown): Uint8Array {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw badRequest(`modules[${shown(name)}].data must be an ArrayBuffer or a view of one, not ${shown(value)}`);
}

function json(name: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw badRequest(`modules[${shown(name)}].json cannot be written as JSON: ${(error as Error).message}`);
  }
  if (text === undefined) throw badRequest(`modules[${shown(name)}].json has no form in JSON: it is ${shown(value)}`);
  return text;
}
