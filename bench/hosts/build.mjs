// Bundles upstream's host. `cloudflare:workers` exists only inside workerd, so it stays an import.
import { build } from "esbuild";

await build({
  entryPoints: [new URL("upstream_worker.mjs", import.meta.url).pathname],
  outfile: new URL("dist/upstream_worker.mjs", import.meta.url).pathname,
  bundle: true,
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  external: ["cloudflare:*", "node:*"],
  logLevel: "warning",
});
