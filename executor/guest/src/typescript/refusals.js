// Why a text is no TypeScript that can run here, for whoever sent it.

import { Exhausted, Rejected } from "./swc.js";
import { offsetOf, placeOf } from "./places.js";

export const DECORATOR =
  "decorators are not supported: call the function on the class or the method instead";
export const ACCESSOR = "`accessor` fields are not supported: write a getter and a setter";
const IMPORT_ASSIGNMENT = '`import … = require(…)` is not supported: use `import … from "…"`';
const EXPORT_ASSIGNMENT = "`export =` is not supported: use `export default`";
const JSX = "JSX is not supported: return data, or build the markup as a string";
const INCOMPLETE = "the program is incomplete: it ends where more is expected";
const TOO_DEEP =
  "the program nests too deeply to be read as TypeScript: use fewer nested brackets, types or operators";

/** A refusal at an offset of the text. */
export class Refusal extends Error {
  /**
   * @param {string} message without a position
   * @param {number} offset
   */
  constructor(message, offset) {
    super(message);
    this.offset = offset;
  }
}

/** The text is understood, and has what does not run here. */
export class Unsupported extends Refusal {}

/**
 * What to say about an error of swc.
 *
 * @param {string} text
 * @param {Rejected} rejected
 * @param {number} before how many characters stood before the text for swc
 * @returns {Refusal}
 */
export function refusalFor(text, { message, line, column }, before) {
  const shown = line === 1 ? Math.max(0, column - before) : column;
  const offset = offsetOf(text, line, shown);
  const tag = jsxAround(text, offset);
  if (tag !== undefined) return new Unsupported(JSX, tag);
  if (message.startsWith("Import assignment")) return new Unsupported(IMPORT_ASSIGNMENT, offset);
  if (message.startsWith("Export assignment")) return new Unsupported(EXPORT_ASSIGNMENT, offset);
  if (offset >= text.trimEnd().length) return new Refusal(INCOMPLETE, text.trimEnd().length);
  return new Refusal(brief(text, offset, message), offset);
}

// swc names tokens as its parser does, and enumerates all that it would have accepted.
function brief(text, offset, message) {
  if (/^(?:Expected |Expression expected|Unexpected token)/.test(message)) {
    const [token] = /^(?:[\p{ID_Continue}$]{1,40}|\S)/u.exec(text.slice(offset, offset + 80)) ?? [""];
    return token === "" ? "Unexpected token" : `Unexpected token "${token}"`;
  }
  return message.length > 200 ? `${message.slice(0, 200)}…` : message;
}

// swc reads a tag as a type assertion, and fails somewhere behind it.
function jsxAround(text, offset) {
  const from = Math.max(0, offset - 200);
  const around = text.slice(from, offset + 200);
  if (!/<\/[\w.:>]|\/>/.test(around)) return undefined;
  const tag = /(?:^|[=(,?:&|\s>{}])(<(?:[A-Za-z][\w.:-]*(?:\s+[\w:-]+(?:=(?:"[^"]*"|'[^']*'|\{[^}]*\}))?|\s+\{\.\.\.[^}]*\})*\s*\/?)?>)/.exec(
    around,
  );
  if (tag === null) return undefined;
  const start = from + tag.index + tag[0].length - tag[1].length;
  // Markup in a template literal is none of the program's.
  return start <= offset && !text.slice(start, offset).includes("`") ? start : undefined;
}

/**
 * @param {string} text
 * @param {unknown} error
 * @returns {import("./index.js").Refused}
 */
export function describe(text, error) {
  const decisive = isExhausted(error) || error instanceof Unsupported;
  if (isExhausted(error)) return { ok: false, message: TOO_DEEP, ...placeOf(text, text.length), decisive };
  if (!(error instanceof Refusal)) throw error;
  return { ok: false, message: error.message, ...placeOf(text, error.offset), decisive };
}

function isExhausted(error) {
  return (
    error instanceof Exhausted ||
    error instanceof RangeError ||
    // acorn turns the engine's RangeError into an error of its own
    (error instanceof SyntaxError && error.message.startsWith("Not enough stack space"))
  );
}
