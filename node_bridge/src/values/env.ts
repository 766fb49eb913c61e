// What programs find as `this.env`: values as tools return them, and functions of the host, which they call by path.

import { badRequest } from "../errors.js";
import { MAX_NAME } from "../protocol/messages.js";
import { FunctionReference, encodeToolValue } from "./tools.js";

const MAX_FUNCTIONS = 1000;
const MAX_DEPTH = 200;
/** Classes of Workers whose instances are known by their methods. */
const REMOTE = new Set(["RpcTarget", "WorkerEntrypoint", "DurableObject"]);

export type EnvFunction = (...args: unknown[]) => unknown;

export interface Env {
  /** A JSON object. */
  readonly text: string;
  /** By their paths, `DB.query` for example. */
  readonly functions: ReadonlyMap<string, EnvFunction>;
}

/**
 * Encodes the option `bindings`.
 *
 * @throws {ExecutorError} `BAD_REQUEST`: a value has no form in which a program could have it; the message names its path
 */
export function encodeEnv(bindings: Readonly<Record<string, unknown>>): Env {
  const functions = new Map<string, EnvFunction>();
  const prepared = prepare(bindings, "", functions, 0);
  return { text: encodeToolValue(prepared) ?? "{}", functions };
}

function prepare(value: unknown, path: string, functions: Map<string, EnvFunction>, depth: number): unknown {
  if (typeof value === "function") return reference(value as EnvFunction, path, functions);
  if (typeof value === "bigint" || typeof value === "symbol") {
    throw badRequest(`bindings.${path} is a ${typeof value}, which cannot be given to a program: use a string`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw badRequest(`bindings.${path.slice(0, 80)}… is part of a cycle, or nests too deeply`);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
  if (Array.isArray(value)) return value.map((item, index) => prepare(item, `${path}[${index}]`, functions, depth + 1));
  const members: [string, unknown][] = isPlain(value) ? Object.entries(value) : methodsOf(value, path);
  return Object.fromEntries(
    members.map(([key, item]) => [key, prepare(item, path === "" ? key : `${path}.${key}`, functions, depth + 1)]),
  );
}

function reference(target: EnvFunction, path: string, functions: Map<string, EnvFunction>): FunctionReference {
  if (functions.size >= MAX_FUNCTIONS) throw badRequest(`bindings hold more than ${MAX_FUNCTIONS} functions`);
  if (path.length > MAX_NAME) {
    throw badRequest(`bindings hold a function whose path is longer than ${MAX_NAME} characters: ${path.slice(0, 60)}…`);
  }
  if (functions.has(path)) throw badRequest(`bindings hold two functions whose path is ${path}`);
  functions.set(path, target);
  return new FunctionReference(path);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** As Workers RPC shows such an object: the methods of its classes, none of its properties. */
function methodsOf(target: object, path: string): [string, EnvFunction][] {
  const names = new Set<string>();
  let isRemote = false;
  for (let at = prototypeOf(target); at !== null && at !== Object.prototype; at = prototypeOf(at)) {
    const { constructor } = at;
    if (typeof constructor === "function" && REMOTE.has(constructor.name)) {
      isRemote = true;
      break;
    }
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  names.delete("constructor");
  if (!isRemote) {
    throw badRequest(
      `bindings.${path} is an instance of ${className(target)}, which cannot be given to a program: give a plain object` +
        " of values and functions, for example { query: (sql) => db.query(sql) }",
    );
  }
  const methods: [string, EnvFunction][] = [];
  for (const name of names) {
    const method = (target as Record<string, unknown>)[name];
    if (typeof method === "function") methods.push([name, (...args) => (method as EnvFunction).apply(target, args)]);
  }
  return methods;
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "a class";
}
