// Upstream's executor as a Worker that workerd runs: one case by POST, the described envelope as the answer.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { describeEnvelope } from "./describe.mjs";
import { makeTools } from "./tools.mjs";

// How long the host waits for calls that a program made and did not wait for.
const SETTLE_MS = 60;

async function execute(body, env) {
  const { code, tools, ns = "codemode", providers = [{ ns, tools }], prelude, modules, bindings, timeout = 3000 } = body;
  const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout, modules, bindings });
  const made = providers.map((provider) => ({ name: provider.ns, ...makeTools(provider.tools) }));
  const resolved = made.map(({ name, fns }) => ({ name, fns, prelude }));
  let outcome;
  try {
    const envelope = await executor.execute(code, resolved);
    outcome = describeEnvelope(envelope);
    envelope[Symbol.dispose]?.(); // stubs in it; left to garbage collection they sometimes take workerd down
  } catch (error) {
    return { rejected: String(error) };
  }
  if (body.calls) {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    outcome.calls = made.flatMap(({ seen }) => seen);
  }
  return outcome;
}

export default {
  async fetch(request, env) {
    return new Response(JSON.stringify(await execute(await request.json(), env)));
  },
};
