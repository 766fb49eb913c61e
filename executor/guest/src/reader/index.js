// The reader: from the text a model wrote to a text that is safe to evaluate inside a function.
// It runs in a trusted isolate that never runs a program.

import { describe } from "./errors.js";
import { stripFences } from "./fences.js";
import { Reading } from "./parse.js";
import { plan } from "./shape.js";

/**
 * Reads a program.
 *
 * The answer is JSON. For a program that is complete:
 *
 *   { "ok": true, "normalized", "open", "body", "close", "edits", "identifiers" }
 *
 * where `open + body + close` is one expression, a function that runs the program. It may be
 * put between brackets on any line of strict, non-generator code, with a line break behind it.
 * `body` begins on that line; its lines are the program's (without a fence around it).
 * `edits` are `[line, column, inserted]`, in order: on that line of `body` (from 1), `inserted`
 * characters were put in, right before that column of `body` (from 1), so that columns from
 * there on are that much higher than in the program. `normalized` is the string that upstream's
 * `normalizeCode` returns, or one that runs where that one cannot. `identifiers` are the names
 * of identifiers and properties that occur in the program.
 *
 * For any other text:
 *
 *   { "ok": false, "name", "message", "line", "column" }
 *
 * where `name` is "SyntaxError", "RangeError" (nested too deeply) or "InternalError" (a fault
 * of the reader), and the position, from 1, is the program's.
 *
 * @param {string} text
 * @returns {string}
 */
export default function read(text) {
  const program = stripFences(text);
  const reading = new Reading(program);
  let answer;
  try {
    answer = accepted(reading);
  } catch (error) {
    answer = refused(program, reading, error);
  }
  return JSON.stringify(answer);
}

function accepted(reading) {
  const { normalized, ...planned } = plan(reading);
  const { open, body, close, edits } =
    reading.magicComments.length === 0 ? planned : plan(new Reading(withoutMagic(reading)));
  return { ok: true, normalized, open, body, close, edits, identifiers: [...reading.identifiers] };
}

// `//# sourceURL=…` would let a program choose the script name of its own stack frames.
function withoutMagic(reading) {
  let text = "";
  let from = 0;
  for (const offset of [...new Set(reading.magicComments)].sort((a, b) => a - b)) {
    text += `${reading.text.slice(from, offset)} `;
    from = offset + 1;
  }
  return text + reading.text.slice(from);
}

function refused(program, reading, error) {
  try {
    return describe(program, error, reading.unclosed);
  } catch (fault) {
    const message = `the reader failed: ${fault}`;
    return { ok: false, name: "InternalError", message, line: 1, column: 1 };
  }
}
