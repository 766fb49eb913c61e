// What an executor made of a program, kept as text: the host may change an envelope as soon as it has it.

import type { ExecuteResult } from "../contract.js";
import { encodeClone } from "../values/clone.js";
import { decodeResult } from "../values/result.js";
import type { Difference, Outcome } from "./contract.js";

/** An outcome, copied. */
export interface Seen {
  readonly rejected: boolean;
  /** The message of what failed. */
  readonly error: string | undefined;
  readonly result: { readonly form: number; readonly text: string } | { readonly refused: string };
  readonly logs: readonly string[];
  /** What it holds. */
  readonly characters: number;
}

const TIMED_OUT = "Execution timed out";
/** How this engine says that it keeps no more lines. */
const CUT = "[notice] Further log output was dropped";

/** Copies an envelope. */
export function seen({ result, error, logs }: ExecuteResult): Seen {
  const lines = (logs ?? []).map(String);
  const copied = copy(result);
  const failure = messageOf(error);
  return { rejected: false, error: failure, result: copied, logs: lines, characters: size(copied, failure, lines) };
}

/** Copies a rejection of `execute`. */
export function seenRejection(reason: unknown): Seen {
  const text = (reason instanceof Error ? reason.message || reason.name : String(reason)) || "an empty value was thrown";
  const result = { form: 0, text: "" };
  return { rejected: true, error: text, result, logs: [], characters: size(result, text, []) };
}

function copy(result: unknown): Seen["result"] {
  try {
    return encodeClone(result);
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
}

/** As a host reads it: what is falsy is no error. Upstream's is whatever the thrown value called its message. */
function messageOf(error: unknown): string | undefined {
  if (!error) return undefined;
  if (typeof error === "string") return error;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return Object.prototype.toString.call(error);
  }
}

function size(result: Seen["result"], error: string | undefined, logs: readonly string[]): number {
  const text = "refused" in result ? result.refused : result.text;
  return logs.reduce((sum, line) => sum + line.length + 10, text.length + (error?.length ?? 0));
}

/** In what two outcomes differ, calls aside. */
export function differences(primary: Seen, shadow: Seen): Difference[] {
  // How far each had come is the clock's doing.
  if (timedOut(primary) && timedOut(shadow)) return [];
  const differs: Difference[] = [];
  if ((primary.error === undefined) !== (shadow.error === undefined)) differs.push("outcome");
  // A rejection is a failure like one in the envelope, in other words and without logs.
  if (primary.rejected || shadow.rejected) return differs;
  if (primary.error === undefined && shadow.error === undefined && !sameResult(primary.result, shadow.result)) differs.push("result");
  if (primary.error !== undefined && shadow.error !== undefined && wellFormed(primary.error) !== wellFormed(shadow.error)) {
    differs.push("error");
  }
  if (!sameLogs(primary.logs, shadow.logs)) differs.push("logs");
  return differs;
}

export function timedOut(outcome: Seen): boolean {
  return outcome.error === TIMED_OUT;
}

function sameResult(one: Seen["result"], other: Seen["result"]): boolean {
  if ("refused" in one || "refused" in other) return "refused" in one && "refused" in other && one.refused === other.refused;
  return one.form === other.form && one.text === other.text;
}

/** Lines as far as both keep them: where the last one says that there were more, the rest is unknown. */
function sameLogs(one: readonly string[], other: readonly string[]): boolean {
  const [first, second] = [kept(one), kept(other)];
  const length = Math.min(first.cut ? first.lines.length : Infinity, second.cut ? second.lines.length : Infinity);
  const [left, right] = [first.lines.slice(0, length), second.lines.slice(0, length)];
  return left.length === right.length && left.every((line, index) => wellFormed(line) === wellFormed(right[index] ?? ""));
}

function kept(logs: readonly string[]): { lines: readonly string[]; cut: boolean } {
  const cut = logs.at(-1)?.startsWith(CUT) === true;
  return { lines: cut ? logs.slice(0, -1) : logs, cut };
}

/** Half of a surrogate pair is U+FFFD in texts of this engine. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** The outcome as it is reported. */
export function reported({ rejected, error, result, logs }: Seen): Outcome {
  const value = "refused" in result ? undefined : decodeResult(result.form, result.text);
  const envelope: ExecuteResult = { result: value, ...(error !== undefined && { error }), logs: [...logs] };
  return { envelope, rejected, ...("refused" in result && { uncopied: result.refused }) };
}
