// The same scenarios where upstream's hosts live: in workerd, on upstream's own executor.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { SCENARIOS } from "./scenarios/index.mjs";

export default {
  async fetch(request, env) {
    const scenario = SCENARIOS.get(await request.text());
    const make = (options) => new DynamicWorkerExecutor({ loader: env.LOADER, ...options });
    try {
      return Response.json({ seen: await scenario(make({}), make) });
    } catch (error) {
      return Response.json({ threw: `${error.name}: ${error.message}\n${error.stack}` });
    }
  },
};
