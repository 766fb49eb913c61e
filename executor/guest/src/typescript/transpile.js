// From one text of TypeScript to JavaScript on the same lines.

import { parse } from "acorn";
import { BODY, EXPRESSION, MODULE, endOfImports, mayBeExpression } from "./forms.js";
import { elideImports } from "./imports.js";
import { layOut } from "./layout.js";
import { decodeMappings, originNear } from "./mappings.js";
import { offsetOf } from "./places.js";
import { ACCESSOR, DECORATOR, Refusal, Unsupported, refusalFor } from "./refusals.js";
import { restoreSemicolons } from "./semicolons.js";
import { Rejected, strip, transform } from "./swc.js";

/**
 * @param {"program" | "module"} kind
 * @param {string} text
 * @returns {string}
 * @throws {Refusal | import("./swc.js").Exhausted | RangeError}
 */
export function transpile(kind, text) {
  let result = attempt(text, MODULE);
  if (kind === "program" && result.rejected !== undefined) {
    if (result.rejected.startsWith("Return statement")) result = withReturns(text);
    else if (mayBeExpression(text)) result = furthest(result, attempt(text, EXPRESSION));
  }
  if (result.text === undefined) throw result.refusal;
  return result.text;
}

function furthest(one, other) {
  return other.text !== undefined || other.refusal.offset > one.refusal.offset ? other : one;
}

// `return` at the top, and then perhaps imports before it.
function withReturns(text) {
  const head = endOfImports(text);
  if (head === 0) return attempt(text, BODY);
  const imports = attempt(text.slice(0, head), MODULE, { keepImports: true });
  if (imports.text === undefined) return imports;
  const body = attempt(imports.text.replace(/[^\n\r\u2028\u2029]/g, " ") + text.slice(head), BODY);
  if (body.text === undefined) return body;
  // swc sees no program that has both, but acorn does.
  const joined = joinLines(imports.text, body.text);
  return { text: elideImports(joined, parseJavaScript(joined), text) };
}

const AFTER_LINE_BREAK = /(?<=\r\n|\r(?!\n)|[\n\u2028\u2029])/;

// The imports take the place of the spaces that the body has for them.
function joinLines(imports, body) {
  const [importLines, bodyLines] = [imports, body].map((part) => part.split(AFTER_LINE_BREAK));
  const last = importLines.length - 1;
  const room = /^[^\n\r\u2028\u2029]*/.exec(bodyLines[last])[0].slice(0, importLines[last].length);
  if (bodyLines.slice(0, last).every((line) => line.trim() === "") && room.trim() === "") {
    return imports + bodyLines[last].slice(room.length) + bodyLines.slice(last + 1).join("");
  }
  const oneLine = imports.replace(/\/\/[^\n\r\u2028\u2029]*/g, " ").replace(/[\n\r\u2028\u2029]/g, " ");
  return `${oneLine};${body}`;
}

function attempt(text, form, { keepImports = false } = {}) {
  const source = form.open + text + form.close;
  try {
    const result = erased(source, form) ?? rewritten(text, source, form);
    const tree = parseJavaScript(form.open + result + form.close, { offset: (at) => at - form.open.length });
    return { text: form === MODULE && !keepImports ? elideImports(result, tree, text) : result };
  } catch (error) {
    if (error instanceof Rejected) {
      return { rejected: error.message, refusal: refusalFor(text, error, form.open.length) };
    }
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

// Nothing if the text has what cannot be erased.
function erased(source, form) {
  let stripped;
  try {
    stripped = strip(source);
  } catch (error) {
    if (error instanceof Rejected && error.code === "UnsupportedSyntax") return undefined;
    throw error;
  }
  return restoreSemicolons(source, stripped).slice(form.open.length, stripped.length - form.close.length);
}

function rewritten(text, source, form) {
  const { code, map } = transform(source);
  const mappings = decodeMappings(map);
  const tokens = [];
  const tree = parseJavaScript(code, {
    tokens,
    offset(at) {
      const { line, column } = originNear(code, mappings, at);
      return offsetOf(text, line + 1, column);
    },
  });
  const inside = form.inside(tree);
  if (inside === undefined) throw new Refusal("the program is not complete on its own", 0);
  const hoisted = form === MODULE ? namespacesAtTheEnd(tree, text) : [];
  const within = (token, { start, end }) => token.start >= start && token.end <= end && token.end > token.start;
  const wanted = tokens.filter(
    (token) => within(token, inside) && !hoisted.some((statement) => within(token, statement)),
  );
  const declarations = hoisted.map(({ start, end }) => code.slice(start, end)).join("");
  return declarations + layOut(code, wanted, mappings, form.open.length);
}

// swc declares namespaces behind everything else, where the program's answer stands.
function namespacesAtTheEnd({ body }, text) {
  const isNamespace = ({ id, init }) => {
    const name = id.name?.replaceAll("$", "\\$");
    return init === null && new RegExp(`\\b(?:namespace|module)\\s+${name}(?![\\w$])`).test(text);
  };
  const isOne = ({ type, kind, declarations }) =>
    type === "VariableDeclaration" && kind === "var" && declarations.every(isNamespace);
  return body.slice(body.findLastIndex((statement) => !isOne(statement)) + 1);
}

// The proof that there is nothing left of TypeScript. The reader's own proof comes after it.
function parseJavaScript(text, { tokens, offset = (at) => at } = {}) {
  try {
    return parse(text, {
      ecmaVersion: "latest",
      sourceType: "module",
      allowReturnOutsideFunction: true,
      allowHashBang: false,
      onToken: tokens,
    });
  } catch (error) {
    if (!(error instanceof SyntaxError) || error.message.startsWith("Not enough stack space")) throw error;
    throw refusalOf(text, error, offset(error.pos));
  }
}

function refusalOf(text, { message, pos }, offset) {
  if (text[pos] === "@") return new Unsupported(DECORATOR, offset);
  if (/\baccessor\s+$/.test(text.slice(Math.max(0, pos - 40), pos))) return new Unsupported(ACCESSOR, offset);
  return new Refusal(message.replace(/ \(\d+:\d+\)$/, ""), offset);
}
