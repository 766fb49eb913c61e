// An agent in a Worker: a question by POST, the model's answer back, and what was done on the way.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { createCodeTool } from "@cloudflare/codemode/ai";
import { ask } from "../shared/agent.mjs";
import { billing, billingTools } from "../shared/billing.mjs";

export default {
  async fetch(request, env) {
    const executor = new DynamicWorkerExecutor({
      loader: env.LOADER,
      timeout: 30_000,
    });
    const functions = billing();
    const codemode = createCodeTool({ tools: billingTools(functions), executor });
    const text = await ask(await request.text(), { codemode });
    return Response.json({ text, reminders: functions.reminders });
  },
};
