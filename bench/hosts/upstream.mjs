// Upstream's executor in workerd, started as its users start it outside of the platform: by miniflare. Commands go to
// the worker in `upstream_worker.mjs`, which runs the programs and takes the time.
import { Miniflare } from "miniflare";
import { serve, versionOf } from "./lines.mjs";

const peer = new Miniflare({
  modules: true,
  scriptPath: new URL("dist/upstream_worker.mjs", import.meta.url).pathname,
  compatibilityDate: "2026-01-01",
  compatibilityFlags: ["nodejs_compat"],
  workerLoaders: { LOADER: {} },
});
const url = await peer.ready;

async function ask(name, command = {}) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ name, command }) });
  const text = await response.text();
  if (!response.ok) throw new Error(text.slice(0, 2000));
  return JSON.parse(text);
}

await serve({
  versions: {
    node: process.versions.node,
    "@cloudflare/codemode": await versionOf("@cloudflare/codemode"),
    workerd: await versionOf("workerd"),
  },
  perform: ask,
  state: () => ask("state"),
  release: () => ask("release"),
  close: () => peer.dispose(),
});
