// What helps whoever sent a program that runs, and whose answer will not be what was meant.
//
// Only programs without a `return` at their top come here: one that does not end in an
// expression answers nothing.

import { isCommand } from "./foreign.js";

const EMPTY = "the text is empty: send a program that ends in `return value`";
const ONLY_COMMENTS = "the text holds only comments: send a program that ends in `return value`";
const BLOCK =
  "`{ … }` is a block at the start of a statement, not an object: end with `return { … }`";
const PRINT = "`print` is no function of JavaScript: end with `return value`, or use `console.log`";
const COMMAND =
  "the text looks like a shell command: send a JavaScript program that uses the given functions";

/**
 * @param {import("./parse.js").Reading} reading
 * @param {readonly any[]} solid the program's statements, without empty ones at the end
 * @returns {string} a sentence, or nothing
 */
export function hintFor(reading, solid) {
  const last = solid.at(-1);
  if (last === undefined) return reading.text.trim() === "" ? EMPTY : ONLY_COMMENTS;
  if (last.type === "ExpressionStatement") return hintForExpressions(reading, solid);
  if (last.type === "VariableDeclaration") {
    const { id, init } = last.declarations.at(-1);
    if (!isCallable(init) && isShortName(id)) {
      return `\`${id.name}\` is not returned: end with \`return ${id.name}\``;
    }
  }
  const uncalled = uncalledFunction(reading, solid);
  if (uncalled !== undefined) return `\`${uncalled}\` is never called: end with \`return ${uncalled}()\``;
  if (solid.length === 1 && last.type === "BlockStatement") {
    const looksLikeObject = last.body.length === 1 && last.body[0].type === "LabeledStatement";
    if (looksLikeObject && last.body[0].body.type === "ExpressionStatement") return BLOCK;
  }
  return "";
}

// Every word of `ls -la /tmp` is a variable that nobody has declared.
function hintForExpressions(reading, solid) {
  const { text, names } = reading;
  if (solid.every(({ type }) => type === "ExpressionStatement")) {
    const first = text.slice(solid[0].start, solid[0].start + 300).split(/[\n\r]/, 1)[0];
    if (isCommand(first) && solid.every(({ expression }) => isPlain(expression, 20))) return COMMAND;
  }
  return !names.has("print") && solid.some(({ expression }) => isCallOfPrint(expression)) ? PRINT : "";
}

function isPlain(node, depth) {
  if (depth === 0) return false;
  switch (node.type) {
    case "Identifier":
    case "Literal":
      return true;
    case "BinaryExpression":
    case "LogicalExpression":
      return isPlain(node.left, depth - 1) && isPlain(node.right, depth - 1);
    case "UnaryExpression":
      return isPlain(node.argument, depth - 1);
    case "MemberExpression":
      return !node.computed && isPlain(node.object, depth - 1);
    default:
      return false;
  }
}

function isCallOfPrint(expression) {
  return (
    expression?.type === "CallExpression" &&
    expression.callee.type === "Identifier" &&
    expression.callee.name === "print"
  );
}

// The last function at the top whose name occurs nowhere but in its declaration.
function uncalledFunction(reading, solid) {
  for (const statement of solid.toReversed()) {
    if (isUnused(reading, functionName(statement))) return functionName(statement).name;
  }
  return undefined;
}

function functionName(statement) {
  if (statement.type === "FunctionDeclaration") return statement.id;
  if (statement.type !== "VariableDeclaration") return undefined;
  return statement.declarations.findLast(({ init }) => isCallable(init))?.id;
}

function isCallable(init) {
  const isFunction = init?.type === "ArrowFunctionExpression" || init?.type === "FunctionExpression";
  return isFunction && !init.generator;
}

function isUnused(reading, id) {
  return isShortName(id) && reading.identifiers.get(id.name) === 1;
}

function isShortName(id) {
  return id?.type === "Identifier" && id.name.length <= 60;
}
