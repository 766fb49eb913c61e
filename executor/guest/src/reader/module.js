// One module: from its text to the arguments of a call that tells the run's linker of it.

import { Refusal, RefusalAt, isStackOverflow } from "./errors.js";
import { literal, moduleForm } from "./linked.js";
import { nodesOf } from "./names.js";
import { Reading } from "./parse.js";
import { splice } from "./splice.js";
import { isAfter, javascriptOf, mayBeTypeScript } from "./transpiled.js";
import { unitOf } from "./unit.js";

// The numbers by which the linker knows the kinds of modules.
const KINDS = { js: 0, json: 1, text: 2, data: 3, cjs: 4 };

/** A module that cannot be one. */
export class ModuleRefusal extends Error {
  /**
   * @param {string} module its name
   * @param {string} text in whose lines the position is given
   * @param {unknown} reason
   * @param {{ label: string, offset: number }[]} unclosed
   */
  constructor(module, text, reason, unclosed) {
    super(`module ${module}`);
    this.module = module;
    this.text = text;
    this.reason = reason;
    this.unclosed = unclosed;
  }
}

/**
 * @param {import("./library.js").Given} given
 * @param {{ keepsStores: boolean }} options see `stores.js`
 * @returns {import("./unit.js").Unit | undefined} nothing for a kind that is no code
 * @throws {ModuleRefusal}
 */
export function readModule({ name, kind, source }, options) {
  if (kind === "js") return readJavaScript(name, withoutHashbang(source), options);
  if (kind === "cjs") return readCommonJs(name, withoutHashbang(source));
  if (kind === "json") parseJson(name, source);
  return undefined;
}

function readJavaScript(name, source, options) {
  const read = (text) =>
    readAs(name, text, (reading) => {
      reading.module();
      return unitOf(reading, { isModule: true, ...options });
    });
  const javascript = /\.[cm]?ts$/.test(name) ? javascriptOf("module", source) : undefined;
  if (javascript?.ok) return read(javascript.text);
  if (javascript !== undefined) throw new ModuleRefusal(name, source, new RefusalAt(javascript), []);
  try {
    return read(source);
  } catch (error) {
    const at = error.reason?.pos;
    if (typeof at !== "number" || !mayBeTypeScript(source, at)) throw error;
    const transpiled = javascriptOf("module", source);
    if (transpiled?.ok) return read(transpiled.text);
    if (transpiled === undefined || !isAfter(transpiled, source, at)) throw error;
    throw new ModuleRefusal(name, source, new RefusalAt(transpiled), []);
  }
}

function readCommonJs(name, source) {
  return readAs(name, source, (reading) => {
    reading.commonJs();
    const unit = unitOf(reading, { isModule: false, keepsStores: false });
    unit.dynamic.push(...required(reading.tree));
    return unit;
  });
}

function readAs(name, text, make) {
  const reading = new Reading(text);
  try {
    return make(reading);
  } catch (error) {
    throw new ModuleRefusal(name, text, error, reading.unclosed);
  }
}

function parseJson(name, source) {
  try {
    JSON.parse(source);
  } catch (error) {
    throw new ModuleRefusal(name, source, new Refusal(`it is not JSON: ${error.message}`, 0), []);
  }
}

// What a CommonJS module may require; undefined stands for what the text does not tell.
function required(tree) {
  const specifiers = [];
  const callees = new Set();
  for (const node of nodesOf(tree)) {
    if (node.type === "CallExpression" && node.callee.name === "require") {
      callees.add(node.callee);
      const [argument] = node.arguments;
      specifiers.push(argument?.type === "Literal" ? String(argument.value) : undefined);
    } else if (node.type === "Identifier" && node.name === "require" && !callees.has(node)) {
      specifiers.push(undefined);
    }
  }
  return specifiers;
}

function withoutHashbang(text) {
  return text.startsWith("#!") ? text.replace(/^[^\n\r\u2028\u2029]*/, (line) => " ".repeat(line.length)) : text;
}

/**
 * A module as it is evaluated.
 *
 * @param {{ name: string, kind: string, source: string, unit: import("./unit.js").Unit | undefined }} module
 * @param {boolean[]} live see `Library.liveBindings`
 * @returns {{ open: string, body: string, close: string, edits: import("./splice.js").Edit[] }}
 */
export function evaluatedForm(module, live) {
  const { name, unit } = module;
  try {
    return formOf(module, live);
  } catch (error) {
    if (isStackOverflow(error)) throw new ModuleRefusal(name, unit?.text ?? "", error, []);
    throw new Error(`module ${name}, rewritten: ${error}`, { cause: error });
  }
}

function formOf({ name, kind, source, unit }, live) {
  const head = `${literal(name)},${KINDS[kind]},`;
  if (unit === undefined) return { open: head + literal(source), body: "", close: "", edits: [] };
  if (kind === "js") {
    const { open, ...form } = moduleForm(unit, live);
    return { open: head + open, ...form };
  }
  const { text: body, edits } = splice(unit.text, unit.replacements);
  new Reading(body).commonJs();
  const open = `${head}${unit.fresh.importer}=>function(exports,require,module,__filename,__dirname){`;
  return { open, body, close: "\n}", edits };
}
