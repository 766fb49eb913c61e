// Which names a text may take from the global object, as far as its tokens tell. It says too
// much rather than too little: a platform that is there and not used costs a few milliseconds,
// one that is missed breaks the program.

import manifest from "chunk-manifest";
import { tokTypes } from "acorn";

const { braceL, comma, dot, questionDot, colon } = tokTypes;

/** Names for the global object itself. */
const GLOBALS = new Set(["globalThis", "self", "global"]);

/** The names that load a chunk where nobody declares them. */
export const WATCHED = new Set([...GLOBALS, ...Object.values(manifest).flatMap(({ globals = [] }) => globals)]);

/** By these a program finds members of an object without naming them. */
export const REFLECTION = ["in", "prototype", "getPrototypeOf", "__proto__"];

const MEMBERS = new Set([
  ...REFLECTION,
  ...Object.values(manifest).flatMap(({ names = [], also = {} }) => [...names, ...Object.values(also).flat()]),
]);

/** What a text refers to. */
export class References {
  constructor() {
    /** @type {Set<string>} names that stand on their own */
    this.names = new Set();
    /** @type {Set<string>} names that are members of the global object */
    this.globals = new Set();
    /** @type {Set<string>} names of members that load a chunk */
    this.members = new Set();
    /** @type {Set<string>} names by which the global object is used for more than a member that is named */
    this.unbounded = new Set();
    /** @type {{ name: string, mayBeKey: boolean, afterTypeof: boolean } | undefined} */
    this.pending = undefined;
    this.previous = undefined;
    /** @type {string | undefined} what the next name is a member of, if it is one */
    this.object = undefined;
  }

  /**
   * @param {any} type of the next token, also of the one at the end of the text
   * @param {any} value
   */
  token(type, value) {
    const { pending, previous } = this;
    this.pending = undefined;
    if (pending !== undefined) this.#settle(pending, type);
    const isMember = this.object !== undefined;
    const ofGlobal = isMember && GLOBALS.has(this.object);
    if (type === tokTypes.name || type === tokTypes.string || type === tokTypes._in) {
      if (MEMBERS.has(value)) this.members.add(value);
    }
    if (type === tokTypes.name && !isMember) {
      const mayBeKey = previous === braceL || previous === comma;
      this.pending = { name: value, mayBeKey, afterTypeof: previous === tokTypes._typeof };
    } else if (ofGlobal) {
      if (type === tokTypes.name) this.globals.add(value);
      else this.unbounded.add(this.object); // `globalThis?.[name]`
    }
    this.object = type === dot || type === questionDot ? (pending?.name ?? "") : undefined;
    this.previous = type;
  }

  #settle({ name, mayBeKey, afterTypeof }, next) {
    if (mayBeKey && next === colon) return;
    this.names.add(name);
    if (!GLOBALS.has(name)) return;
    if (next !== dot && next !== questionDot && !afterTypeof) this.unbounded.add(name);
  }

  /**
   * A name means something else wherever it stands in the text.
   *
   * @param {string} name
   */
  exclude(name) {
    this.names.delete(name);
    this.unbounded.delete(name);
  }

  /** @param {References} other */
  adopt(other) {
    for (const name of other.names) this.names.add(name);
    for (const name of other.globals) this.globals.add(name);
    for (const name of other.members) this.members.add(name);
    for (const name of other.unbounded) this.unbounded.add(name);
  }
}
