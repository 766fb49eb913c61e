// Values that enter an isolate as structured clone carries them: what connectors and functions of `this.env` answer, and
// the arguments of retained functions. The inverse of `decodeResult`, in the same format as the harness writes.
//
// Nothing recurses, so no value is too deep; and of a buffer, nothing leaves but what the value shows of it: a small
// `Buffer` is a window on memory that holds other things of the host.

import { toBase64 } from "./base64.js";
import { Form } from "./result.js";

/** A value has no form in which it could cross. The message names the place where it stands. */
export class CloneRefused extends Error {
  override readonly name = "DataCloneError";
}

/** A value as it crosses: one of `Form`, and text; empty for `Form.UNDEFINED`. */
export interface Encoded {
  readonly form: number;
  readonly text: string;
}

const PLAIN_DEPTH = 200; // deeper ones take the rich form, whose reader needs no stack
const PLAIN_OBJECTS = 1_000_000;
const ERROR_NAMES = new Set(["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"]);
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const MAX_PATH = 200;
const MAX_EXCEPTION_CODE = 1000;
// JSON.stringify makes one string of a rich table: a long one is put together from pieces, so that its parts can go.
const PIECE = 4096;

/** What stands for values that structured clone does not take. */
export interface StandIns {
  /** The number of a function, or of an object that is used like one. */
  handle(value: object): number | undefined;
  /** What crosses instead of an instance of a class. */
  shape(value: object): Readonly<Record<string, unknown>> | undefined;
}

const NO_STAND_INS: StandIns = { handle: () => undefined, shape: () => undefined };

/**
 * Encodes a value.
 *
 * @param value what is sent: all that structured clone takes, but for functions, streams and instances of classes
 * @param root what the value is called in messages
 * @param standIns for some of those
 * @throws {CloneRefused} a value, or one inside it, cannot cross
 */
export function encodeClone(value: unknown, root = "result", standIns: StandIns = NO_STAND_INS): Encoded {
  if (value === undefined) return { form: Form.UNDEFINED, text: "" };
  if (isPlain(value)) return { form: Form.PLAIN, text: JSON.stringify(value) };
  return { form: Form.RICH, text: new Encoder(root, standIns).encode(value) };
}

/** What JSON writes as it is. Almost every value is. */
function isPlain(root: unknown): boolean {
  const seen = new Set<object>();
  const visit = (value: unknown, depth: number): boolean => {
    switch (typeof value) {
      case "string":
      case "boolean":
        return true;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0);
      case "object":
        break;
      default:
        return false;
    }
    if (value === null) return true;
    if (depth > PLAIN_DEPTH || seen.size > PLAIN_OBJECTS || seen.has(value)) return false;
    seen.add(value);
    const keys = Object.keys(value);
    if (Array.isArray(value)) return keys.length === value.length && value.every((item) => visit(item, depth + 1));
    if (!isPlainObject(value)) return false;
    return keys.every((key) => visit((value as Record<string, unknown>)[key], depth + 1));
  };
  return visit(root, 0);
}

export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // The second is Object.prototype of another realm.
  return prototype === null || prototype === Object.prototype || (isRealmRoot(prototype) && kindOf(value) === "Object");
}

function isRealmRoot(prototype: unknown): boolean {
  return (
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype as object, "hasOwnProperty") &&
    Object.hasOwn(prototype as object, "isPrototypeOf")
  );
}

/** Where a value stands: a key in the place of its holder. Made into text only for a message. */
interface Place {
  readonly holder: Place | undefined;
  readonly key: string;
}

type Entry = unknown[];

class Encoder {
  readonly #numbers = new Map<object, number>();
  readonly #table: Entry[] = [];
  readonly #open: { value: object; number: number; place: Place }[] = [];
  readonly #root: Place;
  readonly #standIns: StandIns;

  constructor(root: string, standIns: StandIns) {
    this.#root = { holder: undefined, key: root };
    this.#standIns = standIns;
  }

  encode(value: unknown): string {
    const root = this.#child(value, this.#root);
    for (let next = this.#open.shift(); next !== undefined; next = this.#take()) {
      this.#table[next.number] = this.#describe(next.value, next.place);
    }
    const pieces: string[] = [];
    for (let at = 0; at < this.#table.length; at += PIECE) {
      pieces.push(JSON.stringify(this.#table.slice(at, at + PIECE)).slice(1, -1));
    }
    return `{"root":${JSON.stringify(root)},"table":[${pieces.join(",")}]}`;
  }

  #take(): { value: object; number: number; place: Place } | undefined {
    return this.#open.pop();
  }

  #child(value: unknown, place: Place): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        if (Object.is(value, -0)) return ["n", "-0"];
        return Number.isFinite(value) ? value : ["n", String(value)];
      case "undefined":
        return ["u"];
      case "bigint":
        return ["i", String(value)];
      case "object":
        return value === null ? null : (this.#handle(value) ?? { r: this.#reference(value, place) });
      case "symbol":
        throw refusal(`${String(value)} could not be cloned.`, place);
      default: {
        const handle = this.#handle(value as object);
        if (handle !== undefined) return handle;
        throw refusal('Could not serialize object of type "Function". This type does not support serialization.', place);
      }
    }
  }

