// A program that imports something: its text without its static imports, and what has to be put
// around it so that it has what they import.

import { constants, imports, linkedText, literal } from "./linked.js";
import { isOffered, offered } from "./chunks.js";
import { Reading } from "./parse.js";
import { blanked, compose, splice } from "./splice.js";
import { unitOf } from "./unit.js";

/**
 * @typedef {object} Linked
 * @property {string} text the program, without static imports
 * @property {string | undefined} visible the same with `import(…)` as it was; undefined: there are no static imports
 * @property {import("./unit.js").Unit} unit
 * @property {(planned: import("./wrap.js").Plan) => import("./wrap.js").Plan} wrap
 */

/**
 * @param {string} program
 * @param {import("./library.js").Library} library
 * @returns {Linked | undefined} undefined: it imports nothing, or is no program
 */
export function link(program, library) {
  if (!program.includes("import")) return undefined;
  const reading = parse(program);
  if (reading === undefined) return undefined;
  const declarations = reading.tree.body.filter(({ type }) => type === "ImportDeclaration");
  if (declarations.length === 0 && reading.importTokens.length === 0) return undefined;
  const unit = unitOf(reading, { isModule: false, ...library.options });
  // Exports are not the linker's in a program: what is to be done with them is said elsewhere.
  const live = library.liveBindings(unit, "");
  const { body, edits } = linkedText(unit, live);
  const wrap = (planned) => ({
    ...planned,
    open: `(()=>{${constants(unit, live)}return(${planned.open}`,
    close: `${planned.close}\n)})()`,
    edits: compose(edits, planned.edits),
  });
  const visible = declarations.length > 0 ? withoutDeclarations(program, declarations) : undefined;
  return { text: body, visible, unit, wrap };
}

// As a module, as a function's body, or as the one expression that `shape.js` may see in it.
function parse(text) {
  for (const read of [Reading.prototype.module, Reading.prototype.functionBody, Reading.prototype.expression]) {
    const reading = new Reading(text);
    try {
      read.call(reading);
      return reading;
    } catch (error) {
      if (error instanceof RangeError) throw error;
    }
  }
  return undefined;
}

function withoutDeclarations(text, declarations) {
  return splice(text, declarations.flatMap(({ start, end }) => blanked(text, start, end))).text;
}

/**
 * What the run's linker is told about the program.
 *
 * @param {Linked} linked
 * @param {import("./library.js").Library} library
 * @param {{ builtins: Iterable<string>, anyBuiltin: boolean }} reached what it and its modules import of the platform
 * @returns {string} an expression
 */
export function linksOf({ unit }, library, { builtins, anyBuiltin }) {
  const links = imports(unit, library.liveBindings(unit, ""));
  // What may be asked for instead is said where something is not there.
  const mayMiss = anyBuiltin || ![...builtins].every(isOffered);
  return literal(mayMiss ? { ...links, o: offered() } : links);
}

/**
 * Upstream's form for a program that imports statically, in which upstream could run it.
 *
 * @param {import("./unit.js").Unit} unit
 * @param {string} normalized the form of the rest
 * @returns {string}
 */
export function normalizedWithImports(unit, normalized) {
  const lines = unit.requests.map((specifier, request) => {
    const bindings = unit.bindings.filter((binding) => binding.request === request);
    const space = bindings.find(({ imported }) => imported === null);
    const members = bindings.filter(({ imported }) => imported !== null);
    const value = `await import(${literal(specifier)})`;
    const pattern = members.map(({ local, imported }) => (local === imported ? local : `${literal(imported)}: ${local}`)).join(", ");
    if (space === undefined) return members.length > 0 ? `const { ${pattern} } = ${value};` : `${value};`;
    const line = `const ${space.local} = ${value};`;
    return members.length > 0 ? `${line} const { ${pattern} } = ${space.local};` : line;
  });
  return `async () => {\n${lines.join("\n")}\nreturn await (${normalized})();\n}`;
}
