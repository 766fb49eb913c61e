// What imports and exports become.
//
// A module becomes a generator. It runs up to its `yield`, which brings its functions into being
// and tells what it exports; what comes behind is its own code. Where that waits, the generator
// is asynchronous. What it imports are constants of the generator, made when its own code
// begins, unless their value may change: then every reference is looked up.

import { freeReferences } from "./names.js";
import { Reading } from "./parse.js";
import { splice } from "./splice.js";

/** @typedef {import("./unit.js").Unit} Unit */

/**
 * A value that JSON can express, as an expression on one line.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function literal(value) {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (char) => (char === "\u2028" ? "\\u2028" : "\\u2029"));
}

/**
 * @param {Unit} unit
 * @param {boolean[]} live of its bindings
 */
export function moduleForm(unit, live) {
  const { links, importer } = unit.fresh;
  const { body, edits } = linkedText(unit, live);
  new Reading(body).module(); // the proof of parse is about the text that is evaluated
  const exported = [...unit.exports].map(([name, local]) => `${name === "__proto__" ? `["__proto__"]` : literal(name)}:()=>${local}`);
  const record = {
    ...imports(unit, live),
    ...(unit.indirect.length > 0 && { n: unit.indirect.map(({ name, request, imported }) => [name, request, imported]) }),
    ...(unit.stars.length > 0 && { s: unit.stars }),
    ...(unit.waits && { t: 1 }),
    ...(unit.namesDefault && { d: 1 }),
  };
  const open =
    `${literal(record)},${unit.waits ? "async " : ""}function*(${links},${importer}){"use strict";` +
    `${links}.x={${exported.join(",")}};yield;${constants(unit, live)}`;
  return { open, body, close: "\n}", edits };
}

/**
 * The requests and bindings of a unit as the linker takes them.
 *
 * @param {Unit} unit
 * @param {boolean[]} live
 */
export function imports(unit, live) {
  return {
    r: unit.requests,
    i: unit.bindings.map(({ local, request, imported }, index) => [request, imported, ...(live[index] ? [local] : [])]),
  };
}

/**
 * The declarations of what a unit imports.
 *
 * @param {Unit} unit
 * @param {boolean[]} live
 * @returns {string}
 */
export function constants(unit, live) {
  const declared = unit.bindings.flatMap(({ local }, index) => (live[index] ? [] : `${local}=${unit.fresh.links}[${index}]`));
  return declared.length > 0 ? `const ${declared.join(",")};` : "";
}

/**
 * A unit's text without its imports and exports.
 *
 * @param {Unit} unit
 * @param {boolean[]} live
 */
export function linkedText(unit, live) {
  const { text: body, edits } = splice(unit.text, [...unit.replacements, ...lookups(unit, live)]);
  return { body, edits };
}

// A reference that is looked up is a member, and a member that is called has no `this`.
function lookups(unit, live) {
  const members = new Map();
  for (const [index, { local }] of unit.bindings.entries()) {
    if (live[index]) members.set(local, `${unit.fresh.links}[${index}].v`);
  }
  if (members.size === 0) return [];
  const reading = new Reading(unit.text);
  const found = freeReferences(unit.parse(reading), members, { outermost: false });
  return found.map(({ node, name, use }) => {
    const member = members.get(name);
    if (use === "short") return { start: node.key.end, end: node.key.end, text: `:${member}` };
    const text = use === "call" ? `${unit.fresh.links}.c(${member})` : member;
    return { start: node.start, end: node.end, text };
  });
}
