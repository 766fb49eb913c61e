// TypeScript, as far as the reader has to do with it: whether a text may be TypeScript, and what
// the transpiler, which lives in an isolate of its own, has made of one.
//
// A text is read twice then. The first answer says which texts could be TypeScript; the second
// one is given with what they are in JavaScript. Nothing is kept in between.

import { closesTypeArguments } from "./typearguments.js";

/** @typedef {{ ok: true, text: string }} JavaScript of the same lines */
/** @typedef {{ ok: false, message: string, line: number, column: number }} NotTypeScript */

/** @type {Map<string, JavaScript | NotTypeScript> | undefined} by kind and text; undefined in the first pass */
let answers;
/** @type {Map<string, { kind: "program" | "module", text: string }>} */
let asked = new Map();

/**
 * Has to be called before a text is read.
 *
 * @param {{ kind: string, text: string, answer: JavaScript | NotTypeScript }[] | undefined} transpiled
 */
export function begin(transpiled) {
  asked = new Map();
  answers = transpiled && new Map(transpiled.map(({ kind, text, answer }) => [key(kind, text), answer]));
}

/** The texts whose JavaScript would be of use, once a text has been read. */
export function wanted() {
  return answers === undefined ? [...asked.values()] : [];
}

/**
 * What a text is in JavaScript, or why it is no TypeScript either.
 *
 * @param {"program" | "module"} kind
 * @param {string} text
 * @returns {JavaScript | NotTypeScript | undefined} undefined: it is not known, and asked for
 */
export function javascriptOf(kind, text) {
  const id = key(kind, text);
  if (answers === undefined) asked.set(id, { kind, text });
  return answers?.get(id);
}

function key(kind, text) {
  return `${kind}:${text}`;
}

// The names of declarations and modifiers that JavaScript does not have, or reserves.
const KEYWORDS = [
  ...["type", "interface", "enum", "declare", "namespace", "module", "global", "abstract", "implements"],
  ...["public", "private", "protected", "readonly", "override", "accessor"],
].join("|");

// How the rest of the text begins where acorn has met its first token that is no JavaScript.
const AT_THE_ERROR = [
  /^:/,
  /^\?\s*[:,;)\]}=([]/,
  /^!\s*(?:[.;,:)\]}([=+\-*/%&|?<>]|(?:as|satisfies|in|of|instanceof)\b|[\n\r]|$)/,
  /^<\s*[\p{L}_$([{"'/>]/u,
  /^(?:as|satisfies)\b/,
  new RegExp(`^(?:${KEYWORDS})\\b`),
  /^this\s*[:,)]/,
  /^@/,
];

// What stands before that token.
const BEFORE_THE_ERROR = [
  // `type Id`, `import { type A`, `private x`, `abstract class`, `declare module "m"`
  new RegExp(`(?:^|[^.\\w$])(?:${KEYWORDS})\\s+$`),
  // a function without a name, which is read as an expression where it parses
  /\bfunction\s*\*?\s*$/,
  // an optional parameter or member without a type: `(a?)`, `a?;`
  /[\w$\])]\?\s*$/,
  // a signature without a body
  /\bfunction\b[^;{}]*\)\s*$/,
  /(?:^|[;{}\n\r])\s*(?:(?:static|async|get|set)\s+)*[\w$#]+\s*\([^;{}]*\)\s*$/,
  // `import a = require("b")`, `export = a`
  /\b(?:import\s+[\w$]+|export)\s*$/,
  // type arguments that were read as comparisons up to here: `new Map<string, number>()`
  /(?:[\w$]|\basync\s+)<[\p{L}_$([{"'][^;]*$/u,
];

const KEYWORDS_BEFORE_A_BLOCK = /\b(?:do|else|finally|try)\s*$/;

/**
 * Whether a text that does not parse may owe that to being TypeScript.
 *
 * @param {string} text
 * @param {number} offset where parsing stopped
 * @returns {boolean}
 */
export function mayBeTypeScript(text, offset) {
  const rest = text.slice(offset, offset + 100);
  const before = text.slice(Math.max(0, offset - 400), offset);
  if (rest.startsWith(":") && KEYWORDS_BEFORE_A_BLOCK.test(before)) return false;
  return (
    AT_THE_ERROR.some((pattern) => pattern.test(rest)) ||
    BEFORE_THE_ERROR.some((pattern) => pattern.test(before))
  );
}

// Cheap, and true of few programs: those are looked at closely.
const OPENS_TYPE_ARGUMENTS = /[\w$]<[\w$({["']/;
const CLOSES_TYPE_ARGUMENTS = /(?<!=)>[(`]/;

/**
 * Whether a text that parses as JavaScript is TypeScript all the same. Of all that TypeScript
 * adds, only a call with type arguments can be read in both: `load<Row>(id)` is a comparison of
 * a comparison in JavaScript, which nobody writes.
 *
 * @param {string} text
 * @param {any} tree acorn's, of that text
 * @returns {boolean}
 */
export function showsTypeScript(text, tree) {
  if (!OPENS_TYPE_ARGUMENTS.test(text) || !CLOSES_TYPE_ARGUMENTS.test(text)) return false;
  const names = new Set();
  const comparisons = [];
  collect(tree, names, comparisons);
  return comparisons.some(({ left }) => closesTypeArguments(text, left.end, names));
}

// Without recursion: a tree may be as deep as the parser allows.
function collect(tree, names, comparisons) {
  const pending = [tree];
  while (pending.length > 0) {
    const node = pending.pop();
    if (node.type === "BinaryExpression" && node.operator === "<") comparisons.push(node);
    else if (node.type === "VariableDeclarator") declare(node.id, names);
    else if (node.type === "CatchClause" && node.param) declare(node.param, names);
    else if (node.type.startsWith("Import") && node.local) names.add(node.local.name);
    else if (node.params !== undefined) {
      for (const parameter of node.params) declare(parameter, names);
      if (node.id) names.add(node.id.name);
    }
    for (const member of Object.values(node)) {
      for (const child of Array.isArray(member) ? member : [member]) {
        if (isNode(child)) pending.push(child);
      }
    }
  }
}

function isNode(value) {
  return value !== null && typeof value === "object" && typeof value.type === "string";
}

function declare(pattern, names) {
  const pending = [pattern];
  while (pending.length > 0) {
    const node = pending.pop();
    if (node === null) continue;
    if (node.type === "Identifier") names.add(node.name);
    else if (node.type === "ObjectPattern") pending.push(...node.properties);
    else if (node.type === "ArrayPattern") pending.push(...node.elements);
    else if (node.type === "AssignmentPattern") pending.push(node.left);
    else if (node.type === "Property") pending.push(node.value);
    else if (node.type === "RestElement") pending.push(node.argument);
  }
}
