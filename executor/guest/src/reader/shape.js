// From a parsed program to what is evaluated: which of its parts is the answer, what has to
// be put around it, and where in its lines something had to be inserted.
//
// The rules are upstream's `normalizeCode`, whose string is computed beside ours. Ours differs
// in two ways: nothing moves to another line, and an answer that is a function is called.

import { Refusal } from "./errors.js";
import { Reading } from "./parse.js";

const NO_IMPORTS =
  "static imports are not supported here yet: use the objects that the program is given";
const NO_EXPORTS =
  "exports are not supported here yet: return the value, or make `export default` the only statement";

/**
 * @typedef {object} Plan
 * @property {string} normalized upstream's string for the program
 * @property {string} open text to be put before `body`, on its first line
 * @property {string} body the program's text, on its own lines
 * @property {string} close text to be put after `body`
 * @property {[line: number, column: number, inserted: number][]} edits see `index.js`
 */

/**
 * Plans the program of a reading.
 *
 * @param {Reading} reading
 * @returns {Plan}
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
  const anonymous = anonymousFunction(text);
  if (anonymous !== undefined) {
    reading.adopt(anonymous.reading);
    const source = text.slice(anonymous.node.start, anonymous.node.end);
    return {
      normalized: `async () => {\nreturn (${source})();\n}`,
      open: "async()=>(",
      body: text.slice(0, anonymous.node.end),
      close: "\n)()",
      edits: [],
    };
  }
  const body = new Reading(text);
  try {
    refuseModuleSyntax(body.functionBody().body);
  } finally {
    reading.adopt(body);
  }
  return statements(text, `async () => {\n${text.trim()}\n}`);
}

// `function () { … }` alone is a syntax error as a statement, and its intent is plain.
function anonymousFunction(text) {
  const reading = new Reading(text);
  let node;
  try {
    node = reading.expression();
  } catch {
    return undefined; // the statement list's error is the one to report
  }
  return node.type === "FunctionExpression" ? { node, reading } : undefined;
}

function planModule(text, body, reading) {
  const source = text.trim();
  if (source === "") return statements(text, "async () => {}");

  const solid = withoutTrailingEmpties(body);
  const only = solid.length === 1 ? solid[0] : undefined;
  if (only?.type === "ExpressionStatement" && only.expression.type === "ArrowFunctionExpression") {
    return arrow(text, only, body.length === 1 ? source : `async () => {\n${source}\n}`);
  }
  if (only?.type === "ExportDefaultDeclaration") return exported(text, only, reading);
  refuseModuleSyntax(body);
  if (body.length === 1 && body[0].type === "FunctionDeclaration") {
    const call = `return ${body[0].id.name}();\n}`;
    return {
      normalized: `async () => {\n${source}\n${call}`,
      open: "async()=>{",
      body: text,
      close: `\n${call}`,
      edits: [],
    };
  }

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

function refuseModuleSyntax(body) {
  for (const statement of body) {
    if (statement.type === "ImportDeclaration") throw new Refusal(NO_IMPORTS, statement.start);
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

function statements(text, normalized) {
  return { normalized, open: "async()=>{", body: text, close: "\n}", edits: [] };
}

// The value of the expression statement becomes the program's answer. A function in that
// place is meant to be run: upstream returns it, and its caller gets nothing to use.
function answer(text, statement, normalized) {
  const end = endOfExpression(text, statement);
  const before = "return (";
  const after = isFunction(statement) ? ")()" : ")";
  const own = text.slice(statement.start, end);
  const body = text.slice(0, statement.start) + before + own + after + text.slice(end);
  return {
    ...statements(body, normalized),
    edits: editsOf(text, [
      { offset: statement.start, length: before.length },
      { offset: end, length: after.length },
    ]),
  };
}

// `export default` and all before it give way to spaces, so that what follows keeps its place.
function exported(text, statement, reading) {
  const declaration = statement.declaration;
  const source = text.slice(declaration.start, declaration.end);
  const inner = text.slice(0, declaration.start).replace(/[^\n\r\u2028\u2029]/g, " ") + source;
  if (declaration.type === "FunctionDeclaration" && declaration.id === null) {
    return value(inner, `return (${source})();`, "\n)()");
  }
  if (declaration.type === "ClassDeclaration" && declaration.id === null) {
    return value(inner, `return (${source});`, "\n)");
  }
  const nested = new Reading(inner);
  try {
    return plan(nested);
  } catch (error) {
    // What is an expression after `export default` may be no statement: an object with methods.
    if (error instanceof RangeError || declaration.type !== "ObjectExpression") throw error;
    return value(inner, `return (${source})`, "\n)");
  } finally {
    reading.adopt(nested);
  }
}

function value(body, statement, close) {
  return { normalized: `async () => {\n${statement}\n}`, open: "async()=>(", body, close, edits: [] };
}

function editsOf(text, insertions) {
  const edits = [];
  let line = 1;
  let lineStart = 0;
  let shift = 0;
  let scanned = 0;
  for (const { offset, length } of insertions) {
    for (const lineBreak of text.slice(scanned, offset).matchAll(/\r\n|[\n\r\u2028\u2029]/g)) {
      line += 1;
      lineStart = scanned + lineBreak.index + lineBreak[0].length;
      shift = 0;
    }
    scanned = offset;
    shift += length;
    edits.push([line, offset - lineStart + shift + 1, length]);
  }
  return edits;
}
