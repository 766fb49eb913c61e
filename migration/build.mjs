// A Worker as one file, as its deployment makes it.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";

/**
 * Bundles the Worker of a configuration.
 *
 * @param {string} path of the wrangler configuration
 * @returns {Promise<{ configuration: object, script: string }>}
 */
export async function bundled(path) {
  const configuration = JSON.parse(readFileSync(path, "utf8"));
  const { outputFiles } = await build({
    entryPoints: [join(dirname(path), configuration.main)],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "warning",
  });
  return { configuration, script: outputFiles[0].text };
}
