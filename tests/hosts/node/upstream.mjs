// Starts the Worker with upstream's executor.
import { createRequire } from "node:module";

// The comparison's workerd and bundler: one installation serves both.
const side = createRequire(new URL("../../side_by_side/package.json", import.meta.url));
const { build } = side("esbuild");
const { Miniflare } = side("miniflare");

/** @returns `run(name)`, what a scenario observes there, and `stop` */
export async function startUpstream() {
  const { outputFiles } = await build({
    entryPoints: [new URL("upstream_worker.mjs", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "warning",
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0].text }],
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["nodejs_compat"],
    workerLoaders: { LOADER: {} },
  });
  const run = async (name) => {
    const response = await miniflare.dispatchFetch("http://host/", { method: "POST", body: name });
    const { seen, threw } = await response.json();
    if (threw !== undefined) throw new Error(`upstream: ${threw}`);
    return seen;
  };
  return { run, stop: () => miniflare.dispose() };
}
