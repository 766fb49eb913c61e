// A Worker that runs programs through the bridge: what a host inside workerd looks like. One request is one test's step.
import { RpcTarget } from "cloudflare:workers";
import { DynamicWorkerExecutor, ExecutorError } from "codemode-executor-bridge";

const TOOLS = {
  add: async ({ a, b }) => a + b,
  echo: async (value) => value,
  never: () => new Promise(() => {}),
};

class Store extends RpcTarget {
  secret = "a property is no method";
  async get(key) {
    return new Map([[key, new Date(0)]]);
  }
}

const steps = {
  async tool(executor, code) {
    return executor.execute(code, [{ name: "codemode", fns: TOOLS }]);
  },

  async connector(executor, code) {
    const binding = { callTool: async (method, args) => ({ method, args, set: new Set([1n]) }) };
    return executor.execute(code, [], { connectors: [{ name: "conn", binding }] });
  },

  /** A tool that runs a program, as upstream's `codemode.run` does. */
  async nested(executor, code) {
    const inner = async (text) => (await executor.execute(text, [{ name: "codemode", fns: TOOLS }])).result;
    return executor.execute(code, [{ name: "codemode", fns: { ...TOOLS, inner } }]);
  },

  async aborted(executor, code) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 200);
    return executor.execute(code, [{ name: "codemode", fns: TOOLS }], { signal: controller.signal });
  },
};

export default {
  async fetch(request, env) {
    const { step, code, options, site } = await request.json();
    const asked = [];
    const globalOutbound = site && {
      async fetch(made) {
        asked.push([made.method, made.url, made.headers.get("x-in"), await made.text()]);
        return new Response("out", { status: 202, headers: { "x-out": "é€" } });
      },
    };
    try {
      const bindings = { store: new Store(), plain: { n: 1 } };
      const executor = new DynamicWorkerExecutor({ loader: {}, url: env.URL, token: env.TOKEN, bindings, globalOutbound, ...options });
      const { result, error, logs } = await steps[step](executor, code);
      return Response.json({ result: String(result && JSON.stringify(result, replacer)), error, logs, ...(site && { asked }) });
    } catch (error) {
      return Response.json({ rejected: error instanceof ExecutorError ? error.code : "other", message: error.message });
    }
  },
};

function replacer(key, value) {
  if (value instanceof Map) return { map: [...value] };
  if (value instanceof Set) return { set: [...value].map(String) };
  return value;
}
