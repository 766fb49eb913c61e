// The reader's answer for one text, taken as it is: what is evaluated, or why nothing is.

import { RefusalAt, describe, isStackOverflow } from "./errors.js";
import { notJavaScript } from "./foreign.js";
import { Reading } from "./parse.js";
import { link, normalizedWithImports } from "./program.js";
import { plan } from "./shape.js";
import { isAfter, javascriptOf, mayBeTypeScript, showsTypeScript } from "./transpiled.js";
import { referencesOf } from "./unit.js";

/**
 * @typedef {object} Answered
 * @property {Record<string, unknown>} answer see `index.js`
 * @property {boolean} fenceIsTag the text is JavaScript only because a fence in it reads as
 *   template literals, which can do nothing but throw
 * @property {import("./references.js").References} [references] of a program
 * @property {import("./program.js").Linked} [linked] of a program that imports something
 */

/**
 * @param {string} program
 * @param {import("./library.js").Library} library
 * @returns {Answered}
 */
export function answerTo(program, library) {
  const reading = new Reading(program);
  try {
    const answered = accepted(reading, library);
    if (!showsTypeScript(program, reading.tree)) return answered;
    const javascript = javascriptOf("program", program);
    return javascript?.ok ? answerToJavaScript(javascript.text, library) : answered;
  } catch (error) {
    const javascript = mayBeMeantAsTypeScript(program, error) ? javascriptOf("program", program) : undefined;
    if (javascript?.ok) return answerToJavaScript(javascript.text, library);
    const wentFurther = javascript !== undefined && isAfter(javascript, program, error.pos);
    return refusedAs(program, reading, wentFurther ? new RefusalAt(javascript) : error);
  }
}

function answerToJavaScript(program, library) {
  const reading = new Reading(program);
  try {
    return accepted(reading, library);
  } catch (error) {
    return refusedAs(program, reading, error);
  }
}

function mayBeMeantAsTypeScript(program, error) {
  return (
    error instanceof SyntaxError &&
    typeof error.pos === "number" &&
    notJavaScript(program, error.pos) === undefined &&
    mayBeTypeScript(program, error.pos)
  );
}

/**
 * @param {string} program the text in whose lines the position is given
 * @param {unknown} error why it is refused
 * @returns {Answered}
 */
export function refusal(program, error) {
  return refusedAs(program, new Reading(program), error);
}

function accepted(reading, library) {
  const linked = link(reading.text, library);
  if (linked !== undefined) return acceptedWithImports(reading, linked);
  const { normalized, hint = "", ...planned } = plan(reading);
  const { open, body, close, edits } =
    reading.magicComments.length === 0 ? planned : plan(new Reading(withoutMagic(reading)));
  return {
    answer: { ok: true, normalized, open, body, close, edits, hint },
    fenceIsTag: reading.fenceIsTag,
    references: referencesOf(reading),
  };
}

// What is wrong with the program is said of the text as it was sent. Magic comments are gone from
// the other one already.
function acceptedWithImports(reading, linked) {
  const sent = linked.visible === undefined ? reading : new Reading(linked.visible);
  const { normalized, hint = "" } = plan(sent);
  const runnable = new Reading(linked.text);
  const { open, body, close, edits } = linked.wrap(planRewritten(runnable));
  reading.tree ??= sent.tree;
  return {
    answer: {
      ok: true,
      normalized: linked.visible === undefined ? normalized : normalizedWithImports(linked.unit, normalized),
      open,
      body,
      close,
      edits,
      hint,
    },
    fenceIsTag: runnable.fenceIsTag,
    references: linked.unit.references,
    linked,
  };
}

function planRewritten(reading) {
  try {
    return plan(reading);
  } catch (error) {
    if (isStackOverflow(error)) throw error;
    throw new Error(`a program without its imports: ${error}`, { cause: error });
  }
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

function refusedAs(program, reading, error) {
  let answer;
  try {
    answer = describe(program, error, reading.unclosed);
  } catch (fault) {
    answer = { ok: false, name: "InternalError", message: `the reader failed: ${fault}`, line: 1, column: 1 };
  }
  return { answer, fenceIsTag: false };
}
