// The messages of `codemode-executor.v1` as they stand in a frame: a header of JSON on one line and, for some types, a
// payload on the next. Everything that arrives is checked here; a payload is passed on as it came.

import { bytesBeyond, utf8Length } from "./utf8.js";

/** The peer does not keep to the protocol: the connection is of no use any more. */
export class Violation extends Error {
  override readonly name = "Violation";
}

export const SUBPROTOCOL = "codemode-executor.v1";
export const PROTOCOL = 1;

export const Close = { DONE: 1000, GOING_AWAY: 1001, TOO_LARGE: 1009, VIOLATION: 4400, TOO_SLOW: 4408 } as const;

/** A frame that holds several messages stays under this; characters. */
export const MAX_JOINED = 256 * 1024;

/** Longest name of a provider, a tool, a function; characters. */
export const MAX_NAME = 256;

/** Bounds of a run. Sizes in bytes, `memory_mb` in MiB, times in seconds. */
export interface Limits {
  readonly timeout_s: number;
  readonly cpu_s: number | null;
  readonly memory_mb: number;
  readonly program_bytes: number;
  readonly module_bytes: number;
  readonly argument_bytes: number;
  readonly tool_result_bytes: number;
  readonly result_bytes: number;
  readonly log_bytes: number;
  readonly log_lines: number;
  readonly tool_calls: number;
  readonly tool_calls_in_flight: number;
}

const BOUNDS = [
  "timeout_s", "memory_mb", "program_bytes", "module_bytes", "argument_bytes", "tool_result_bytes", "result_bytes",
  "log_bytes", "log_lines", "tool_calls", "tool_calls_in_flight",
] as const satisfies readonly (keyof Limits)[]; // prettier-ignore

export const CALL_KINDS = ["tool", "connector", "env", "outbound"] as const;
/** What a call is for: a tool, a method of a connector, a function of `this.env`, a request to the network. */
export type CallKind = (typeof CALL_KINDS)[number];

export type LogLine = readonly [level: string, text: string];

/** What a daemon sends. Names are those of the protocol. */
export type Incoming =
  | {
      readonly t: "hello";
      readonly version: string;
      readonly limits: Limits;
      readonly maxMessageBytes: number;
      readonly heartbeatS: number;
    }
  | { readonly t: "accepted"; readonly run: number; readonly token: string }
  | {
      readonly t: "refused";
      readonly run: number;
      readonly code: string;
      readonly message: string;
      readonly retryAfterS: number | undefined;
    }
  | {
      readonly t: "call";
      readonly run: number;
      readonly call: number;
      readonly kind: CallKind;
      readonly provider: string;
      readonly tool: string;
      readonly payload: string;
    }
  | { readonly t: "cancel_call"; readonly run: number; readonly call: number }
  | { readonly t: "logs"; readonly run: number; readonly lines: readonly LogLine[] }
  | { readonly t: "result"; readonly run: number; readonly retained: boolean; readonly payload: string }
  | { readonly t: "error"; readonly run: number; readonly message: string }
  | { readonly t: "fault"; readonly run: number; readonly code: string; readonly message: string }
  | { readonly t: "invoked"; readonly run: number; readonly invocation: number; readonly payload: string }
  | {
      readonly t: "invoke_failed";
      readonly run: number;
      readonly invocation: number;
      readonly code: string;
      readonly message: string;
      readonly name: string;
      readonly stack: string;
    }
  | { readonly t: "over"; readonly run: number; readonly message: string }
  | { readonly t: "draining"; readonly drainS: number }
  | { readonly t: "pong"; readonly n: number };

type Header = Record<string, unknown>;

// JSON.stringify writes a surrogate that stands alone, and no other character, as an escape of this kind.
const BACKSLASH_OR_LONE = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

const WITH_PAYLOAD = new Set(["call", "result", "invoked"]);

/**
 * The messages of a frame, in order.
 *
 * @throws {Violation} one of them is not what the protocol says
 */
export function* readFrame(frame: string): Generator<Incoming, void, void> {
  for (let at = 0; at <= frame.length; ) {
    const end = lineEnd(frame, at);
    const header = parseHeader(frame.slice(at, end));
    at = end + 1;
    let payload = "";
    if (WITH_PAYLOAD.has(header["t"] as string)) {
      if (end === frame.length) throw new Violation(`the message ${name(header)} comes without its payload`);
      const payloadEnd = lineEnd(frame, at);
      payload = frame.slice(at, payloadEnd);
      at = payloadEnd + 1;
    }
    yield read(header, payload);
  }
}

/** A message as it is sent. One with a long payload is in two parts: as one text, it would be copied. */
export type Message = string | { readonly head: string; readonly tail: string };

/** A message as it is sent. What no UTF-8 has, half a surrogate pair, becomes U+FFFD in a header. */
export function write(header: Header, payload?: string): Message {
  const line = writeHeader(header);
  if (payload === undefined) return line;
  return payload.length < MAX_JOINED ? `${line}\n${payload}` : { head: `${line}\n`, tail: payload };
}

function writeHeader(header: Header): string {
  const line = JSON.stringify(header);
  if (!line.includes("\\ud")) return line;
  return line.replace(BACKSLASH_OR_LONE, (found) => (found === "\\\\" ? found : "\ufffd"));
}

