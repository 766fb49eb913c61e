// What the reader says about a text it refuses. A model reads these messages and tries again,
// so they name the place in the program and never a file or an internal of the parser.

import { getLineInfo } from "acorn";
import { hasFenceLine } from "./fences.js";
import { notJavaScript } from "./foreign.js";

/** A refusal at an offset of the program. */
export class Refusal extends Error {
  /**
   * @param {string} message what is wrong and what to do instead, without a position
   * @param {number} offset where, in UTF-16 units from the start of the program
   */
  constructor(message, offset) {
    super(message);
    this.name = "SyntaxError";
    this.offset = offset;
  }
}

/** What the transpiler says of a text. */
export class RefusalAt extends Error {
  /** @param {{ message: string, line: number, column: number }} error */
  constructor({ message, line, column }) {
    super(message);
    this.name = "SyntaxError";
    this.line = line;
    this.column = column;
  }
}

export const HTML_COMMENT =
  "HTML comments are not allowed: put a space inside `<!--` or `-->` if operators are meant";

const ESCAPED =
  "a backslash outside of a string: send line breaks as they are, instead of `\\n`";

const RUNS_TO_THE_END = {
  "Unterminated template": "template literal",
  "Unterminated comment": "comment",
};
const RUNS_TO_THE_LINE_END = {
  "Unterminated string constant": "string",
  "Unterminated regular expression": "regular expression",
};

/**
 * The reader's answer for a text that is not ok.
 *
 * @param {string} program the text in whose lines and columns positions are given
 * @param {unknown} error whatever was thrown
 * @param {{ label: string, offset: number }[]} unclosed brackets open where parsing stopped
 */
export function describe(program, error, unclosed) {
  if (isStackOverflow(error)) {
    return {
      ok: false,
      name: "RangeError",
      message:
        "the program nests too deeply to be read: use fewer nested brackets, functions or operators",
      line: 1,
      column: 1,
    };
  }
  if (error instanceof Refusal) return failure(program, error.message, error.offset);
  if (error instanceof RefusalAt) return failureAt(error.message, error);
  if (error instanceof SyntaxError && typeof error.pos === "number") {
    const message =
      notJavaScript(program, error.pos) ?? explain(program, error, unclosed) + fenceHint(program);
    return failure(program, message, error.pos);
  }
  throw error;
}

/** Whether a text was too deep for the parser, or for what is done with its tree. */
export function isStackOverflow(error) {
  return (
    error instanceof RangeError ||
    // acorn turns the engine's RangeError into an error of its own
    (error instanceof SyntaxError && error.message.startsWith("Not enough stack space"))
  );
}

function failure(program, message, offset) {
  return failureAt(message, position(program, offset));
}

function failureAt(message, at) {
  return {
    ok: false,
    name: "SyntaxError",
    message: `${message} (line ${at.line}, column ${at.column})`,
    line: at.line,
    column: at.column,
  };
}

function position(program, offset) {
  const { line, column } = getLineInfo(program, Math.min(offset, program.length));
  return { line, column: column + 1 };
}

function explain(program, error, unclosed) {
  const message = error.message.replace(/ \(\d+:\d+\)$/, "");
  const onLastLine = !/[\n\r]/.test(program.slice(error.pos));
  const endless = RUNS_TO_THE_END[message] ?? (onLastLine ? RUNS_TO_THE_LINE_END[message] : undefined);
  if (endless !== undefined) return `the program is incomplete: it ends inside a ${endless}`;
  if (error.pos >= program.trimEnd().length) {
    const innermost = unclosed.at(-1);
    if (innermost === undefined) return "the program is incomplete: it ends where more is expected";
    const { line, column } = position(program, innermost.offset);
    const bracket = `the "${innermost.label}" of line ${line}, column ${column}`;
    return `the program is incomplete: ${bracket} is not closed`;
  }
  if (program.startsWith("<!--", error.pos)) return HTML_COMMENT;
  // acorn stops at the backslash or right behind it
  if (/^(?:\\[nrt]|[^\\]?\\[nrt])/.test(program.slice(Math.max(0, error.pos - 1), error.pos + 2))) {
    return ESCAPED;
  }
  return message === "Unexpected token" ? unexpected(program, error.pos) : message;
}

function unexpected(program, offset) {
  const token = /^(?:[\p{ID_Continue}$]{1,40}|[^\s])/u.exec(program.slice(offset, offset + 80));
  return token === null ? "Unexpected token" : `Unexpected token "${token[0]}"`;
}

function fenceHint(program) {
  return hasFenceLine(program)
    ? ". The text contains a markdown fence: send only the program inside it"
    : "";
}
