// The host of upstream's executor, a Worker: its default options, one executor, which loads a new dynamic Worker for
// every run.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { commands, tools } from "./kit.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const gate = { inside: 0, released: true };
const providers = [{ name: "codemode", fns: tools(gate, sleep) }];
let executor;

const known = commands({
  now: () => Date.now(),
  sleep,
  gate,
  async execute(program) {
    const outcome = await executor.execute(program, providers);
    if (outcome.error !== undefined) throw new Error(outcome.error);
    return outcome.result;
  },
});

async function perform({ name, command }) {
  if (name === "state") return { inside: gate.inside };
  if (name === "release") {
    gate.released = true;
    return {};
  }
  return await known[name](command);
}

export default {
  async fetch(request, env) {
    executor ??= new DynamicWorkerExecutor({ loader: env.LOADER });
    try {
      return Response.json(await perform(await request.json()));
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};
