// How far the transpiler came with a text, compared with the parser.

import { getLineInfo } from "acorn";

export { javascriptOf, mayBeTypeScript, showsTypeScript } from "./typescript.js";

/**
 * Whether an error of the transpiler's lies behind a place in the text: what stands at that
 * place is TypeScript then, and the error is the one to report.
 *
 * @param {{ line: number, column: number, decisive?: boolean }} error `decisive`: what it says is so, wherever it stands
 * @param {string} text
 * @param {number} offset
 * @returns {boolean}
 */
export function isAfter({ line, column, decisive }, text, offset) {
  if (decisive) return true;
  const at = getLineInfo(text, Math.min(offset, text.length));
  return line > at.line || (line === at.line && column > at.column + 1);
}
