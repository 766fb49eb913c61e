// swc's two ways from TypeScript to JavaScript, and the instance they need.

import { WASM_BYTES, instantiate } from "amaro/instance";

/** To be filled by the host before anything is asked for. */
export const wasmBytes = new ArrayBuffer(WASM_BYTES);

// A text of the permitted size needs less. The memory of an instance never shrinks, so one that
// has met a monster gives way to another.
const MAX_MEMORY = 64 * 1024 * 1024;

/** The text is no TypeScript: what is wrong and where, as swc has it. */
export class Rejected extends Error {
  /** @param {{ code?: string, message: string, startLine: number, startColumn: number }} report */
  constructor(report) {
    super(report.message);
    this.code = report.code;
    this.line = report.startLine;
    /** In columns of a terminal: see `offsetOf`. */
    this.column = report.startColumn;
  }
}

/** swc gave up, which only texts that exhaust its stack or its memory bring about. */
export class Exhausted extends Error {}

const TRANSFORM = {
  verbatimModuleSyntax: true,
  nativeClassProperties: true,
  noEmptyExport: true,
  importNotUsedAsValues: "preserve",
  importExportAssignConfig: "EsNext",
  tsEnumIsMutable: true,
};

/** @type {WebAssembly.Module | undefined} */
let compiled;
/** @type {any} */
let instance;

/**
 * Erases what JavaScript does not have, each character by a space.
 *
 * @param {string} source
 * @returns {string}
 * @throws {Rejected | Exhausted}
 */
export function strip(source) {
  return run(source, { mode: "strip-only" }).code;
}

/**
 * Rewrites the text, and so also what cannot be erased.
 *
 * @param {string} source
 * @returns {{ code: string, map: string }}
 * @throws {Rejected | Exhausted}
 */
export function transform(source) {
  return run(source, { mode: "transform", sourceMap: true, transform: TRANSFORM });
}

function compile() {
  const module = new WebAssembly.Module(wasmBytes);
  // It has a copy, and nobody else needs one.
  wasmBytes.transfer(0);
  return module;
}

function run(source, options) {
  compiled ??= compile();
  instance ??= instantiate(compiled);
  try {
    return instance.transformSync(source, {
      filename: "program.ts",
      module: true,
      deprecatedTsModuleAsError: false,
      ...options,
    });
  } catch (error) {
    if (typeof error?.startLine === "number") throw new Rejected(error);
    // After a trap the instance's own stack is where it was: nothing works on it any more.
    instance = undefined;
    throw new Exhausted(String(error?.message ?? error));
  } finally {
    if (instance?.__wasm.memory.buffer.byteLength > MAX_MEMORY) instance = undefined;
  }
}
