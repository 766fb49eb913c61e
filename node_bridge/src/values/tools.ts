// The tool boundary's codec: a call's arguments out of the isolate, its result back into it.
//
// It is JSON with upstream's tagged base64 for bytes:
//
//   {"__codemode_binary_v1__": "Uint8Array" | "ArrayBuffer" | "ArrayBufferView", "data": "<base64>"}
//
// Data that merely looks like such a tag is wrapped once more, as {"__codemode_binary_v1__": "escaped", "value": …}, so
// that it comes out as it went in.

import { fromBase64, toBase64 } from "./base64.js";

/** A text is not what the codec writes. */
export class ToolValueRefused extends Error {
  override readonly name = "ToolValueRefused";
}

const TAG = "__codemode_binary_v1__";

/** Stands for a function of the host in what a program finds as `this.env`; the program calls it by its path. */
export class FunctionReference {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

type Members = Record<string, unknown>;

/**
 * JSON of a tool's result.
 *
 * What JSON.stringify does to a value happens here too, as upstream: a Date becomes a string, a Map an empty object.
 *
 * @returns the text, or `undefined` for what JSON has no word for (undefined, a function, a symbol)
 * @throws {TypeError} what JSON.stringify throws: bigints and cycles
 */
export function encodeToolValue(value: unknown): string | undefined {
  // A replacer makes JSON.stringify several times slower; what has no parts needs none.
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return JSON.stringify(value);
  // What was put in the place of a value is visited too, and must not be taken for the host's.
  const wrappers = new WeakSet<object>();
  const wrap = (wrapper: object): object => {
    wrappers.add(wrapper);
    return wrapper;
  };
  return JSON.stringify(value, function (this: object, key: string, given: unknown): unknown {
    // A toJSON method (Buffer has one) has run by now; the bytes are still in the holder.
    const original = (this as Members)[key];
    if (original instanceof FunctionReference) return wrap({ [TAG]: "function", data: original.path });
    const binary = encodeBinary(ArrayBuffer.isView(original) ? original : given);
    if (binary !== undefined) return wrap(binary);
    if (typeof given !== "object" || given === null || !Object.hasOwn(given, TAG)) return given;
    return wrappers.has(given) || wrappers.has(this) ? given : wrap({ [TAG]: "escaped", value: given });
  }) as string | undefined;
}

/**
 * The value of a text that `encodeToolValue`, or the isolate, wrote. Bytes come as `Uint8Array` or `ArrayBuffer`, as
 * upstream: other views lose their type.
 *
 * @throws {ToolValueRefused} it is not JSON, or something tagged as bytes is not base64
 */
export function decodeToolValue(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ToolValueRefused(`the text is not JSON: ${(error as Error).message}`, { cause: error });
  }
  return text.includes(TAG) ? revive(value) : value;
}

/**
 * The arguments of a call.
 *
 * @throws {ToolValueRefused} as `decodeToolValue`, and if they are not an array
 */
export function decodeToolArguments(text: string): unknown[] {
  const value = decodeToolValue(text);
  if (!Array.isArray(value)) throw new ToolValueRefused("the arguments of a call must be a JSON array");
  return value;
}

/** What a tool answers a call with. Throws what `encodeToolValue` throws. */
export function encodeToolAnswer(result: unknown): string {
  return encodeToolValue({ result }) as string;
}

/** What of a failed tool's exception becomes part of the Error in the program. */
export interface ToolFailure {
  /** Upstream's text; never empty. */
  readonly message: string;
  readonly name?: string;
  readonly code?: unknown;
  readonly details?: unknown;
  readonly cause?: unknown;
}

/**
 * The failure of a tool that threw. A part that cannot be read or encoded is left out; it is no reason to lose the others. Never
 * throws: a getter, a proxy or `{ toString: 1 }`, which a program may have sent, would else be felt by the host, not by its program.
 */
export function toolFailureOf(thrown: unknown): ToolFailure {
  if (attempt(() => thrown instanceof Error) !== true) {
    return { message: (attempt(() => String(thrown)) ?? "a value was thrown that has no text") || "an empty value was thrown" };
  }
  const error = thrown as Error & { code?: unknown; details?: unknown };
  const failure: Members = {};
  const parts = {
    code: attempt(() => error.code),
    details: attempt(() => error.details),
    cause: attempt(() => (error.cause instanceof Error ? `${error.cause.name}: ${error.cause.message}` : error.cause)),
  };
  for (const [key, value] of Object.entries(parts)) {
    if (value !== undefined && isEncodable(value)) failure[key] = value;
  }
  const name = attempt(() => String(error.name)) ?? "Error";
  return { message: attempt(() => String(error.message)) || name || "Error", name, ...failure };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** What a failed tool answers a call with: upstream's text as `error`, and beside it what an `Error` can carry. */
export function encodeToolFailure(thrown: unknown): string {
  const { message, ...more } = toolFailureOf(thrown);
  return encodeToolValue({ error: message, ...more }) as string;
}

function isEncodable(value: unknown): boolean {
  try {
    return encodeToolValue(value) !== undefined;
  } catch {
    return false;
  }
}

function encodeBinary(value: unknown): Members | undefined {
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { [TAG]: value instanceof Uint8Array ? "Uint8Array" : "ArrayBufferView", data: toBase64(bytes) };
  }
  if (value instanceof ArrayBuffer) return { [TAG]: "ArrayBuffer", data: toBase64(new Uint8Array(value)) };
  return undefined;
}

function decodeBinary(type: unknown, data: string): Uint8Array | ArrayBuffer {
  const bytes = fromBase64(data);
  if (bytes === undefined) throw new ToolValueRefused(`a value tagged ${TAG} does not hold base64`);
  return type === "ArrayBuffer" ? bytes.buffer : bytes;
}

/** Puts bytes in the place of their tags. Without recursion: the text decides how deeply it nests. */
function revive(root: unknown): unknown {
  const holder: unknown[] = [root];
  const open: object[] = [holder];
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    for (const key of Object.keys(container)) {
      const given = (container as Members)[key];
      if (typeof given !== "object" || given === null) continue;
      const { value, inside } = untag(given);
      if (value !== given) {
        // JSON.parse makes `__proto__` a key like any other; an assignment would not.
        Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
      }
      if (inside !== undefined) open.push(inside);
    }
  }
  return holder[0];
}

/** What a member stands for, and the object inside it that may hold more tags. */
function untag(given: object): { value: unknown; inside?: object } {
  if (Array.isArray(given) || !Object.hasOwn(given, TAG)) return { value: given, inside: given };
  const members = given as Members;
  if (members[TAG] === "escaped" && Object.hasOwn(members, "value")) {
    const value = members["value"];
    return typeof value === "object" && value !== null ? { value, inside: value } : { value };
  }
  const data = Object.hasOwn(members, "data") ? members["data"] : undefined;
  return typeof data === "string" ? { value: decodeBinary(members[TAG], data) } : { value: given, inside: given };
}
