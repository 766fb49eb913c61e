// Whether a text may owe its failure to being TypeScript. A guess, and worded as one.

export const TYPESCRIPT =
  "this looks like TypeScript, which is not supported here yet: send plain JavaScript, without types";

const AT_THE_ERROR = [
  /^:\s*[\p{L}_${["'([]/u,
  /^(?:as|satisfies)\s+[\p{L}_${["'([]/u,
  /^!\s*(?:[.;,)\]}[]|$)/,
  /^<[\p{L}_$][\w$\s,.|[\]{}:=]*>/u,
  /^\?\s*:/,
];
const ON_ITS_LINE = [
  /(?:^|[;{}]\s*|\bexport\s+)\s*(?:interface\s+[\w$]+[^{]*\{|type\s+[\w$]+(?:<[^=]*>)?\s*=|(?:const\s+|declare\s+)?enum\s+[\w$]+\s*\{|(?:declare|namespace|abstract)\s+[\w$]+)/,
  /^\s*import\s.*\btype\s/,
  /\b[\w$]+<[\w$\s,.|[\]{}:;"']*>\s*\(/,
  /(?:^|[{(;,])\s*(?:private|public|protected|readonly)\s+[\w$]+/,
];

/**
 * @param {string} text
 * @param {number} offset where parsing stopped
 * @returns {boolean}
 */
export function looksLikeTypeScript(text, offset) {
  const rest = text.slice(offset, offset + 200);
  const before = text.slice(Math.max(0, offset - 200), offset);
  const line = before.split(/[\n\r]/).at(-1) + rest.split(/[\n\r]/, 1)[0];
  // A type stands behind a name or a bracket, and behind no keyword of a statement.
  const mayBeTyped = /[\w$)\]}?]\s*$/.test(before) && !/\b(?:do|else|finally|try)\s*$/.test(before);
  if (rest.startsWith(":") && !mayBeTyped) return false;
  return AT_THE_ERROR.some((pattern) => pattern.test(rest)) || ON_ITS_LINE.some((pattern) => pattern.test(line));
}
