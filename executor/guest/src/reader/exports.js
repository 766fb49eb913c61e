// `export default` among other statements: the program is what is exported.

import { Reading } from "./parse.js";
import { blank, insert, refuseGenerator, statements } from "./wrap.js";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const CLASSES = new Set(["ClassDeclaration", "ClassExpression"]);

/**
 * Plans a program with one `export default`, and no other `import` or `export`.
 *
 * The value is taken at the end, when a module would have been evaluated, and called if it is a
 * function.
 *
 * @param {string} text
 * @param {readonly any[]} body
 * @param {any} statement the `export default` in it
 * @param {Reading} reading
 * @returns {import("./wrap.js").Plan}
 */
export function exportedAmongOthers(text, body, statement, reading) {
  const { declaration } = statement;
  const ownName = nameOf(declaration);
  const name = ownName ?? freshName(reading);
  const exported = declaration.type === "Identifier" ? definition(body, name) : declaration;
  if (FUNCTIONS.has(exported?.type)) refuseGenerator(exported, ownName);

  // The semicolon keeps the statement before apart from what `export` kept apart from it.
  const insertions = [{ offset: statement.start, text: ";" }];
  let keptFrom = declaration.start;
  if (declaration.type === "Identifier") {
    keptFrom = declaration.end;
  } else if (ownName === undefined) {
    insertions.push({ offset: declaration.start, text: `const ${name}=(` });
    insertions.push({ offset: declaration.end, text: ");" });
  }
  const kept =
    text.slice(0, statement.start) +
    blank(text.slice(statement.start, keptFrom)) +
    text.slice(keptFrom, declaration.end) +
    blank(text.slice(declaration.end, statement.end)) +
    text.slice(statement.end);
  const { body: rewritten, edits } = insert(kept, insertions);
  // The proof of parse is about the text that is evaluated, and this is another one.
  new Reading(rewritten).module();

  const last = `return ${valueOf(name, exported)};`;
  return { ...statements(rewritten, `async () => {\n${rewritten.trim()}\n${last}\n}`, last), edits };
}

// The name that what is exported has in the program already.
function nameOf(declaration) {
  if (declaration.type === "Identifier") return declaration.name;
  return declaration.type.endsWith("Declaration") ? declaration.id?.name : undefined;
}

// What a name stands for, as far as the text tells.
function definition(body, name) {
  for (const statement of body) {
    if (statement.type.endsWith("Declaration") && statement.id?.name === name) return statement;
    if (statement.type !== "VariableDeclaration") continue;
    const found = statement.declarations.find(({ id }) => id.type === "Identifier" && id.name === name);
    if (found !== undefined) return found.init ?? undefined;
  }
  return undefined;
}

function valueOf(name, exported) {
  if (CLASSES.has(exported?.type)) return name;
  return `typeof ${name}==="function"?${name}():${name}`;
}

function freshName(reading) {
  let name = "$default";
  for (let n = 1; reading.identifiers.has(name); n += 1) name = `$default${n}`;
  return name;
}
