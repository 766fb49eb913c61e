// Markdown fences that models put around a program.
//
// The same texts are recognised as by upstream's expression
//   /^```(?:js|javascript|typescript|ts|tsx|jsx)?\s*\n([\s\S]*?)```\s*$/
// on the trimmed text, but by a scan: the expression needs quadratic time on long runs of
// newlines, and this code reads hostile text.

const FENCE = "```";
const TAG = /^(?:js|javascript|typescript|ts|tsx|jsx)?(?=\s)/;

/**
 * The program inside a fence, or the whole text when it is not one fenced block.
 *
 * The result starts right after the line of the opening fence, so its line 1 is the first
 * line of the program.
 *
 * @param {string} text
 * @returns {string}
 */
export function stripFences(text) {
  const block = text.trim();
  if (!block.startsWith(FENCE) || !block.endsWith(FENCE)) return text;
  const tag = TAG.exec(block.slice(FENCE.length, FENCE.length + 16));
  if (!tag) return text;
  const afterTag = FENCE.length + tag[0].length;
  const lineEnd = block.indexOf("\n", afterTag);
  const end = block.length - FENCE.length;
  // Nothing but white space may follow the tag on its line.
  if (lineEnd === -1 || lineEnd >= end) return text;
  if (block.slice(afterTag, lineEnd).trim() !== "") return text;
  return block.slice(lineEnd + 1, end);
}

/**
 * Whether a line of the text is a fence, which a text that does not parse may owe its
 * failure to.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function hasFenceLine(text) {
  return /^[ \t]*```/m.test(text);
}
