// amaro's WebAssembly for the bundle "typescript", without Node.
//
// amaro ships one CommonJS file that holds swc as a base64 string and is good for one instance.
// Here the WebAssembly becomes an asset of its own, which the host hands over as bytes: a string
// of 3.6 MB would have to be read by every isolate, and decoded by it. What is left of the file
// becomes a function that makes an instance, because one that has failed cannot be used again.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const glueFile = path.join(here, "..", "..", "node_modules", "amaro", "lib", "wasm.js");

const NEEDS_NODE = "const { TextDecoder, TextEncoder } = require(`util`);";
const INSTANTIATES =
  /const \{ Buffer \} = require\('node:buffer'\);\s+const bytes = Buffer\.from\('([A-Za-z0-9+/=]+)', 'base64'\);\s+const wasmModule = new WebAssembly\.Module\(bytes\);/;

async function read() {
  const source = await readFile(glueFile, "utf8");
  const binary = INSTANTIATES.exec(source);
  if (binary === null || !source.includes(NEEDS_NODE)) {
    throw new Error("amaro's lib/wasm.js is not built as it was: look at amaro.mjs");
  }
  const glue = source.replace(INSTANTIATES, "").replace(NEEDS_NODE, "");
  return { glue, wasm: Buffer.from(binary[1], "base64") };
}

/** The WebAssembly itself. */
export async function amaroWasm() {
  return (await read()).wasm;
}

/**
 * Resolves the import "amaro/instance" to a module with
 *   WASM_BYTES: how many bytes `amaroWasm` has,
 *   instantiate(wasmModule): amaro's functions on a new instance.
 *
 * @type {import("esbuild").Plugin}
 */
export const amaroPlugin = {
  name: "amaro",
  setup(build) {
    build.onResolve({ filter: /^amaro\/instance$/ }, () => ({ path: glueFile, namespace: "amaro" }));
    build.onLoad({ filter: /.*/, namespace: "amaro" }, async () => {
      const { glue, wasm } = await read();
      const contents = `
import { TextDecoder, TextEncoder } from "./utf8.js";
export const WASM_BYTES = ${wasm.length};
export function instantiate(wasmModule) {
  const module = { exports: {} };
  ${glue}
  return module.exports;
}`;
      return { contents, resolveDir: here, loader: "js" };
    });
  },
};
