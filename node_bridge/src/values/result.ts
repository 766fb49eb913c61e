// The program's result, as the harness encodes it: the JavaScript side of the result codec.
//
// Whoever sends this may be hostile, so everything is checked, nothing is looked up through a prototype, and nothing
// recurses: a rich result is a flat table of objects that name each other by index.

import { fromBase64 } from "./base64.js";

/** The bytes that came are not a result. The message says what is wrong and, in a rich result, with which entry. */
export class ResultRefused extends Error {
  override readonly name = "ResultRefused";
}

/** How a result is written. */
export const Form = { UNDEFINED: 0, PLAIN: 1, RICH: 2 } as const;

/** Digits of the longest bigint that is read: reading one takes more than linear time. */
export const MAX_BIGINT_DIGITS = 1_000_000;

const MAX_ARRAY_LENGTH = 2 ** 32 - 1;
const MAX_EXCEPTION_CODE = 1000;
const MAX_DATE_MS = 8.64e15;

const ERRORS = new Map<string, ErrorConstructor>([
  ["Error", Error],
  ["EvalError", EvalError],
  ["RangeError", RangeError],
  ["ReferenceError", ReferenceError],
  ["SyntaxError", SyntaxError],
  ["TypeError", TypeError],
  ["URIError", URIError],
]);

/** Makes what stands for a function of the program. */
export type MakeHandle = (number: number) => unknown;

type View = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

/** Constructors of views, with the size of an element in bytes. Not every engine has Float16Array. */
const VIEWS = new Map<string, readonly [View, number]>([
  ["Int8Array", [Int8Array, 1]],
  ["Uint8Array", [Uint8Array, 1]],
  ["Uint8ClampedArray", [Uint8ClampedArray, 1]],
  ["Int16Array", [Int16Array, 2]],
  ["Uint16Array", [Uint16Array, 2]],
  ["Int32Array", [Int32Array, 4]],
  ["Uint32Array", [Uint32Array, 4]],
  ["Float32Array", [Float32Array, 4]],
  ["Float64Array", [Float64Array, 8]],
  ["BigInt64Array", [BigInt64Array, 8]],
  ["BigUint64Array", [BigUint64Array, 8]],
  ["DataView", [DataView, 1]],
]);
const { Float16Array: float16 } = globalThis as { Float16Array?: View };
if (float16 !== undefined) VIEWS.set("Float16Array", [float16, 2]);

/**
 * The value that a program returned.
 *
 * @param form how it is written: one of `Form`
 * @param text JSON; empty or absent for `Form.UNDEFINED`
 * @param handle makes what stands for a function, from its number; without it, functions are refused
 * @returns the value. Objects that were the same object in the program are the same object again.
 * @throws {ResultRefused} the text is not a result of that form
 */
export function decodeResult(form: number, text: string | undefined, handle?: MakeHandle): unknown {
  switch (form) {
    case Form.UNDEFINED:
      if (text !== undefined && text !== "") throw new ResultRefused("undefined comes with text");
      return undefined;
    case Form.PLAIN:
      return parse(text);
    case Form.RICH:
      return new Decoder(parse(text), handle).value();
    default:
      throw new ResultRefused(`the form ${String(form)} is unknown`);
  }
}