  #handle(value: object): Entry | undefined {
    const number = this.#standIns.handle(value);
    return number === undefined ? undefined : ["h", number];
  }

  #reference(value: object, place: Place): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const number = this.#table.push([]) - 1;
    this.#numbers.set(value, number);
    this.#open.push({ value, number, place });
    return number;
  }

  #describe(value: object, place: Place): Entry {
    if (Array.isArray(value)) return this.#array(value, place);
    if (ArrayBuffer.isView(value)) return this.#view(value, place);
    switch (kindOf(value)) {
      case "Map":
        if (value instanceof Map) return this.#map(value, place);
        break;
      case "Set":
        if (value instanceof Set) return this.#set(value, place);
        break;
      case "Date":
        if (value instanceof Date) return ["d", Number.isNaN(value.getTime()) ? null : value.getTime()];
        break;
      case "RegExp":
        if (value instanceof RegExp) return ["x", value.source, value.flags];
        break;
      case "ArrayBuffer":
        if (value instanceof ArrayBuffer) return ["b", toBase64(new Uint8Array(value))];
        break;
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
        if (isBoxed(value)) return ["w", this.#child(value.valueOf(), place)];
        break;
      default:
    }
    if (isException(value)) return exception(value);
    if (value instanceof Error) return this.#error(value, place);
    const shape = isPlainObject(value) ? value : this.#standIns.shape(value);
    if (shape === undefined) {
      const text = `Could not serialize object of type "${className(value)}". This type does not support serialization.`;
      throw refusal(text, place);
    }
    const entry: Entry = ["o"];
    for (const [key, item] of Object.entries(shape)) entry.push(key, this.#child(item, { holder: place, key }));
    return entry;
  }

  #array(items: unknown[], place: Place): Entry {
    const keys = Object.keys(items);
    if (keys.length === items.length) {
      const entry: Entry = ["a"];
      for (let i = 0; i < items.length; i += 1) entry.push(this.#child(items[i], { holder: place, key: String(i) }));
      return entry;
    }
    const entry: Entry = ["s", items.length];
    for (const key of keys) {
      const index = Number(key);
      if (!(index < items.length) || String(index) !== key) continue; // a named property of an array
      entry.push(index, this.#child(items[index], { holder: place, key }));
    }
    return entry;
  }

  #map(map: Map<unknown, unknown>, place: Place): Entry {
    const entry: Entry = ["m"];
    for (const [key, item] of map) {
      entry.push(this.#child(key, { holder: place, key: "(a key)" }));
      entry.push(this.#child(item, { holder: place, key: "(a value)" }));
    }
    return entry;
  }

  #set(set: Set<unknown>, place: Place): Entry {
    const entry: Entry = ["e"];
    for (const item of set) entry.push(this.#child(item, { holder: place, key: "(an element)" }));
    return entry;
  }

  #view(view: ArrayBufferView, place: Place): Entry {
    const type = viewType(view);
    const { buffer, byteOffset, byteLength } = view;
    const length = "length" in view ? (view.length as number) : byteLength;
    if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) {
      return ["v", type, this.#reference(buffer, place), 0, length];
    }
    // Only its own part crosses, so views that share a buffer in parts no longer do.
    const part = new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
    return ["v", type, this.#reference(part, place), 0, length];
  }

  #error(error: Error, place: Place): Entry {
    const name = ERROR_NAMES.has(error.name) ? error.name : "Error";
    // The stack stays: it shows the host's files.
    const entry: Entry = ["E", name, String(error.message), ""];
    if (Object.hasOwn(error, "cause")) entry.push(this.#child(error.cause, { holder: place, key: "cause" }));
    return entry;
  }
}

function exception(value: DOMExceptionLike): Entry {
  const { code } = value;
  const known = Number.isInteger(code) && code >= 0 && code < MAX_EXCEPTION_CODE;
  return ["X", String(value.name), String(value.message), known ? code : 0];
}

interface DOMExceptionLike {
  readonly name: string;
  readonly message: string;
  readonly code: number;
}

export function isException(value: object): value is DOMExceptionLike {
  const { DOMException } = globalThis as { DOMException?: abstract new (...args: never[]) => DOMExceptionLike };
  return (DOMException !== undefined && value instanceof DOMException) || hasArrived(value);
}

/** As `decodeResult` makes one: an Error with these three of its own. */
function hasArrived(value: object): boolean {
  return value instanceof Error && Object.hasOwn(value, "name") && Object.hasOwn(value, "code") && value.stack === "";
}

function isBoxed(value: object): boolean {
  // `valueOf` of these prototypes throws for what merely looks like one.
  return value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt;
}

function viewType(view: ArrayBufferView): string {
  if (view instanceof DataView) return "DataView";
  // The getter answers the real type: `Uint8Array` for a Buffer.
  const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  return tag?.get?.call(view) as string;
}

export const kindOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);

function className(value: object): string {
  const { constructor } = value as { constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : kindOf(value);
}

function refusal(text: string, place: Place): CloneRefused {
  return new CloneRefused(`${text} It is ${pathOf(place)}.`);
}

function pathOf(place: Place): string {
  const keys: string[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.holder) keys.push(at.key);
  const [root = "", ...rest] = keys.reverse();
  const path = rest.reduce((text, key) => `${text}${keyText(key)}`, root);
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
}

/** A key as it stands behind its holder: `.name`, `[0]`. */
export function keyText(key: string): string {
  if (key.startsWith("(")) return ` ${key}`;
  if (IDENTIFIER.test(key)) return `.${key}`;
  return /^(?:0|[1-9][0-9]*)$/.test(key) ? `[${key}]` : `[${JSON.stringify(key)}]`;
}
