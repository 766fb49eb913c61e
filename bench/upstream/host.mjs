// The peer's host: upstream's executor with its default options, as a Worker that workerd runs.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";

const providers = [{ name: "codemode", fns: { echo: async (value) => value } }];

async function once(executor, number) {
  const outcome = await executor.execute(`async () => ${number}`, providers);
  if (outcome.error !== undefined) throw new Error(outcome.error);
  if (outcome.result !== number) throw new Error(`answered ${JSON.stringify(outcome.result)}`);
}

// Runs `runs` programs, `concurrency` at a time, each with a text of its own.
export default {
  async fetch(request, env) {
    const { runs, concurrency, first } = await request.json();
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
    let next = 0;
    const lane = async () => {
      while (next < runs) await once(executor, first + next++);
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
    return new Response("done");
  },
};
