// What a module, or the program, imports and exports, and what of its text has to give way for
// that: V8 evaluates it as the body of a function.

import { assignedNames, freeReferences, namesOf, waitsAtTop } from "./names.js";
import { blanked } from "./splice.js";
import { keptStores } from "./stores.js";

/**
 * @typedef {object} Unit
 * @property {string} text
 * @property {string[]} requests specifiers of the static imports, each once
 * @property {Binding[]} bindings what it imports
 * @property {Map<string, string>} exports exported name to local name
 * @property {{ name: string, request: number, imported: string | null }[]} indirect re-exports; null: the namespace
 * @property {number[]} stars requests of `export *`
 * @property {(string | undefined)[]} dynamic specifiers of dynamic imports; undefined: not known
 * @property {ReadonlySet<string>} assigned names that something assigns to
 * @property {boolean} waits top-level await
 * @property {boolean} namesDefault the exported function has to be called "default"
 * @property {import("./splice.js").Replacement[]} replacements
 * @property {import("./references.js").References} references
 * @property {(reading: import("./parse.js").Reading) => any} parse how the text is read once more
 * @property {Fresh} fresh
 */
/** @typedef {{ local: string, request: number, imported: string | null }} Binding null: the namespace */

/**
 * Names that do not occur in a text. Their first letter is none that a name of a namespace may
 * have, and keeps a text of one-byte characters what it is.
 */
export class Fresh {
  /** @param {import("./parse.js").Reading} reading */
  constructor(reading) {
    const unused = (prefix, length) => {
      for (let n = 0; ; n += 1) {
        const name = n === 0 ? prefix.slice(0, length) : `${prefix.slice(0, length - `${n}`.length)}${n}`;
        if (!reading.identifiers.has(name)) return name;
      }
    };
    /** As long as `import`, whose place it takes. */
    this.importer = unused("\xefmport", 6);
    this.links = unused("\xeflinks", 6);
    this.default = unused("\xefdeflt", 6);
    this.token = unused("\xefstore", 6);
  }
}

/**
 * @param {import("./parse.js").Reading} reading of the text, which has been parsed
 * @param {{ isModule: boolean, keepsStores: boolean }} options whether exports are its own business; see `stores.js`
 * @returns {Unit}
 */
export function unitOf(reading, { isModule, keepsStores }) {
  const { text, tree } = reading;
  const fresh = new Fresh(reading);
  const unit = {
    text,
    requests: [],
    bindings: [],
    exports: new Map(),
    indirect: [],
    stars: [],
    dynamic: reading.dynamicImports.map(literalOf),
    assigned: new Set(),
    waits: false,
    namesDefault: false,
    replacements: keepsStores ? keptStores(tree, fresh) : [],
    references: referencesOf(reading),
    parse: reading.parsedAs,
    fresh,
  };
  const from = new Map();
  /** The number of a request. */
  const request = ({ value }) => {
    if (!from.has(value)) from.set(value, unit.requests.push(value) - 1);
    return from.get(value);
  };
  for (const start of new Set(reading.importTokens)) {
    unit.replacements.push({ start, end: start + "import".length, text: unit.fresh.importer });
  }
  for (const start of new Set(reading.magicComments)) unit.replacements.push({ start, end: start + 1, text: "" });
  let standsAlone = true;
  const exported = [];
  for (const statement of tree.body) {
    if (statement.type === "ImportDeclaration") {
      importDeclaration(unit, statement, request);
      unit.replacements.push(...blanked(text, statement.start, statement.end, standsAlone ? " " : ";"));
    } else {
      // What comes behind such a declaration is never taken for a part of it.
      standsAlone &&= statement.type === "FunctionDeclaration";
      if (isModule) exportOf(unit, statement, request, exported);
    }
  }
  for (const { name, local } of exported) {
    const binding = unit.bindings.find((candidate) => candidate.local === local);
    if (binding === undefined) unit.exports.set(name, local);
    else unit.indirect.push({ name, request: binding.request, imported: binding.imported });
  }
  if (unit.exports.size > 0) unit.assigned = assignedNames(tree);
  if (reading.identifiers.has("await")) unit.waits = waitsAtTop(tree);
  if (isModule && reading.identifiers.has("arguments")) hideArguments(unit, tree);
  return unit;
}

