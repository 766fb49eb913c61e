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

// Comments and imports, up to the first statement that is something else.
const HEAD =
  /(?:\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/|import(?:\s+[\w$*{][^'"`;()=]*?from)?\s*(?:"[^"\n\r]*"|'[^'\n\r]*')(?:\s*with\s*\{[^{}]*\})?[ \t]*;?)*/y;

/**
 * How much of the text are the imports at its start. They stand in a module, and what follows
 * them may be the body of a function.
 *
 * @param {string} text
 * @returns {number}
 */
export function endOfImports(text) {
  HEAD.lastIndex = 0;
  const [head] = HEAD.exec(text);
  return /(?:^|[\s;/])import\b/.test(head) ? head.length : 0;
}

/**
 * Whether a text that is no statement list may be an expression: a function, or an object.
 *
 * @param {string} text
 */
export function mayBeExpression(text) {
  return /^(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*(?:(?:async\s+)?function\b|\{)/.test(text);
}