/** The length of a message that is longer than `limit` bytes; `undefined` for any other. */
export function messageBytesBeyond(message: Message, limit: number): number | undefined {
  if (typeof message === "string") return bytesBeyond(message, limit);
  if ((message.head.length + message.tail.length) * 3 <= limit) return undefined;
  const bytes = utf8Length(message.head) + utf8Length(message.tail);
  return bytes > limit ? bytes : undefined;
}

function lineEnd(frame: string, from: number): number {
  const end = frame.indexOf("\n", from);
  return end < 0 ? frame.length : end;
}

function parseHeader(line: string): Header {
  let header: unknown;
  try {
    header = JSON.parse(line);
  } catch {
    throw new Violation("a header is not JSON");
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw new Violation("a header is not an object");
  }
  return header as Header;
}

function read(header: Header, payload: string): Incoming {
  const t = own(header, "t");
  switch (t) {
    case "hello":
      if (own(header, "protocol") !== PROTOCOL) throw unfit(header, "protocol", `${PROTOCOL}`);
      return {
        t,
        version: text(header, "version"),
        limits: limits(header),
        maxMessageBytes: natural(header, "max_message_bytes"),
        heartbeatS: seconds(header, "heartbeat_s"),
      };
    case "accepted":
      return { t, run: natural(header, "run"), token: text(header, "token") };
    case "refused": {
      const retryAfterS = own(header, "retry_after_s") == null ? undefined : seconds(header, "retry_after_s");
      return { t, run: natural(header, "run"), code: code(header), message: text(header, "message"), retryAfterS };
    }
    case "call":
      return {
        t,
        run: natural(header, "run"),
        call: natural(header, "call"),
        kind: kind(header),
        provider: bounded(header, "provider"),
        tool: bounded(header, "tool"),
        payload,
      };
    case "cancel_call":
      return { t, run: natural(header, "run"), call: natural(header, "call") };
    case "logs":
      return { t, run: natural(header, "run"), lines: logLines(header) };
    case "result":
      return { t, run: natural(header, "run"), retained: flag(header, "retained"), payload };
    case "error":
      return { t, run: natural(header, "run"), message: text(header, "message") };
    case "fault":
      return { t, run: natural(header, "run"), code: code(header), message: text(header, "message") };
    case "invoked":
      return { t, run: natural(header, "run"), invocation: natural(header, "invocation"), payload };
    case "invoke_failed":
      return {
        t,
        run: natural(header, "run"),
        invocation: natural(header, "invocation"),
        code: code(header),
        message: text(header, "message"),
        name: own(header, "name") == null ? "" : text(header, "name"),
        stack: own(header, "stack") == null ? "" : text(header, "stack"),
      };
    case "over":
      return { t, run: natural(header, "run"), message: text(header, "message") };
    case "draining":
      return { t, drainS: seconds(header, "drain_s") };
    case "pong":
      return { t, n: own(header, "n") === 0 ? 0 : natural(header, "n") };
    default:
      throw new Violation(`a message has the unknown type ${brief(t)}`);
  }
}

const own = (header: Header, key: string): unknown => (Object.hasOwn(header, key) ? header[key] : undefined);

function text(header: Header, key: string): string {
  const value = own(header, key);
  if (typeof value !== "string") throw unfit(header, key, "a string");
  return value;
}

function bounded(header: Header, key: string): string {
  const value = text(header, key);
  if (value.length > MAX_NAME) throw unfit(header, key, `at most ${MAX_NAME} characters`);
  return value;
}

function code(header: Header): string {
  const value = text(header, "code");
  if (!/^[A-Z][A-Z_]{0,63}$/.test(value)) throw unfit(header, "code", "upper-case letters and underscores");
  return value;
}

function natural(header: Header, key: string): number {
  const value = own(header, key);
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw unfit(header, key, "a whole number from 1");
  return value as number;
}

function seconds(header: Header, key: string): number {
  const value = own(header, key);
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw unfit(header, key, "a number of seconds");
  return value;
}

function flag(header: Header, key: string): boolean {
  const value = own(header, key);
  if (value != null && typeof value !== "boolean") throw unfit(header, key, "true or false");
  return value === true;
}

function kind(header: Header): CallKind {
  const value = own(header, "kind");
  const known = CALL_KINDS.find((each) => each === value);
  if (known === undefined) throw unfit(header, "kind", `one of ${CALL_KINDS.join(", ")}`);
  return known;
}

function logLines(header: Header): LogLine[] {
  const value = own(header, "lines");
  if (!Array.isArray(value)) throw unfit(header, "lines", "a list of lines");
  for (const line of value as unknown[]) {
    const fits = Array.isArray(line) && line.length === 2 && line.every((part) => typeof part === "string");
    if (!fits) throw unfit(header, "lines", "a list of pairs of strings");
  }
  return value as LogLine[];
}

function limits(header: Header): Limits {
  const value = own(header, "limits");
  if (typeof value !== "object" || value === null) throw unfit(header, "limits", "an object");
  const given = value as Header;
  const cpu = own(given, "cpu_s") ?? null;
  const fits =
    BOUNDS.every((bound) => isPositive(own(given, bound))) && (cpu === null || isPositive(cpu));
  if (!fits) throw unfit(header, "limits", `positive numbers: ${BOUNDS.join(", ")}`);
  return { ...(given as unknown as Limits), cpu_s: cpu as number | null };
}

const isPositive = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value) && value > 0;

const name = (header: Header): string => brief(own(header, "t"));

function brief(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  return typeof value;
}

function unfit(header: Header, key: string, wanted: string): Violation {
  return new Violation(`the member ${key} of a message ${name(header)} must be ${wanted}`);
}
