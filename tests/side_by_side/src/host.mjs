// Upstream's executor as a Worker that workerd runs: one case by POST, the described envelope as the answer.
import { WorkerEntrypoint } from "cloudflare:workers";
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { describeEnvelope } from "./describe.mjs";
import { sites } from "./outbound.mjs";
import { makeTools } from "./tools.mjs";

// How long the host waits for calls that a program made and did not wait for.
const SETTLE_MS = 60;

/** What each run with a network has asked of it. */
const requests = new Map();
let runs = 0;

/** The network of a run: upstream's `globalOutbound`. */
export class Network extends WorkerEntrypoint {
  fetch(request) {
    const { run, site } = this.ctx.props;
    requests.get(run)?.push(`${request.method} ${request.url}`);
    return sites[site](request);
  }
}

async function execute(body, env, ctx) {
  const { code, tools, ns = "codemode", providers = [{ ns, tools }], prelude, modules, bindings, timeout = 3000 } = body;
  const run = ++runs;
  const asked = [];
  requests.set(run, asked);
  const globalOutbound = body.outbound && ctx.exports.Network({ props: { run, site: body.outbound } });
  const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout, modules, bindings, globalOutbound });
  const made = providers.map((provider) => ({ name: provider.ns, ...makeTools(provider.tools) }));
  const resolved = made.map(({ name, fns }) => ({ name, fns, prelude }));
  let outcome;
  try {
    const envelope = await executor.execute(code, resolved);
    outcome = describeEnvelope(envelope);
    envelope[Symbol.dispose]?.(); // stubs in it; left to garbage collection they sometimes take workerd down
    if (body.calls) {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      outcome.calls = [...made.flatMap(({ seen }) => seen), ...asked];
    }
  } catch (error) {
    return { rejected: String(error) };
  } finally {
    requests.delete(run);
  }
  return outcome;
}

export default {
  async fetch(request, env, ctx) {
    return new Response(JSON.stringify(await execute(await request.json(), env, ctx)));
  },
};
