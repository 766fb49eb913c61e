// What is put around and into a program's text so that evaluating it gives the answer.

import { Refusal } from "./errors.js";

/**
 * @typedef {object} Plan
 * @property {string} normalized upstream's string for the program
 * @property {string} open text to be put before `body`, on its first line
 * @property {string} body the program's text, on its own lines
 * @property {string} close text to be put after `body`
 * @property {[line: number, column: number, inserted: number][]} edits see `index.js`
 * @property {string} [hint] see `index.js`
 */

/**
 * A program that is run for what its statements return.
 *
 * @param {string} body
 * @param {string} normalized
 * @param {string} [last] a statement to be put behind the others, on a line of its own
 * @returns {Plan}
 */
export function statements(body, normalized, last = "") {
  const close = last === "" ? "\n}" : `\n${last}\n}`;
  return { normalized, open: "async()=>{", body, close, edits: [] };
}

/**
 * A program that is one expression, whose value is the answer.
 *
 * @param {string} body
 * @param {string} statement what returns the value in upstream's form
 * @param {string} [close]
 * @returns {Plan}
 */
export function value(body, statement, close = "\n)") {
  return { normalized: `async () => {\n${statement}\n}`, open: "async()=>(", body, close, edits: [] };
}

/**
 * @param {string} text
 * @param {{ offset: number, text: string }[]} insertions in order
 * @returns {{ body: string, edits: [line: number, column: number, inserted: number][] }}
 */
export function insert(text, insertions) {
  const edits = [];
  let body = "";
  let line = 1;
  let lineStart = 0;
  let shift = 0;
  let scanned = 0;
  for (const { offset, text: inserted } of insertions) {
    const between = text.slice(scanned, offset);
    for (const lineBreak of between.matchAll(/\r\n|[\n\r\u2028\u2029]/g)) {
      line += 1;
      lineStart = scanned + lineBreak.index + lineBreak[0].length;
      shift = 0;
    }
    body += between + inserted;
    scanned = offset;
    shift += inserted.length;
    edits.push([line, offset - lineStart + shift + 1, inserted.length]);
  }
  return { body: body + text.slice(scanned), edits };
}

/** Spaces for a part of a text, so that what follows keeps its place. */
export function blank(text) {
  return text.replace(/[^\n\r\u2028\u2029]/g, " ");
}

/**
 * Refuses a program whose answer would be a generator: nobody could read it any more.
 *
 * @param {any} node a function that is going to be called for its answer
 * @param {string} [name] how the program calls it
 */
export function refuseGenerator(node, name = node.id?.name) {
  if (!node.generator) return;
  const short = name !== undefined && name.length <= 60 ? name : "pages";
  const subject = short === name ? `\`${name}\` is a generator` : "the program is a generator function";
  const collect = node.async ? "for await" : "for";
  throw new Refusal(
    `${subject}, and nothing collects what it yields: end with` +
      ` \`const all = []; ${collect} (const item of ${short}()) all.push(item); return all\``,
    node.start,
  );
}
