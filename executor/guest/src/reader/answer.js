// The reader's answer for one text, taken as it is: what is evaluated, or why nothing is.

import { describe } from "./errors.js";
import { Reading } from "./parse.js";
import { plan } from "./shape.js";

/**
 * @typedef {object} Answered
 * @property {Record<string, unknown>} answer see `index.js`
 * @property {boolean} fenceIsTag the text is JavaScript only because a fence in it reads as
 *   template literals, which can do nothing but throw
 */

/**
 * @param {string} program
 * @returns {Answered}
 */
export function answerTo(program) {
  const reading = new Reading(program);
  try {
    return { answer: accepted(reading), fenceIsTag: reading.fenceIsTag };
  } catch (error) {
    return { answer: refused(program, reading, error), fenceIsTag: false };
  }
}

/**
 * @param {string} program the text in whose lines the position is given
 * @param {unknown} error why it is refused
 * @returns {Answered}
 */
export function refusal(program, error) {
  return { answer: refused(program, new Reading(program), error), fenceIsTag: false };
}

function accepted(reading) {
  const { normalized, hint = "", ...planned } = plan(reading);
  const { open, body, close, edits } =
    reading.magicComments.length === 0 ? planned : plan(new Reading(withoutMagic(reading)));
  const identifiers = [...reading.identifiers.keys()];
  return { ok: true, normalized, open, body, close, edits, identifiers, hint };
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
