// Bundles the guest's JavaScript into classic scripts that a bare V8 can evaluate.
//
//   node build.mjs            builds every bundle
//   node build.mjs reader     builds the named ones
//   node build.mjs chunks     builds every chunk, a bundle for each directory of src/chunks
//
// Each output is one script whose completion value is the default export of its entry
// module. It declares no global: the isolate that evaluates it holds the value, and a guest
// program finds no name for it.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { readableStreamPlugin } from "./src/chunks/node-stream/package.mjs";
import { amaroPlugin, amaroWasm } from "./src/typescript/amaro.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const assets = path.join(here, "..", "codemode_executor", "worker", "assets");

const chunkSources = path.join(here, "src", "chunks");

/** What chunks.json declares of a chunk: see src/chunks/README.md. */
async function readManifest() {
  const manifest = {};
  for (const entry of await readdir(chunkSources, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    let text;
    try {
      text = await readFile(path.join(chunkSources, entry.name, "chunk.json"), "utf8");
    } catch (error) {
      if (error.code === "ENOENT") continue;
      throw error;
    }
    const { globals = [], names = [], also = {}, modules = [], requires = [] } = JSON.parse(text);
    manifest[entry.name] = { globals, names, also, modules, requires };
  }
  for (const [name, { requires }] of Object.entries(manifest)) {
    const missing = requires.filter((other) => !Object.hasOwn(manifest, other));
    if (missing.length === 0) continue;
    console.error(`chunk "${name}" requires ${missing.join(", ")}, which do not exist`);
    process.exitCode = 1;
    manifest[name].requires = requires.filter((other) => !missing.includes(other));
  }
  return Object.fromEntries(Object.entries(manifest).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const manifest = await readManifest();
const chunkNames = Object.keys(manifest);

/** @type {Record<string, { entry: string, minify?: boolean, target?: string, wrap?: [string, string] }>} */
const BUNDLES = {
  // Every isolate pays for every byte of the harness. Its names are nobody's.
  harness: {
    entry: "src/harness/index.js",
    minify: true,
    minifyNames: true,
    wrap: ['(() => { "use strict";', "return bundle.default; })()\n//# sourceURL=platform:core.js"],
  },
  rehearsal: { entry: "src/rehearsal/index.js", minify: true },
  // The reader is mostly acorn, and every worker pays for parsing it once.
  reader: { entry: "src/reader/index.js", minify: true },
  typescript: { entry: "src/typescript/index.js", minify: true },
};
for (const name of chunkNames) {
  BUNDLES[`chunks/${name}`] = {
    entry: `src/chunks/${name}/index.js`,
    minify: true,
    // `__chunk__` is the harness's: it calls what it is given with the realm.
    wrap: [`__chunk__(${JSON.stringify(name)},(()=>{"use strict";`, "return bundle.default})());"],
  };
}

const manifestPlugin = {
  name: "chunk-manifest",
  setup(build) {
    build.onResolve({ filter: /^chunk-manifest$/ }, () => ({ path: "chunk-manifest", namespace: "manifest" }));
    build.onLoad({ filter: /.*/, namespace: "manifest" }, () => ({
      contents: `export default ${JSON.stringify(manifest)}`,
      loader: "js",
    }));
  },
};

// Read again by hatch_build.py, which refuses to package a bundle whose sources have changed.
async function sourceDigest() {
  const files = ["build.mjs", "package.json", "package-lock.json"];
  for (const entry of await readdir(path.join(here, "src"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const absolute = path.join(entry.parentPath ?? entry.path, entry.name);
    files.push(path.relative(here, absolute).split(path.sep).join("/"));
  }
  files.sort();
  const hash = createHash("sha256");
  for (const file of files) {
    const content = await readFile(path.join(here, file));
    hash.update(`${file}\0${content.length}\0`);
    hash.update(content);
  }
  return hash.digest("hex");
}

// The bundled packages' licences ask that their text travels with every copy.
async function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  let text = "";
  for (const name of [...packages].sort()) {
    const root = path.join(here, "node_modules", name);
    const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8"));
    const licence = await licenceOf(root);
    text += `/*!\n${name} ${version}\n\n${licence.replaceAll("*/", "* /").trim()}\n*/\n`;
  }
  return text;
}

// A package may have a licence of its own and one of what it was built from.
async function licenceOf(root) {
  const texts = [];
  for (const file of ["LICENSE", "LICENSE.md", "dist/LICENSE"]) {
    try {
      texts.push(await readFile(path.join(root, file), "utf8"));
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  if (texts.length === 0) throw new Error(`${root} has no licence`);
  return texts.join("\n\n");
}

async function build(name, digest) {
  const { entry, minify = false, minifyNames = false, wrap = ['(() => { "use strict";', "return bundle.default; })()"] } = BUNDLES[name];
  const result = await esbuild.build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: "iife",
    globalName: "bundle",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2024",
    charset: "ascii",
    legalComments: "none",
    minifyWhitespace: minify,
    minifyIdentifiers: minifyNames,
    minifySyntax: minifyNames,
    // mini-racer's errors quote the whole line.
    lineLimit: minify ? 500 : 0,
    plugins: [manifestPlugin, amaroPlugin, readableStreamPlugin],
    // The outer function keeps esbuild's `var bundle` from becoming a global.
    banner: { js: wrap[0] },
    footer: { js: wrap[1] },
  });
  const header = `// ${name}.js guest-sources sha256:${digest}\n`;
  await emit(`${name}.js`, header + (await licences(result.metafile)) + result.outputFiles[0].text);
  if (name === "typescript") await emit("typescript.wasm", await amaroWasm());
}

async function emit(name, content) {
  const target = path.join(assets, name);
  await mkdir(path.dirname(target), { recursive: true });
  // A worker that starts during a build must see a whole file, the old one or the new one.
  const partial = `${target}.${process.pid}.tmp`;
  await writeFile(partial, content);
  await rename(partial, target);
  console.log(`${path.relative(process.cwd(), target)}  ${(content.length / 1024).toFixed(1)} KiB`);
}

const asked = process.argv.slice(2).flatMap((name) => {
  if (name === "chunks") return chunkNames.map((chunk) => `chunks/${chunk}`);
  return Object.hasOwn(manifest, name) ? [`chunks/${name}`] : [name];
});
for (const name of asked) {
  if (!Object.hasOwn(BUNDLES, name)) {
    console.error(`unknown bundle "${name}": the bundles are ${Object.keys(BUNDLES).join(", ")}`);
    process.exit(2);
  }
}
const digest = await sourceDigest();
let failed = false;
for (const name of asked.length > 0 ? asked : Object.keys(BUNDLES)) {
  try {
    await build(name, digest);
  } catch (error) {
    failed = true;
    console.error(`cannot build ${name}.js: ${error.message}`);
  }
}
if (asked.length === 0) {
  const old = await readdir(path.join(assets, "chunks")).catch(() => []);
  for (const file of old) {
    if (!Object.hasOwn(manifest, path.basename(file, ".js"))) await rm(path.join(assets, "chunks", file));
  }
}
if (failed) process.exitCode = 1;