function parse(text: string | undefined): unknown {
  if (text === undefined) throw new ResultRefused("a value comes without text");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ResultRefused(`the text is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

class Decoder {
  readonly #root: unknown;
  readonly #table: readonly unknown[];
  readonly #objects: object[] = [];

  readonly #handle: MakeHandle | undefined;

  constructor(document: unknown, handle: MakeHandle | undefined) {
    this.#handle = handle;
    if (!isRecord(document) || !hasExactly(document, ["root", "table"]) || !Array.isArray(document["table"])) {
      throw new ResultRefused('a rich result must be {"root": …, "table": […]}');
    }
    this.#root = document["root"];
    this.#table = document["table"];
  }

  /** Every object is made before any is filled, so that entries may name later ones, and themselves. */
  value(): unknown {
    const views: number[] = [];
    this.#table.forEach((raw, index) => {
      const entry = this.#entry(raw, index);
      // A view takes its buffer when it is made.
      if (entry[0] === "v") views.push(index);
      else this.#objects[index] = this.#create(entry, index);
    });
    for (const index of views) this.#objects[index] = this.#view(this.#entry(this.#table[index], index), index);
    this.#table.forEach((raw, index) => this.#fill(this.#entry(raw, index), index));
    return this.#child(this.#root, "root");
  }

  #entry(raw: unknown, index: number): readonly unknown[] {
    if (!Array.isArray(raw)) throw refusal(index, "is not an array");
    return raw;
  }

  #create(entry: readonly unknown[], index: number): object {
    switch (entry[0]) {
      case "o":
        return {};
      case "a":
        return [];
      case "s":
        return sparse(entry, index);
      case "m":
        return new Map();
      case "e":
        return new Set();
      case "d":
        return date(entry, index);
      case "x":
        return regExp(entry, index);
      case "E":
        return error(entry, index);
      case "X":
        return exception(entry, index);
      case "b":
        return buffer(entry, index);
      case "w":
        return this.#boxed(entry, index);
      default:
        throw refusal(index, `has the unknown tag ${shown(entry[0])}`);
    }
  }

  #fill(entry: readonly unknown[], index: number): void {
    const target = this.#objects[index];
    switch (entry[0]) {
      case "o":
        this.#fillObject(target as object, entry, index);
        break;
      case "a":
        for (let i = 1; i < entry.length; i += 1) (target as unknown[]).push(this.#child(entry[i], index));
        break;
      case "s":
        this.#fillSparse(target as unknown[], entry, index);
        break;
      case "m":
        this.#fillMap(target as Map<unknown, unknown>, entry, index);
        break;
      case "e":
        for (let i = 1; i < entry.length; i += 1) (target as Set<unknown>).add(this.#child(entry[i], index));
        if ((target as Set<unknown>).size !== entry.length - 1) throw refusal(index, "names an element twice");
        break;
      case "E":
        if (entry.length === 5) define(target as object, "cause", this.#child(entry[4], index), false);
        break;
      default: // complete as it was made
    }
  }

  #fillObject(target: object, entry: readonly unknown[], index: number): void {
    if (entry.length % 2 !== 1) throw refusal(index, "has a key without a value");
    for (let i = 1; i < entry.length; i += 2) {
      const key = entry[i];
      if (typeof key !== "string") throw refusal(index, `has the key ${shown(key)}, which is not a string`);
      if (Object.hasOwn(target, key)) throw refusal(index, `has the key ${shown(key)} twice`);
      const value = this.#child(entry[i + 1], index);
      // What the prototype has under that name (`__proto__`, or anything where prototypes are frozen) must not see it.
      if (key in target) define(target, key, value, true);
      else (target as Record<string, unknown>)[key] = value;
    }
  }

  #fillSparse(target: unknown[], entry: readonly unknown[], index: number): void {
    if (entry.length % 2 !== 0) throw refusal(index, "has an index without a value");
    let previous = -1;
    for (let i = 2; i < entry.length; i += 2) {
      const at = entry[i];
      if (!isIndex(at, target.length) || at <= previous) {
        throw refusal(index, `has the index ${shown(at)}, which is not one of an array of ${target.length} in order`);
      }
      previous = at;
      target[at] = this.#child(entry[i + 1], index);
    }
  }

  #fillMap(target: Map<unknown, unknown>, entry: readonly unknown[], index: number): void {
    if (entry.length % 2 !== 1) throw refusal(index, "has a key without a value");
    for (let i = 1; i < entry.length; i += 2) {
      target.set(this.#child(entry[i], index), this.#child(entry[i + 1], index));
    }
    if (target.size !== (entry.length - 1) / 2) throw refusal(index, "has a key twice");
  }

  #boxed(entry: readonly unknown[], index: number): object {
    arity(entry, 2, index);
    const value = primitive(entry[1], index);
    if (value === undefined || value === null) throw refusal(index, `boxes ${String(value)}`);
    return Object(value) as object;
  }

  #view(entry: readonly unknown[], index: number): object {
    arity(entry, 5, index);
    const [, type, n, byteOffset, length] = entry;
    const known = typeof type === "string" ? VIEWS.get(type) : undefined;
    if (known === undefined) throw refusal(index, `is a view of type ${shown(type)}, which is unknown here`);
    const [constructor, size] = known;
    const target = isIndex(n, this.#table.length) ? this.#objects[n] : undefined;
    if (!(target instanceof ArrayBuffer)) throw refusal(index, `is a view of entry ${shown(n)}, which is no buffer`);
    const fits =
      isIndex(byteOffset, target.byteLength + 1) &&
      isIndex(length, target.byteLength + 1) &&
      byteOffset % size === 0 &&
      byteOffset + length * size <= target.byteLength;
    if (!fits) {
      const where = `${shown(length)} elements at byte ${shown(byteOffset)} of ${target.byteLength}`;
      throw refusal(index, `is a view that lies outside its buffer: ${where}`);
    }
    return new constructor(target, byteOffset, length);
  }

  #child(value: unknown, where: number | "root"): unknown {
    if (Array.isArray(value) && value[0] === "h" && value.length === 2 && this.#handle !== undefined) {
      if (!isIndex(value[1], Number.MAX_SAFE_INTEGER)) throw refusal(where, "holds a function without a number");
      return this.#handle(value[1]);
    }
    if (!isRecord(value)) return primitive(value, where);
    const n = hasExactly(value, ["r"]) ? value["r"] : undefined;
    if (!isIndex(n, this.#table.length)) throw refusal(where, `names ${shown(value)}, which is not in the table`);
    return this.#objects[n];
  }
}

function primitive(value: unknown, where: number | "root"): unknown {
  if (typeof value === "number" || typeof value === "string" || typeof value === "boolean" || value === null) {
    if (typeof value === "number" && !Number.isFinite(value)) throw refusal(where, "holds a number that is too large");
    return value;
  }
  if (Array.isArray(value)) {
    const [tag, text] = value as unknown[];
    if (tag === "u" && value.length === 1) return undefined;
    if (value.length === 2 && typeof text === "string") {
      if (tag === "n" && NUMBERS.has(text)) return NUMBERS.get(text);
      if (tag === "i" && BIGINT.test(text)) {
        if (text.length > MAX_BIGINT_DIGITS) {
          throw refusal(where, `holds a bigint of ${text.length} digits; the limit is ${MAX_BIGINT_DIGITS}`);
        }
        return BigInt(text);
      }
    }
  }
  throw refusal(where, `holds ${shown(value)}, which is no value`);
}

const NUMBERS = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
  ["-0", -0],
]);
const BIGINT = /^(?:0|-?[1-9][0-9]*)$/;

function sparse(entry: readonly unknown[], index: number): unknown[] {
  const length = entry[1];
  if (!isIndex(length, MAX_ARRAY_LENGTH + 1)) throw refusal(index, `is an array of length ${shown(length)}`);
  const array: unknown[] = [];
  array.length = length; // unlike `new Array(length)`, takes no memory for what is not there
  return array;
}

function date(entry: readonly unknown[], index: number): Date {
  arity(entry, 2, index);
  const time = entry[1];
  if (time === null) return new Date(NaN);
  if (!Number.isInteger(time) || Math.abs(time as number) > MAX_DATE_MS) {
    throw refusal(index, `is a date of ${shown(time)} milliseconds`);
  }
  return new Date(time as number);
}

function regExp(entry: readonly unknown[], index: number): RegExp {
  arity(entry, 3, index);
  const [, source, flags] = entry;
  if (typeof source !== "string" || typeof flags !== "string") throw refusal(index, "is a RegExp that is not strings");
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw refusal(index, `is a RegExp that this engine refuses: ${(error as Error).message.slice(0, 200)}`);
  }
}

function error(entry: readonly unknown[], index: number): Error {
  if (entry.length !== 4 && entry.length !== 5) throw refusal(index, `has ${entry.length} parts, not 4 or 5`);
  const [, name, message, stack] = entry;
  const constructor = typeof name === "string" ? ERRORS.get(name) : undefined;
  if (constructor === undefined) throw refusal(index, `is an error named ${shown(name)}`);
  if (typeof message !== "string" || typeof stack !== "string") {
    throw refusal(index, "is an error whose message or stack is no string");
  }
  const made = new constructor(message);
  define(made, "stack", stack, false);
  return made;
}

/** A DOMException as it arrives from Workers RPC: an Error with properties of its own. */
function exception(entry: readonly unknown[], index: number): Error {
  arity(entry, 4, index);
  const [, name, message, code] = entry;
  if (typeof name !== "string" || typeof message !== "string" || !isIndex(code, MAX_EXCEPTION_CODE)) {
    throw refusal(index, "is an exception without a name, a message or a code");
  }
  const made = new Error(message);
  delete made.stack; // it comes last
  define(made, "code", code, true);
  define(made, "name", name, true);
  define(made, "stack", "", true);
  return made;
}

function buffer(entry: readonly unknown[], index: number): ArrayBuffer {
  arity(entry, 2, index);
  const bytes = typeof entry[1] === "string" ? fromBase64(entry[1]) : undefined;
  if (bytes === undefined) throw refusal(index, "is a buffer that is not base64");
  return bytes.buffer;
}

function arity(entry: readonly unknown[], length: number, index: number): void {
  if (entry.length !== length) throw refusal(index, `has ${entry.length} parts, not ${length}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasExactly(value: Record<string, unknown>, keys: readonly string[]): boolean {
  return Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
}

function isIndex(value: unknown, end: number): value is number {
  return Number.isInteger(value) && !Object.is(value, -0) && (value as number) >= 0 && (value as number) < end;
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable, configurable: true });
}

function refusal(where: number | "root", what: string): ResultRefused {
  return new ResultRefused(where === "root" ? `the root ${what}` : `entry ${where} of the table ${what}`);
}

/** A few characters of a value, without walking through it: it may nest deeply. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (isRecord(value)) return `an object of ${Object.keys(value).length}`;
  return String(value);
}
