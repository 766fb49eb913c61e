// In which form a text is TypeScript. Programs are statement lists of a module, or bodies of a
// function that end in `return`, or one function without a name; swc and acorn read modules.

/**
 * @typedef {object} Form
 * @property {string} open put before the text, on its first line
 * @property {string} close put behind it
 * @property {(tree: any) => { start: number, end: number } | undefined} inside the part of a
 *   printed text, by its tree, that is the text's
 */

const ASYNC_BODY = "async()=>{";

/** @type {Form} */
export const MODULE = { open: "", close: "", inside: (tree) => tree };

/** @type {Form} */
export const BODY = {
  open: ASYNC_BODY,
  close: "\n}",
  inside(tree) {
    const { body } = only(tree)?.expression ?? {};
    return body?.type === "BlockStatement" ? { start: body.start + 1, end: body.end - 1 } : undefined;
  },
};

/** @type {Form} */
export const EXPRESSION = {
  open: "(",
  close: "\n)",
  inside: (tree) => only(tree)?.expression,
};

function only(tree) {
  const [statement] = tree.body;
  return tree.body.length === 1 && statement.type === "ExpressionStatement" ? statement : undefined;
}

const BLANK = /\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\//y;
const IMPORT =
  /import(?:\s+[\w$*{][^'"`;()=]*?from)?\s*(?:"[^"\n\r]*"|'[^'\n\r]*')(?:\s*with\s*\{[^{}]*\})?[ \t]*;?/y;

/**
 * How much of the text are the imports at its start. They stand in a module, and what follows
 * them may be the body of a function.
 *
 * @param {string} text
 * @returns {number}
 */
export function endOfImports(text) {
  let end = 0;
  for (let at = skip(BLANK, text, 0), next; (next = match(IMPORT, text, at)) > at; at = skip(BLANK, text, next)) {
    end = next;
  }
  return end;
}

/**
 * Whether a text that is no statement list may be an expression: a function, or an object.
 *
 * @param {string} text
 */
export function mayBeExpression(text) {
  const start = skip(BLANK, text, 0);
  return /^(?:(?:async\s+)?function\b|\{)/.test(text.slice(start, start + 100));
}

function skip(pattern, text, from) {
  let at = from;
  for (let next; (next = match(pattern, text, at)) > at; at = next);
  return at;
}

// Where a match that starts at the offset ends; the offset if there is none.
function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
