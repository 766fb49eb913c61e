// The transpiler: from TypeScript to JavaScript. It runs in a trusted isolate of its own, which
// is made for the first program that could be TypeScript.

import { describe } from "./refusals.js";
import { wasmBytes } from "./swc.js";
import { transpile } from "./transpile.js";

/**
 * @typedef {object} Refused
 * @property {false} ok
 * @property {string} message without the position
 * @property {number} line from 1
 * @property {number} column from 1
 * @property {boolean} decisive this is the reason, wherever the text stops being JavaScript
 */

/**
 * Called with a function, it answers the buffer that the WebAssembly has to be written to. Called
 * with JSON, an array of `{ kind, text }`, it answers JSON, for each of them
 *
 *   { "ok": true, "text" }   JavaScript: erased types leave spaces, so that places stay
 *   { "ok": false, … }       why it is no TypeScript: see `Refused`
 *
 * @this {(() => void) | string}
 * @returns {ArrayBuffer | string}
 */
export default function port() {
  if (typeof this === "function") return wasmBytes;
  return JSON.stringify(JSON.parse(this).map(answer));
}

function answer({ kind, text }) {
  try {
    return { ok: true, text: transpile(kind, text) };
  } catch (error) {
    return describe(text, error);
  }
}
