// The same host on this project's executor: the network is closed unless it is opened.
import { DynamicWorkerExecutor } from "codemode-executor-bridge";

export default {
  async fetch(request, env) {
    const executor = new DynamicWorkerExecutor({
      url: env.CODEMODE_URL,
      token: env.CODEMODE_TOKEN,
      globalOutbound: env.CODEMODE_NETWORK === "open" ? (outgoing) => fetch(outgoing) : null,
    });
    const { result, error } = await executor.execute(await request.text(), []);
    return Response.json(error === undefined ? { result } : { error });
  },
};
