// Serves a Worker of this folder in workerd on the loopback, by its wrangler configuration:
//
//   node serve.mjs before/worker.wrangler.json
//
// What the configuration lists as `vars` is taken from the environment where that has it, and so is CODEMODE_TOKEN, which
// a deployed Worker has as a secret.
import { pathToFileURL } from "node:url";
import { Miniflare } from "miniflare";
import { bundled } from "./build.mjs";

const SECRETS = ["CODEMODE_TOKEN"];

/**
 * @param {string} path of the configuration
 * @param {{ port?: number, environment?: Record<string, string | undefined>, options?: object }} how options of miniflare beside
 * @returns {Promise<{ url: URL, stop: () => Promise<void> }>}
 */
export async function serve(path, { port = 0, environment = {}, options = {} } = {}) {
  const { configuration, script } = await bundled(path);
  const bindings = { ...configuration.vars };
  for (const name of [...Object.keys(bindings), ...SECRETS]) if (environment[name] !== undefined) bindings[name] = environment[name];
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: script }],
    compatibilityDate: configuration.compatibility_date,
    compatibilityFlags: configuration.compatibility_flags,
    workerLoaders: Object.fromEntries((configuration.worker_loaders ?? []).map(({ binding }) => [binding, {}])),
    bindings,
    host: "127.0.0.1",
    port,
    ...options,
  });
  return { url: await miniflare.ready, stop: () => miniflare.dispose() };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [path] = process.argv.slice(2);
  if (path === undefined) throw new Error("which Worker? node serve.mjs before/worker.wrangler.json");
  const { url } = await serve(path, { port: Number(process.env.PORT ?? 8788), environment: process.env });
  console.log(`listening on ${url}`);
}
