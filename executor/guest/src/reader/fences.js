// Markdown fences that models put around a program.

const FENCE = "```";
const TAG = /^(?:js|javascript|typescript|ts|tsx|jsx)?(?=\s)/;
const ONE_LINE = /^```(?:js|javascript|typescript|ts|tsx|jsx)[ \t]+([^`\n\r\u2028\u2029]+)```$/;
const FENCE_LINE = /^[ \t]*(`{3,}|~{3,})([^\n\r\u2028\u2029]*)(?:\r\n|[\n\r\u2028\u2029]|$)/gm;

/** A text with more blocks than this is no program with a few words around it. */
export const MAX_BLOCKS = 20;

/**
 * The program inside a fence, or the whole text when it is not one fenced block.
 *
 * The same texts are recognised as by upstream's expression
 *   /^```(?:js|javascript|typescript|ts|tsx|jsx)?\s*\n([\s\S]*?)```\s*$/
 * on the trimmed text, but by a scan: the expression needs quadratic time on long runs of
 * newlines, and this code reads hostile text.
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
 * @typedef {object} Block
 * @property {string} tag the first word behind the opening fence, in lower case
 * @property {string} text what stands between the fences
 * @property {number} offset where the opening fence's line starts
 */

/**
 * The blocks between fences, as Markdown has them, that are not blank. The last one need not be
 * closed. A text that only ends in a fence has lost the opening one: it is a block itself.
 *
 * @param {string} text
 * @returns {Block[]} at most one more than `MAX_BLOCKS`
 */
export function fencedBlocks(text) {
  const oneLine = ONE_LINE.exec(text.trim());
  if (oneLine !== null) return [{ tag: "js", text: oneLine[1], offset: 0 }];
  /** @type {Block[]} */
  const blocks = [];
  let open;
  let fences = 0;
  for (const line of text.matchAll(FENCE_LINE)) {
    const [whole, fence, info] = line;
    if (open === undefined) {
      if (fence[0] === "`" && info.includes("`")) continue;
      open = { fence, tag: tagOf(info), offset: line.index, start: line.index + whole.length };
    } else if (fence.startsWith(open.fence) && info.trim() === "") {
      add(blocks, open, text.slice(open.start, line.index));
      open = undefined;
    } else {
      continue;
    }
    fences += 1;
    if (blocks.length > MAX_BLOCKS) return blocks;
  }
  if (open === undefined) return blocks;
  const rest = withoutEnd(text.slice(open.start), open.fence);
  if (fences === 1 && open.tag === "" && rest.trim() === "") {
    add(blocks, { ...open, offset: 0 }, text.slice(0, open.offset));
  } else {
    add(blocks, open, rest);
  }
  return blocks;
}

function add(blocks, { tag, offset }, text) {
  if (text.trim() !== "") blocks.push({ tag, text, offset });
}

// The closing fence may stand behind the last line of the program.
function withoutEnd(text, fence) {
  const trimmed = text.trimEnd();
  return trimmed.endsWith(fence) ? trimmed.slice(0, -fence.length) : text;
}

function tagOf(info) {
  return /^[\s{.]*([\w+#-]{0,30})/.exec(info)[1].toLowerCase();
}

/**
 * Whether a line of the text is a fence, which a text that does not parse may owe its
 * failure to.
 *
 * @param {string} text
 * @returns {boolean}
 */
export function hasFenceLine(text) {
  return /^[ \t]*(?:```|~~~)/m.test(text);
}
