// Measures on request, one line of JSON each way: {"runs", "concurrency"} -> {"seconds"} or {"error"}.
// The time is taken here: inside workerd the clock stands still while code runs.
import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";

const peer = new Miniflare({
  modules: true,
  scriptPath: new URL("dist/host.mjs", import.meta.url).pathname,
  compatibilityDate: "2026-01-01",
  compatibilityFlags: ["nodejs_compat"],
  workerLoaders: { LOADER: {} },
});

const url = await peer.ready;
console.log(JSON.stringify({ ready: true }));
let first = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { runs, concurrency, workload } = JSON.parse(line);
  const body = JSON.stringify({ runs, concurrency, workload, first });
  first += runs;
  const start = performance.now();
  const response = await fetch(url, { method: "POST", body });
  const text = await response.text();
  const seconds = (performance.now() - start) / 1000;
  console.log(JSON.stringify(response.ok ? { seconds } : { error: text.slice(0, 2000) }));
}
await peer.dispose();