// A module of its own has no `arguments`; the function that it becomes has.
function hideArguments(unit, tree) {
  for (const { node, use } of freeReferences(tree, new Set(["arguments"]), { outermost: false })) {
    const name = `${unit.fresh.links}.a`;
    if (use === "typeof") {
      unit.replacements.push({ start: node.start, end: node.end, text: "void 0" });
    } else if (use === "short") {
      unit.replacements.push({ start: node.key.end, end: node.key.end, text: `:${name}` });
    } else {
      unit.replacements.push({ start: node.start, end: node.end, text: name });
    }
  }
}

/**
 * What a text may take from the global object. A name that is declared wherever it is used is
 * none of that, which is looked at only for names that the text does declare.
 *
 * @param {import("./parse.js").Reading} reading of a text that has been parsed
 */
export function referencesOf(reading) {
  const { references, watched, tree } = reading;
  const doubtful = new Set([...watched].filter((name) => references.names.has(name)));
  if (doubtful.size === 0) return references;
  for (const { name } of freeReferences(tree, doubtful, { outermost: true })) doubtful.delete(name);
  for (const name of doubtful) references.exclude(name);
  return references;
}

function literalOf(node) {
  if (node.type === "Literal") return String(node.value);
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return undefined;
}

function nameOf(node) {
  return node.type === "Literal" ? node.value : node.name;
}

function importDeclaration(unit, { source, specifiers }, request) {
  const number = request(source);
  for (const specifier of specifiers) {
    const imported =
      specifier.type === "ImportDefaultSpecifier"
        ? "default"
        : specifier.type === "ImportNamespaceSpecifier"
          ? null
          : nameOf(specifier.imported);
    unit.bindings.push({ local: specifier.local.name, request: number, imported });
  }
}

function exportOf(unit, statement, request, exported) {
  switch (statement.type) {
    case "ExportAllDeclaration": {
      const number = request(statement.source);
      if (statement.exported === null) unit.stars.push(number);
      else unit.indirect.push({ name: nameOf(statement.exported), request: number, imported: null });
      unit.replacements.push(...blanked(unit.text, statement.start, statement.end, ";"));
      return;
    }
    case "ExportNamedDeclaration":
      return exportDeclaration(unit, statement, request, exported);
    case "ExportDefaultDeclaration":
      return exportDefault(unit, statement);
  }
}

function exportDeclaration(unit, statement, request, exported) {
  const { declaration, source, specifiers, start, end } = statement;
  if (declaration !== null) {
    unit.replacements.push(...blanked(unit.text, start, declaration.start, ";"));
    for (const name of declaredBy(declaration)) unit.exports.set(name, name);
    return;
  }
  unit.replacements.push(...blanked(unit.text, start, end, ";"));
  if (source === null) {
    for (const specifier of specifiers) exported.push({ name: nameOf(specifier.exported), local: nameOf(specifier.local) });
    return;
  }
  const number = request(source);
  for (const specifier of specifiers) {
    unit.indirect.push({ name: nameOf(specifier.exported), request: number, imported: nameOf(specifier.local) });
  }
}

function declaredBy(declaration) {
  if (declaration.type !== "VariableDeclaration") return [declaration.id.name];
  return declaration.declarations.flatMap(({ id }) => namesOf(id));
}

function exportDefault(unit, { declaration, start, end }) {
  const behind = declaration.behindDefault;
  unit.replacements.push(...blanked(unit.text, start, behind, ";"));
  const isDeclaration = declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
  if (isDeclaration && declaration.id !== null) {
    unit.exports.set("default", declaration.id.name);
    return;
  }
  const name = unit.fresh.default;
  unit.exports.set("default", name);
  if (declaration.type === "FunctionDeclaration") {
    unit.namesDefault = true;
    const at = declaration.paramsStart;
    unit.replacements.push({ start: at, end: at, text: ` ${name}` });
    return;
  }
  // As the value of a member of that name, a function or class without a name is called "default".
  const last = unit.text[end - 1] === ";" ? end - 1 : end;
  unit.replacements.push({ start: behind, end: behind, text: `const ${name}={default:` });
  unit.replacements.push({ start: last, end: last, text: "}.default;" });
}
