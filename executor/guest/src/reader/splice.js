// Replacing parts of a text without moving any of its lines, and what that does to its columns.

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/g;

/** @typedef {[line: number, column: number, inserted: number]} Edit see `index.js` */
/** @typedef {{ start: number, end: number, text: string }} Replacement of a part that lies on one line */

/**
 * @param {string} text
 * @param {readonly Replacement[]} replacements that do not overlap; those at one place in their order
 * @returns {{ text: string, edits: Edit[] }}
 */
export function splice(text, replacements) {
  /** @type {Edit[]} */
  const edits = [];
  let result = "";
  let line = 1;
  let lineStart = 0;
  let shift = 0;
  let scanned = 0;
  for (const { start, end, text: replaced } of [...replacements].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const between = text.slice(scanned, start);
    for (const lineBreak of between.matchAll(LINE_BREAK)) {
      line += 1;
      lineStart = scanned + lineBreak.index + lineBreak[0].length;
      shift = 0;
    }
    const put = replaced.padEnd(end - start);
    result += between + put;
    scanned = end;
    const inserted = put.length - (end - start);
    shift += inserted;
    if (inserted > 0) edits.push([line, end - lineStart + shift + 1, inserted]);
  }
  return { text: result + text.slice(scanned), edits };
}

/**
 * The edits of a text that was edited twice.
 *
 * @param {readonly Edit[]} first
 * @param {readonly Edit[]} second made to what the first have left
 * @returns {Edit[]}
 */
export function compose(first, second) {
  const moved = first.map(([line, column, inserted]) => {
    let shift = 0;
    for (const [otherLine, otherColumn, otherInserted] of second) {
      // Where it was put in, in the text that the first edits have left.
      if (otherLine === line && otherColumn - otherInserted - shift <= column) shift += otherInserted;
    }
    return /** @type {Edit} */ ([line, column + shift, inserted]);
  });
  return [...moved, ...second].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/**
 * A part of the text without what is in it; the statement before it stays apart from the one behind.
 *
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {string} [mark] one character to be put at its start
 * @returns {Replacement[]} one for each line
 */
export function blanked(text, start, end, mark = " ") {
  const replacements = [];
  let from = start;
  const part = text.slice(start, end);
  for (const lineBreak of part.matchAll(LINE_BREAK)) {
    replacements.push({ start: from, end: start + lineBreak.index, text: "" });
    from = start + lineBreak.index + lineBreak[0].length;
  }
  replacements.push({ start: from, end, text: "" });
  const first = replacements.find((replacement) => replacement.end > replacement.start);
  if (first !== undefined) first.text = mark;
  return replacements;
}
