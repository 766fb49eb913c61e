// The modules that a program is given: which of them it can reach, and in what form each is
// evaluated.

import { meaningOf, normalName } from "../chunks/modules/specifier.js";
import { evaluatedForm, readModule } from "./module.js";

/** @typedef {{ name: string, kind: string, source: string }} Given */
/** @typedef {import("./unit.js").Unit} Unit */

export class Library {
  /**
   * @param {readonly Given[]} given
   * @param {{ keepsStores: boolean }} options see `module.js`
   */
  constructor(given, options) {
    this.options = options;
    /** @type {Map<string, { name: string, kind: string, source: string, unit: Unit | undefined }>} */
    this.modules = new Map();
    /** @type {unknown} why one of them is no module */
    this.fault = undefined;
    for (const { name: givenName, kind, source } of given) {
      const name = givenName.startsWith("node:") ? givenName : normalName(givenName);
      let unit;
      try {
        unit = readModule({ name: givenName, kind, source }, options);
      } catch (error) {
        this.fault ??= error;
      }
      this.modules.set(name, { name, kind, source, unit });
    }
    this.#findCycles();
  }

  /**
   * @param {string} specifier
   * @param {string} referrer
   */
  meaningOf(specifier, referrer) {
    return meaningOf(specifier, referrer, (name) => this.modules.has(name));
  }

  /**
   * Which of a unit's imports have to be looked up at every use, because their value changes or
   * is not there yet when the unit's own code begins.
   *
   * @param {Unit} unit
   * @param {string} name of the module; "" for the program
   * @returns {boolean[]}
   */
  liveBindings(unit, name) {
    return unit.bindings.map(
      ({ request, imported }) =>
        this.#cyclic.has(name) || this.#changes(this.meaningOf(unit.requests[request], name), imported, new Set()),
    );
  }

  /** @type {Set<string>} names of modules that import themselves, directly or not */
  #cyclic = new Set();

  #changes(meaning, imported, seen) {
    const module = meaning.kind === "module" ? this.modules.get(meaning.name) : undefined;
    if (imported === null || module === undefined || module.kind !== "js" || module.unit === undefined) return false;
    const { unit, name } = module;
    const local = unit.exports.get(imported);
    if (local !== undefined) return unit.assigned.has(local);
    const key = `${imported} ${name}`;
    if (seen.has(key)) return false;
    seen.add(key);
    const follow = (request, importedThere) =>
      this.#changes(this.meaningOf(unit.requests[request], name), importedThere, seen);
    const indirect = unit.indirect.find((entry) => entry.name === imported);
    if (indirect !== undefined) return follow(indirect.request, indirect.imported);
    return unit.stars.some((request) => follow(request, imported));
  }

  // Tarjan's strongly connected components, of static imports only.
  #findCycles() {
    const numbers = new Map();
    const lows = new Map();
    const stack = [];
    const onStack = new Set();
    const visit = (name) => {
      numbers.set(name, numbers.size);
      lows.set(name, numbers.get(name));
      stack.push(name);
      onStack.add(name);
      const unit = this.modules.get(name).unit;
      for (const specifier of unit?.requests ?? []) {
        const meaning = this.meaningOf(specifier, name);
        if (meaning.kind !== "module") continue;
        if (meaning.name === name) this.#cyclic.add(name);
        if (!numbers.has(meaning.name)) visit(meaning.name);
        if (onStack.has(meaning.name)) lows.set(name, Math.min(lows.get(name), lows.get(meaning.name)));
      }
      if (lows.get(name) !== numbers.get(name)) return;
      const component = stack.splice(stack.indexOf(name));
      for (const member of component) {
        onStack.delete(member);
        if (component.length > 1) this.#cyclic.add(member);
      }
    };
    for (const name of this.modules.keys()) if (!numbers.has(name)) visit(name);
  }

  /**
   * What a program reaches through its imports, whether or not it is going to.
   *
   * @param {Unit} program
   * @returns {{ units: Unit[], builtins: Set<string>, anyBuiltin: boolean, scripts: object[] }}
   */
  reach(program) {
    const units = [];
    const builtins = new Set();
    const reached = new Set();
    let anyBuiltin = false;
    const anything = () => {
      anyBuiltin = true;
      for (const other of this.modules.keys()) enter(other);
    };
    const follow = (unit, name) => {
      units.push(unit);
      for (const specifier of [...unit.requests, ...unit.dynamic]) {
        if (specifier === undefined) {
          anything();
          continue;
        }
        const meaning = this.meaningOf(specifier, name);
        if (meaning.kind === "builtin") builtins.add(meaning.name);
        else if (meaning.kind === "module") enter(meaning.name);
        // What its createRequire makes takes any specifier.
        if (meaning.kind === "builtin" && meaning.name === "node:module") anything();
      }
    };
    const enter = (name) => {
      if (reached.has(name)) return;
      reached.add(name);
      const { unit } = this.modules.get(name);
      if (unit !== undefined) follow(unit, name);
    };
    follow(program, "");
    const scripts = [...reached].map((name) => {
      const module = this.modules.get(name);
      return { name, ...evaluatedForm(module, module.unit && this.liveBindings(module.unit, name)) };
    });
    return { units, builtins, anyBuiltin, scripts };
  }
}
