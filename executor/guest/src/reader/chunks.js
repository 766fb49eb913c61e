// Which pieces of the platform a program needs.

import manifest from "chunk-manifest";
import { REFLECTION } from "./references.js";

const LINKER = "modules";

const byGlobal = index("globals");
const byName = index("names");
const byModule = index("modules");

function index(list) {
  const chunks = new Map();
  for (const [chunk, entry] of Object.entries(manifest)) {
    for (const name of entry[list] ?? []) chunks.set(name, [...(chunks.get(name) ?? []), chunk]);
  }
  return chunks;
}

// As the manifest has it: `node:path` is "path" there.
const manifestName = (builtin) => builtin.replace(/^node:/, "");

/** @returns {string[]} names of the modules that the platform offers, without their parts */
export function offered() {
  return [...byModule.keys()].filter((name) => !name.includes("/") && !name.startsWith("_")).sort();
}

/** @param {string} builtin a specifier with its prefix */
export function isOffered(builtin) {
  return byModule.has(manifestName(builtin));
}

/**
 * @param {object} program what it and its modules name
 * @param {Iterable<import("./parse.js").Reading["references"]>} program.references
 * @param {Iterable<string>} [program.builtins] specifiers of the platform's modules
 * @param {boolean} [program.anyBuiltin] which modules it imports is not known
 * @param {boolean} [program.links] it imports something
 * @returns {string[]} chunks, in the order in which they have to be installed
 */
export function chunksFor({ references, builtins = [], anyBuiltin = false, links = false }) {
  const wanted = new Set();
  const add = (chunks) => {
    for (const chunk of chunks ?? []) wanted.add(chunk);
  };
  for (const { names, globals, members, unbounded } of references) {
    for (const name of [...names, ...globals]) add(byGlobal.get(name));
    for (const name of members) add(byName.get(name));
    if (unbounded.size > 0) for (const chunks of byGlobal.values()) add(chunks);
  }
  for (const builtin of builtins) add(byModule.get(manifestName(builtin)));
  if (anyBuiltin) for (const chunks of byModule.values()) add(chunks);
  const ordered = inOrder(withAlso(wanted, references));
  // Last, since it looks for what the others provide.
  return links ? [...ordered, LINKER] : ordered;
}

// What a program names of one chunk may need another, which means nothing in a program without the first.
function withAlso(wanted, references) {
  const isNamed = (name) => references.some(({ members }) => members.has(name));
  const reflects = REFLECTION.some(isNamed);
  const loaded = new Set(inOrder(wanted));
  const more = Object.entries(manifest).filter(([, { also = {} }]) =>
    Object.entries(also).some(([chunk, names]) => loaded.has(chunk) && (reflects || names.some(isNamed))),
  );
  return new Set([...wanted, ...more.map(([chunk]) => chunk)]);
}

function inOrder(wanted) {
  const ordered = new Set();
  const put = (chunk) => {
    if (ordered.has(chunk)) return;
    for (const other of manifest[chunk].requires ?? []) put(other);
    ordered.add(chunk);
  };
  for (const chunk of [...wanted].sort()) put(chunk);
  return [...ordered];
}
