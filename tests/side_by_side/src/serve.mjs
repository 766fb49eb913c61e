// Serves the bundled host over HTTP on loopback, until it is killed. Writes its address to the descriptor that is its
// argument: what a program prints to its console goes to the standard ones.
import { writeSync } from "node:fs";
import { Miniflare } from "miniflare";

const miniflare = new Miniflare({
  modules: true,
  scriptPath: new URL("../dist/host.mjs", import.meta.url).pathname,
  compatibilityDate: "2026-01-01",
  compatibilityFlags: ["nodejs_compat"],
  workerLoaders: { LOADER: {} },
  host: "127.0.0.1",
});
const url = await miniflare.ready;
writeSync(Number(process.argv[2]), `${url.port}\n`);
