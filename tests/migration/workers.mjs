// What the tests here share: the migration folder's own ways to serve a Worker, and its packages for files of this folder.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Miniflare } from "../../migration/node_modules/miniflare/dist/src/index.js";

export const MIGRATION = fileURLToPath(new URL("../../migration/", import.meta.url));
const { build } = createRequire(`${MIGRATION}package.json`)("esbuild");

/** Serves a Worker of this folder, with a loader. */
export async function serveHere(file, bindings) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:*", "node:*"],
    nodePaths: [`${MIGRATION}node_modules`],
    logLevel: "warning",
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0].text }],
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["nodejs_compat"],
    workerLoaders: { LOADER: {} },
    bindings,
    host: "127.0.0.1",
  });
  return { url: await miniflare.ready, stop: () => miniflare.dispose() };
}
