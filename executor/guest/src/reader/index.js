// The reader: from the text a model wrote to a text that is safe to evaluate inside a function.
// It runs in a trusted isolate that never runs a program.

import { interpret } from "./candidates.js";

/**
 * Reads a program.
 *
 * The answer is JSON. For a program that is complete:
 *
 *   { "ok": true, "normalized", "open", "body", "close", "edits", "identifiers", "hint" }
 *
 * where `open + body + close` is one expression, a function that runs the program. It may be
 * put between brackets on any line of strict, non-generator code, with a line break behind it.
 * `body` begins on that line; its lines are the program's (without what stood around it).
 * `edits` are `[line, column, inserted]`, in order: on that line of `body` (from 1), `inserted`
 * characters were put in, right before that column of `body` (from 1), so that columns from
 * there on are that much higher than in the program. `normalized` is the string that upstream's
 * `normalizeCode` returns, or one that runs where that one cannot. `identifiers` are the names
 * of identifiers and properties that occur in the program. `hint` is a sentence for whoever sent
 * a program that answers nothing, or fails for want of a variable; often it is empty.
 *
 * For any other text:
 *
 *   { "ok": false, "name", "message", "line", "column" }
 *
 * where `name` is "SyntaxError", "RangeError" (nested too deeply) or "InternalError" (a fault
 * of the reader), and the position, from 1, is the program's; for a text with several fenced
 * blocks, of which none is the program, it is the text's.
 *
 * @param {string} text
 * @returns {string}
 */
export default function read(text) {
  return JSON.stringify(interpret(text));
}
