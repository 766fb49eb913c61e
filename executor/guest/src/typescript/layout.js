// swc prints a transformed text anew, on lines of its own. Here its tokens go back to the lines
// they came from, and to their columns where the rest of the line leaves room: errors then name
// places of the program that was sent.

import { tokTypes } from "acorn";

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;

// Behind these words a line break would end the statement, or make the word a name.
const KEEPS_LINE = new Set(["return", "throw", "break", "continue", "yield", "async", "await", "using"]);

/**
 * @typedef {object} Token
 * @property {import("acorn").TokenType} type
 * @property {number} start
 * @property {number} end
 */

/**
 * @param {string} code what swc printed
 * @param {readonly Token[]} tokens of the part of it that is wanted
 * @param {import("./mappings.js").Mappings} mappings from `code` to the text
 * @param {number} before how many characters stood before the text on its first line
 * @returns {string} the same tokens
 */
export function layOut(code, tokens, mappings, before) {
  const origins = originsOf(code, tokens, mappings);
  const trusted = longestAscent(origins);
  let text = "";
  let line = 0;
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    const previous = tokens[index - 1];
    const gap = previous === undefined ? "" : code.slice(previous.end, token.start);
    if (!isInTemplate(previous, token)) {
      const origin = trusted.has(index) ? origins[index] : undefined;
      let space = "";
      if (origin !== undefined && origin.line > line && mayBreak(code, previous, token)) {
        space = "\n".repeat(origin.line - line);
        line = origin.line;
        column = 0;
      }
      const indent = origin?.line === line ? origin.column - (line === 0 ? before : 0) - column : 0;
      if (indent > 0) space += " ".repeat(indent);
      if (space === "" && gap !== "") space = " ";
      text += space;
      column += Math.max(indent, space === " " ? 1 : 0);
    }
    const source = code.slice(token.start, token.end);
    text += source;
    const breaks = [...source.matchAll(LINE_BREAK)];
    line += breaks.length;
    const last = breaks.at(-1);
    column = last === undefined ? column + source.length : source.length - last.index - last[0].length;
  }
  return text;
}

// Within a template literal white space counts.
function isInTemplate(previous, token) {
  return token.type === tokTypes.template || previous?.type === tokTypes.template;
}

function mayBreak(code, previous, token) {
  if (token.type === tokTypes.arrow || token.type === tokTypes.incDec) return false;
  return previous === undefined || !KEEPS_LINE.has(code.slice(previous.start, previous.end));
}

function originsOf(code, tokens, mappings) {
  const breaks = code.matchAll(/\n/g);
  let next = breaks.next();
  let line = 0;
  let lineStart = 0;
  return tokens.map(({ start }) => {
    while (!next.done && next.value.index < start) {
      line += 1;
      lineStart = next.value.index + 1;
      next = breaks.next();
    }
    return mappings[line]?.get(start - lineStart);
  });
}

// What swc has moved to another place cannot keep its line. The rest is the longest run of tokens
// whose lines only grow.
function longestAscent(origins) {
  const ends = []; // ends[n]: index of the token with the lowest line that ends an ascent of n + 1
  const before = new Map();
  for (const [index, origin] of origins.entries()) {
    if (origin === undefined) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (origins[ends[middle]].line <= origin.line) low = middle + 1;
      else high = middle;
    }
    before.set(index, ends[low - 1]);
    ends[low] = index;
  }
  const trusted = new Set();
  for (let index = ends.at(-1); index !== undefined; index = before.get(index)) trusted.add(index);
  return trusted;
}
