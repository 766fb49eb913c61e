// A Worker in which upstream's real executor answers and ours, through the bridge, runs in its shadow. One request is one
// program; the answer says what the host saw.
import { DynamicWorkerExecutor as LoaderExecutor } from "@cloudflare/codemode";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { ShadowExecutor } from "codemode-executor-bridge/shadow";
import { describe, describeEnvelope } from "../side_by_side/src/describe.mjs";
import { makeTools } from "../side_by_side/src/tools.mjs";

/** What was reported in requests whose answer did not wait. */
const later = [];

export default {
  async fetch(request, env, ctx) {
    if (request.method === "GET") return Response.json(later);
    const { code, providers = [{ ns: "codemode" }], prelude, modules, bindings, timeout = 3000, ours = {}, wait = true, connector = false } = await request.json();
    const reports = [];
    const faults = [];
    const executor = new ShadowExecutor({
      primary: new LoaderExecutor({ loader: env.LOADER, timeout, modules, bindings }),
      shadow: new DynamicWorkerExecutor({ url: env.CODEMODE_URL, token: env.CODEMODE_TOKEN, timeout, modules, bindings, ...ours }),
      tools: "replay",
      report: (it) => (wait ? reports : later).push(wait ? it : it.differs),
      onFault: ({ reason }) => faults.push(String(reason?.code ?? reason)),
      keepAlive: (work) => ctx.waitUntil(work),
    });
    const made = providers.map(({ ns, tools }) => ({ name: ns, prelude, ...makeTools(tools) }));
    const asked = [];
    const binding = { callTool: async (method, args) => (asked.push(method), new Map([[method, args]])) };
    const options = connector ? { connectors: [{ name: "conn", binding }] } : undefined;
    let answer;
    try {
      const envelope = await executor.execute(code, made.map(({ name, fns }) => ({ name, fns, prelude })), options);
      answer = describeEnvelope(envelope);
      envelope[Symbol.dispose]?.();
    } catch (error) {
      answer = { rejected: String(error) };
    }
    if (!wait) return Response.json({ answer });
    await executor.idle();
    return Response.json({
      answer,
      calls: [...made.flatMap(({ seen }) => seen), ...asked],
      reports: reports.map((it) => ({ ...it, primary: shown(it.primary), shadow: shown(it.shadow) })),
      faults,
      counts: executor.counts,
    });
  },
};

const shown = ({ envelope, ...more }) => ({ ...more, envelope: describe(envelope) });
