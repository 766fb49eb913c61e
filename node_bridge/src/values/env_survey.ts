// A look at the option `bindings` before anything of it is written: which functions and services are in it, by what paths they
// are called, and whether more than JSON, bytes and functions is among the values.

import { badRequest } from "../errors.js";
import { isException, isPlainObject, keyText, kindOf } from "./clone.js";
import { isService } from "./service.js";

export type EnvFunction = (...args: unknown[]) => unknown;

/** What a program uses by a path. Numbered in their order. */
export interface Handle {
  readonly number: number;
  readonly kind: "function" | "service";
  readonly path: string;
  readonly target: object;
}

const MAX_HANDLES = 1000;
const MAX_PLAIN_DEPTH = 200;
/** Classes of Workers whose instances are known by their methods. */
const REMOTE = new Set(["RpcTarget", "WorkerEntrypoint", "DurableObject"]);
const CLONED = new Set(["Date", "RegExp", "Number", "String", "Boolean", "BigInt"]);

interface Place {
  readonly value: unknown;
  readonly path: string;
  readonly depth: number;
}

export class Survey {
  readonly handles: Handle[] = [];
  /** Something in it is neither JSON nor bytes nor a function, or is reached twice. */
  isRich = false;
  readonly #handles = new Map<object, Handle>();
  readonly #shapes = new Map<object, Record<string, EnvFunction>>();
  readonly #paths = new Set<string>();
  readonly #seen = new Set<object>();
  readonly #open: Place[];

  /** @throws {ExecutorError} `BAD_REQUEST`: a value has no form in which a program could have it; the message names its path */
  constructor(bindings: Readonly<Record<string, unknown>>) {
    this.#open = [{ value: bindings, path: "", depth: 0 }];
    // In the order in which they stand, which is the order of their numbers.
    for (let place = this.#open.pop(); place !== undefined; place = this.#open.pop()) this.#look(place);
  }

  /** What stands for a function or a service. */
  handleOf(value: object): Handle | undefined {
    return this.#handles.get(value);
  }

  /** What a program has for an object that it uses by its methods. */
  shapeOf(value: object): Record<string, EnvFunction> | undefined {
    return this.#shapes.get(value);
  }

  #look(place: Place): void {
    const { value, path } = place;
    switch (typeof value) {
      case "symbol":
        throw badRequest(`bindings.${path} is a symbol, which cannot be given to a program: use a string`);
      case "undefined":
      case "bigint":
        this.isRich = true;
        return;
      case "number":
        if (!Number.isFinite(value) || Object.is(value, -0)) this.isRich = true;
        return;
      case "function":
        return this.#add(isService(value) ? "service" : "function", value, path);
      case "object":
        if (value !== null) this.#lookInto(value, place);
        return;
      default:
    }
  }

  #lookInto(value: object, place: Place): void {
    const { path, depth } = place;
    if (isService(value)) return this.#add("service", value, path);
    if (this.#seen.has(value) || depth > MAX_PLAIN_DEPTH) this.isRich = true;
    if (this.#seen.has(value)) return;
    this.#seen.add(value);
    const kind = kindOf(value);
    if (Array.isArray(value)) {
      if (Object.keys(value).length !== value.length) this.isRich = true;
      this.#descend(place, Object.keys(value).map((key) => [key, (value as unknown as Record<string, unknown>)[key]]));
    } else if (ArrayBuffer.isView(value)) {
      if (kind !== "Uint8Array" || this.#seen.has(value.buffer)) this.isRich = true;
      this.#seen.add(value.buffer);
    } else if (value instanceof Map) {
      this.isRich = true;
      this.#descend(place, [...value].flat().map((item: unknown) => ["(an entry)", item]));
    } else if (value instanceof Set) {
      this.isRich = true;
      this.#descend(place, [...value].map((item: unknown) => ["(an element)", item]));
    } else if (value instanceof Error || isException(value)) {
      this.isRich = true;
      if (Object.hasOwn(value, "cause")) this.#descend(place, [["cause", (value as Error).cause]]);
    } else if (CLONED.has(kind)) {
      this.isRich = true;
    } else if (isPlainObject(value)) {
      this.#descend(place, Object.entries(value));
    } else if (!(value instanceof ArrayBuffer)) {
      const methods = methodsOf(value, path);
      this.#shapes.set(value, methods);
      this.#descend(place, Object.entries(methods));
    }
  }

  #descend({ path, depth }: Place, members: readonly (readonly [string, unknown])[]): void {
    for (const [key, value] of [...members].reverse()) {
      if (typeof value === "number" || typeof value === "string" || typeof value === "boolean" || value === null) {
        this.#look({ value, path, depth }); // what most of a long array is, and never named
        continue;
      }
      const shown = keyText(key);
      this.#open.push({ value, path: path === "" ? shown.replace(/^\./, "") : path + shown, depth: depth + 1 });
    }
  }

  #add(kind: Handle["kind"], target: object, wanted: string): void {
    if (kind === "service") this.isRich = true;
    if (this.#handles.has(target)) return;
    if (this.handles.length >= MAX_HANDLES) throw badRequest(`bindings hold more than ${MAX_HANDLES} functions and services`);
    let path = wanted;
    for (let n = 2; this.#paths.has(path); n += 1) path = `${wanted}#${n}`;
    this.#paths.add(path);
    const handle: Handle = { number: this.handles.length, kind, path, target };
    this.handles.push(handle);
    this.#handles.set(target, handle);
  }
}

/** As Workers RPC shows such an object: the methods of its classes, none of its properties. */
function methodsOf(target: object, path: string): Record<string, EnvFunction> {
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
  return Object.fromEntries(methods);
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "a class";
}
