// TypeScript imports types like values. An import that is never used as a value is none: the
// module has no such export, or does not exist at all where the program runs.

/**
 * Erases the imports that the text does not use, keeping all others where they are.
 *
 * @param {string} text JavaScript
 * @param {any} tree acorn's, of that text
 * @param {string} source what it was in TypeScript
 * @returns {string}
 */
export function elideImports(text, tree, source) {
  if (!tree.body.some(isImport)) return text;
  const used = usedNames(tree);
  let result = "";
  let previous; // the statement before that stays
  for (const statement of tree.body) {
    const kept = new Set(statement.specifiers?.filter(({ local }) => used.has(local.name)));
    if (!isImport(statement) || (kept.size === statement.specifiers.length && !lostItsTypes(text, statement, source))) {
      previous = statement;
      continue;
    }
    result += text.slice(result.length, statement.start);
    if (kept.size > 0) {
      result += withOnly(text, statement, kept);
      previous = statement;
    } else {
      result += nothing(text, statement, previous);
    }
  }
  return result + text.slice(result.length);
}

function isImport({ type }) {
  return type === "ImportDeclaration";
}

// `import { type Row } from "./rows"` is `import {          } from "./rows"` by now.
function lostItsTypes(text, { specifiers, start, end }, source) {
  if (specifiers.length > 0) return false;
  const braces = /^import\s*\{\s*\}/;
  return braces.test(text.slice(start, end)) && !braces.test(source.slice(start, end));
}

// The semicolon keeps the statements around it apart.
function nothing(text, { start, end }, previous) {
  const apart = previous === undefined || text[previous.end - 1] === ";" ? " " : ";";
  return apart + blank(text.slice(start + 1, end));
}

// What goes leaves its comma behind only where another name follows or a bracket closes.
function withOnly(text, { start, end, specifiers, source }, kept) {
  const clause = text.slice(start, end).split("");
  const erase = (from, to) => clause.fill(" ", from - start, to - start);
  const commas = commasOf(text, start, source.start);
  let comma = 0;
  for (const [index, specifier] of specifiers.entries()) {
    while (commas[comma] < specifier.end) comma += 1;
    if (kept.has(specifier)) continue;
    erase(specifier.start, specifier.end);
    const next = commas[comma];
    if (next < (specifiers[index + 1]?.start ?? source.start)) erase(next, next + 1);
    else if (specifier.type === "ImportNamespaceSpecifier") erase(commas[0], commas[0] + 1);
  }
  return clause.join("");
}

function commasOf(text, start, end) {
  const tokens = text.slice(start, end).matchAll(/\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/|"[^"]*"|'[^']*'|,/g);
  return [...tokens].filter(([token]) => token === ",").map(({ index }) => start + index);
}

function blank(text) {
  return text.replace(/[^\n\r\u2028\u2029]/g, " ");
}

// Every identifier that may stand for a variable. A local variable of the same name makes an
// import look used, which is what it was without this.
function usedNames(tree) {
  const names = new Set();
  const pending = tree.body.filter((statement) => !isImport(statement));
  while (pending.length > 0) {
    const node = pending.pop();
    if (node.type === "Identifier") names.add(node.name);
    for (const [key, member] of Object.entries(node)) {
      if (isOnlyAName(node, key)) continue;
      for (const child of Array.isArray(member) ? member : [member]) {
        if (child !== null && typeof child === "object" && typeof child.type === "string") pending.push(child);
      }
    }
  }
  return names;
}

function isOnlyAName(node, key) {
  switch (node.type) {
    case "MemberExpression":
      return key === "property" && !node.computed;
    case "Property":
      // In `{ a }` the value says it.
      return key === "key" && !node.computed;
    case "MethodDefinition":
    case "PropertyDefinition":
      return key === "key" && !node.computed;
    case "ExportSpecifier":
      return key === "exported";
    case "ExportNamedDeclaration":
      return key === "specifiers" && node.source !== null;
    case "ExportAllDeclaration":
      return key === "exported";
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return key === "label";
    default:
      return false;
  }
}
