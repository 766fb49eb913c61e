// The peer's host: upstream's executor with its default options, as a Worker that workerd runs.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";

const providers = [{ name: "codemode", fns: { echo: async (value) => value } }];

const TEN_MB = "x".repeat(10_000_000);
providers[0].fns.large = async () => TEN_MB;

// What one run does. The same texts are run through the bridge: see bench/bridge.mjs.
const WORKLOADS = {
  "no tools": (n) => `async () => ${n}`,
  "10 sequential calls": () => "async () => { for (let i = 0; i < 10; i++) await codemode.echo(i); return 10 }",
  "1 000 parallel calls": () =>
    "async () => (await Promise.all(Array.from({ length: 1000 }, (_, i) => codemode.echo(i)))).length",
  "10 MB tool result": () => "async () => (await codemode.large()).length",
  "10 MB result": () => "async () => 'x'.repeat(10_000_000)",
};

async function once(executor, number, workload) {
  const outcome = await executor.execute(WORKLOADS[workload](number), providers);
  if (outcome.error !== undefined) throw new Error(outcome.error);
  if (workload === "no tools" && outcome.result !== number) throw new Error(`answered ${JSON.stringify(outcome.result)}`);
}

// Runs `runs` programs, `concurrency` at a time; those without tools each with a text of its own.
export default {
  async fetch(request, env) {
    const { runs, concurrency, first, workload = "no tools" } = await request.json();
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
    let next = 0;
    const lane = async () => {
      while (next < runs) await once(executor, first + next++, workload);
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
    return new Response("done");
  },
};
