// `await` in a program that uses AsyncLocalStorage: what V8 resumes does not know which store it
// had, so the text has to say.

import { nodesOf } from "./names.js";

/** Whether a text may use AsyncLocalStorage. */
export const MENTIONS_STORES = /AsyncLocalStorage|async_hooks/;

/**
 * @param {any} tree
 * @param {{ links: string, token: string }} names
 * @returns {import("./splice.js").Replacement[]}
 */
export function keptStores(tree, { links, token }) {
  const replacements = [];
  const closing = [];
  const labelled = new Map();
  for (const node of nodesOf(tree)) {
    if (node.type === "AwaitExpression") {
      replacements.push({ start: node.start, end: node.start + "await".length, text: `${links}.r(await ${links}.w(` });
      closing.push({ node, at: node.end, text: "))" });
    } else if (node.type === "LabeledStatement") {
      labelled.set(node.body, labelled.get(node) ?? node);
    } else if (node.type === "ForOfStatement" && node.await) {
      const restore = `${links}.b(${token});`;
      const outer = labelled.get(node) ?? node;
      replacements.push({ start: outer.start, end: outer.start, text: `{const ${token}=${links}.s();` });
      closing.push({ node: outer, at: node.end, text: `;${restore}}` });
      const { body } = node;
      if (body.type === "BlockStatement") {
        replacements.push({ start: body.start + 1, end: body.start + 1, text: restore });
      } else {
        replacements.push({ start: body.start, end: body.start, text: `{${restore}` });
        closing.push({ node: body, at: body.end, text: "}" });
      }
    }
  }
  // Of what ends at one place, the innermost first.
  closing.sort((a, b) => b.node.start - a.node.start);
  for (const { at, text } of closing) replacements.push({ start: at, end: at, text });
  return replacements;
}
