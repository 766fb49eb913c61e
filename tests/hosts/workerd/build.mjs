// Bundles the host. `cloudflare:workers` exists only inside workerd, so it stays an import; the bridge is found as an
// installed package would be, by the conditions of its manifest.
import { createRequire } from "node:module";
import { build } from "esbuild";

const bridge = new URL("../../../node_bridge/", import.meta.url);
const { exports } = createRequire(import.meta.url)(new URL("package.json", bridge).pathname);

await build({
  entryPoints: [new URL("src/host.mjs", import.meta.url).pathname],
  outfile: new URL("dist/host.mjs", import.meta.url).pathname,
  bundle: true,
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  alias: { "codemode-executor-bridge": new URL(exports["."].workerd.default, bridge).pathname },
  external: ["cloudflare:*", "node:*"],
  logLevel: "warning",
});
