// Runs the bundled host in workerd, and a daemon for the side that is ours. One line of JSON on standard input is a
// question, `{"id", "side", "case"}`, one on standard output its answer. Ends with its standard input.
import { createInterface } from "node:readline";
import { Miniflare } from "miniflare";
import { startDaemon } from "../../../bridge/daemon.mjs";

const daemon = await startDaemon();
const miniflare = new Miniflare({
  modules: true,
  scriptPath: new URL("../dist/host.mjs", import.meta.url).pathname,
  compatibilityDate: "2026-01-01",
  // `experimental` is what gives a Durable Object its facets here.
  compatibilityFlags: ["nodejs_compat", "experimental"],
  bindings: { URL: daemon.url, TOKEN: daemon.token },
  workerLoaders: { LOADER: {} },
  durableObjects: { AGENT: { className: "Agent", useSQLite: true } },
  // What the host prints must not stand between the answers.
  handleRuntimeStdio(stdout, stderr) {
    stdout.pipe(process.stderr);
    stderr.pipe(process.stderr);
  },
});
await miniflare.ready;

async function answer({ id, ...question }) {
  let reply;
  try {
    const response = await miniflare.dispatchFetch("http://host/", { method: "POST", body: JSON.stringify(question) });
    const text = await response.text();
    reply = response.ok ? { value: JSON.parse(text) } : { failure: `status ${response.status}: ${text.slice(0, 2000)}` };
  } catch (error) {
    reply = { failure: String(error) };
  }
  process.stdout.write(`${JSON.stringify({ id, ...reply })}\n`);
}

const open = new Set();
for await (const line of createInterface({ input: process.stdin })) {
  const answering = answer(JSON.parse(line)).finally(() => open.delete(answering));
  open.add(answering);
}
await Promise.all(open);
await miniflare.dispose();
await daemon.stop();
