// Through the bridge on loopback, beside upstream in the same run: medians, printed, never asserted.
//
//   make setup && (cd bench/upstream && npm ci && node build.mjs) && node bench/bridge.mjs [rounds]
//
// Both sides are asked in turn, so that what else the machine does falls on both.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DynamicWorkerExecutor } from "../node_bridge/dist/node/index.js";

const rounds = Number(process.argv[2] ?? 7);
const here = new URL("./", import.meta.url);
const TEN_MB = "x".repeat(10_000_000);
const providers = [{ name: "codemode", fns: { echo: async (value) => value, large: async () => TEN_MB } }];

const PROGRAMS = {
  "no tools": (n) => `async () => ${n}`,
  "10 sequential calls": () => "async () => { for (let i = 0; i < 10; i++) await codemode.echo(i); return 10 }",
  "1 000 parallel calls": () =>
    "async () => (await Promise.all(Array.from({ length: 1000 }, (_, i) => codemode.echo(i)))).length",
  "10 MB tool result": () => "async () => (await codemode.large()).length",
  "10 MB result": () => "async () => 'x'.repeat(10_000_000)",
};

// [workload, runs of one measurement, concurrency, what is printed of its time in seconds]
const MEASUREMENTS = [
  ["no tools", 50, 1, (s) => [`${((s * 1000) / 50).toFixed(2)} ms a run`, s]],
  ["10 sequential calls", 20, 1, (s) => [`${((s * 1000) / 20).toFixed(2)} ms a run`, s]],
  ["1 000 parallel calls", 3, 1, (s) => [`${((s * 1000) / 3).toFixed(1)} ms a run`, s]],
  ["10 MB tool result", 3, 1, (s) => [`${((s * 1000) / 3).toFixed(0)} ms a run`, s]],
  ["10 MB result", 3, 1, (s) => [`${((s * 1000) / 3).toFixed(0)} ms a run`, s]],
  ["no tools", 300, 16, (s) => [`${(300 / s).toFixed(0)} runs a second, 16 at a time`, s]],
];

async function daemon() {
  const python = new URL("../.venv/bin/python", here).pathname;
  const token = randomBytes(16).toString("hex");
  const child = spawn(python, ["-m", "codemode_executor", "serve", "--port", "0", "--token-file", "-", "--die-with-parent"], {
    stdio: ["pipe", "pipe", "ignore"], // its log is a line for every run
  });
  child.stdin.write(`${token}\n`);
  const [first] = await once(createInterface({ input: child.stdout }), "line");
  return { url: JSON.parse(first).url, token, stop: () => child.stdin.end() };
}

function bridged(executor) {
  let serial = 0;
  return async (workload, runs, concurrency) => {
    let left = runs;
    const lane = async () => {
      while (left-- > 0) {
        const outcome = await executor.execute(PROGRAMS[workload](serial++), providers);
        if (outcome.error !== undefined) throw new Error(outcome.error);
      }
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: concurrency }, lane));
    return (performance.now() - start) / 1000;
  };
}

async function upstream() {
  const child = spawn("node", ["serve.mjs"], { cwd: new URL("upstream/", here), stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const measure = async (workload, runs, concurrency) => {
    child.stdin.write(`${JSON.stringify({ workload, runs, concurrency })}\n`);
    const { value } = await lines.next();
    const { seconds, error } = JSON.parse(value);
    if (error !== undefined) throw new Error(error);
    return seconds;
  };
  return { measure, stop: () => child.stdin.end() };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

const served = await daemon();
const executor = new DynamicWorkerExecutor({ url: served.url, token: served.token });
const ours = bridged(executor);
const peer = await upstream();
for (const [workload, runs, concurrency, shown] of MEASUREMENTS) {
  const times = { ours: [], theirs: [] };
  for (let round = 0; round <= rounds; round++) {
    const theirs = await peer.measure(workload, runs, concurrency);
    const mine = await ours(workload, runs, concurrency);
    if (round === 0) continue; // everybody is warm after it
    times.ours.push(mine);
    times.theirs.push(theirs);
  }
  const [mine] = shown(median(times.ours));
  const [theirs] = shown(median(times.theirs));
  const ratio = median(times.ours.map((value, at) => value / times.theirs[at]));
  console.log(`${workload.padEnd(22)} bridge ${mine.padEnd(36)} upstream ${theirs.padEnd(36)} time ratio ${ratio.toFixed(2)}`);
}
await executor.close();
peer.stop();
served.stop();
