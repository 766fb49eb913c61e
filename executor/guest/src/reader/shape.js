// From a parsed program to what is evaluated: which of its parts is the answer, what has to
// be put around it, and where in its lines something had to be inserted.
//
// The rules are upstream's `normalizeCode`, whose string is computed beside ours. Ours differs
// in two ways: nothing moves to another line, and an answer that is a function is called.

import { Refusal } from "./errors.js";
import { exportedAmongOthers } from "./exports.js";
import { JSON_IS_NO_PROGRAM, parsesAsJson } from "./foreign.js";
import { hintFor } from "./hints.js";
import { Reading } from "./parse.js";
import { blanked, splice } from "./splice.js";
import { blank, insert, refuseGenerator, statements, value } from "./wrap.js";

const NO_EXPORTS = "a program exports nothing by name: return the value, or use `export default`";

/**
 * Plans the program of a reading.
 *
 * @param {Reading} reading
 * @returns {import("./wrap.js").Plan}
 */
export function plan(reading) {
  let program;
  try {
    program = reading.module();
  } catch (moduleError) {
    return planWhatIsNoModule(reading.text, moduleError, reading);
  }
  return planModule(reading.text, program.body, reading);
}

// Upstream wraps such a text without looking into it, so there is no answer to be found
// and `return` is the program's own.
function planWhatIsNoModule(text, moduleError, reading) {
  if (moduleError instanceof RangeError) throw moduleError;
  const only = onlyExpression(text);
  if (only !== undefined) {
    reading.adopt(only.reading);
    const source = text.slice(only.node.start, only.node.end);
    const body = text.slice(0, only.node.end);
    if (only.node.type === "FunctionExpression") {
      refuseGenerator(only.node);
      return value(body, `return (${source})();`, "\n)()");
    }
    if (parsesAsJson(text)) throw new Refusal(JSON_IS_NO_PROGRAM, only.node.start);
    return value(body, `return (${source})`);
  }
  const body = new Reading(text);
  try {
    refuseModuleSyntax(body.functionBody().body);
  } finally {
    reading.adopt(body);
  }
  return statements(text, `async () => {\n${text.trim()}\n}`);
}

// `function () { … }` and `{ a: 1, b: 2 }` alone are syntax errors as statements, and their
// intent is plain.
function onlyExpression(text) {
  const reading = new Reading(text);
  let node;
  try {
    node = reading.expression();
  } catch {
    return undefined; // the statement list's error is the one to report
  }
  return node.type === "FunctionExpression" || node.type === "ObjectExpression"
    ? { node, reading }
    : undefined;
}

function planModule(text, body, reading) {
  const source = text.trim();
  const solid = withoutTrailingEmpties(body);
  if (source === "") return { ...statements(text, "async () => {}"), hint: hintFor(reading, solid) };

  const only = solid.length === 1 ? solid[0] : undefined;
  if (only?.type === "ExpressionStatement" && only.expression.type === "ArrowFunctionExpression") {
    return arrow(text, only, body.length === 1 ? source : `async () => {\n${source}\n}`);
  }
  if (only?.type === "ExportDefaultDeclaration") return exported(text, only, reading);
  const named = body.filter(({ type, declaration }) => type === "ExportNamedDeclaration" && declaration);
  if (named.length > 0) return planWithout(named, text, reading);
  const defaultExport = body.find(({ type }) => type === "ExportDefaultDeclaration");
  refuseModuleSyntax(body, defaultExport);
  if (defaultExport !== undefined) return exportedAmongOthers(text, body, defaultExport, reading);
  if (body.length === 1 && body[0].type === "FunctionDeclaration") {
    refuseGenerator(body[0]);
    const call = `return ${body[0].id.name}();`;
    return statements(text, `async () => {\n${source}\n${call}\n}`, call);
  }
  return { ...lastStatement(text, source, body, solid), hint: hintFor(reading, solid) };
}

// Nobody imports what a program exports by name: its declarations are meant.
function planWithout(named, text, reading) {
  const exports = named.flatMap(({ start, declaration }) => blanked(text, start, declaration.start));
  const nested = new Reading(splice(text, exports).text);
  try {
    return plan(nested);
  } finally {
    reading.adopt(nested);
  }
}

function lastStatement(text, source, body, solid) {
  const last = body.at(-1);
  if (last?.type === "ExpressionStatement") {
    const before = text.slice(0, last.start).trimStart();
    const expression = text.slice(last.expression.start, last.expression.end);
    return answer(text, last, `async () => {\n${before}return (${expression})\n}`);
  }
  const asIs = `async () => {\n${source}\n}`;
  const lastSolid = solid.at(-1);
  return isFunction(lastSolid) ? answer(text, lastSolid, asIs) : statements(text, asIs);
}

function withoutTrailingEmpties(body) {
  const end = body.findLastIndex((statement) => statement.type !== "EmptyStatement");
  return body.slice(0, end + 1);
}

function refuseModuleSyntax(body, allowed) {
  for (const statement of body) {
    if (statement === allowed) continue;
    if (statement.type.startsWith("Export")) throw new Refusal(NO_EXPORTS, statement.start);
  }
}

function isFunction(statement) {
  return (
    statement?.type === "ExpressionStatement" &&
    (statement.expression.type === "ArrowFunctionExpression" ||
      statement.expression.type === "FunctionExpression")
  );
}

// Where a statement's own text ends, without its semicolon. No expression ends in one.
function endOfExpression(text, statement) {
  return text[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
}

function arrow(text, statement, normalized) {
  const body = text.slice(0, endOfExpression(text, statement));
  return { normalized, open: "", body, close: "", edits: [] };
}

// The value of the expression statement becomes the program's answer. A function in that
// place is meant to be run: upstream returns it, and its caller gets nothing to use.
function answer(text, statement, normalized) {
  const called = isFunction(statement);
  if (called) refuseGenerator(statement.expression);
  const { body, edits } = insert(text, [
    { offset: statement.start, text: "return (" },
    { offset: endOfExpression(text, statement), text: called ? ")()" : ")" },
  ]);
  return { ...statements(body, normalized), edits };
}

// `export default` and all before it give way to spaces, so that what follows keeps its place.
function exported(text, statement, reading) {
  const declaration = statement.declaration;
  const source = text.slice(declaration.start, declaration.end);
  const inner = blank(text.slice(0, declaration.start)) + source;
  if (declaration.type === "FunctionDeclaration" && declaration.id === null) {
    refuseGenerator(declaration);
    return value(inner, `return (${source})();`, "\n)()");
  }
  if (declaration.type === "ClassDeclaration" && declaration.id === null) {
    return value(inner, `return (${source});`);
  }
  const nested = new Reading(inner);
  try {
    return plan(nested);
  } catch (error) {
    // What is an expression after `export default` may be no statement: an object with methods.
    if (error instanceof RangeError || declaration.type !== "ObjectExpression") throw error;
    return value(inner, `return (${source})`);
  } finally {
    reading.adopt(nested);
  }
}
