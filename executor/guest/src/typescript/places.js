// Places in a text: swc counts columns as a terminal shows them, everyone else in UTF-16 units.

import { getLineInfo } from "acorn";

const LINE_BREAK = /\r\n|[\n\r]/g; // what swc counts; U+2028 is a character to it
const TAB_WIDTH = 4;
const INVISIBLE = /[\p{Mn}\p{Me}\u200b-\u200f\ufeff]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/**
 * The offset of a place that swc has named.
 *
 * @param {string} text
 * @param {number} line from 1
 * @param {number} column from 0
 */
export function offsetOf(text, line, column) {
  let start = 0;
  let current = 1;
  for (const lineBreak of text.matchAll(LINE_BREAK)) {
    if (current === line) break;
    current += 1;
    start = lineBreak.index + lineBreak[0].length;
  }
  let offset = start;
  for (let shown = 0; shown < column && offset < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(offset));
    shown += width(character);
    offset += character.length;
  }
  return offset;
}

// UTF-16 units, and what a terminal adds to them or takes away.
function width(character) {
  if (character === "\t") return TAB_WIDTH;
  if (character < "\u0300") return 1;
  if (INVISIBLE.test(character)) return character.length - 1;
  return WIDE.test(character) ? character.length + 1 : character.length;
}

/**
 * Line and column of an offset, both from 1, as V8 counts them.
 *
 * @param {string} text
 * @param {number} offset
 */
export function placeOf(text, offset) {
  const { line, column } = getLineInfo(text, Math.max(0, Math.min(offset, text.length)));
  return { line, column: column + 1 };
}
