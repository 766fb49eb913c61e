// The agent of before/worker.mjs on its way: the stage is configuration, so going on and going back are no deployments of code.
import { createCodeTool } from "@cloudflare/codemode/ai";
import { ask } from "../shared/agent.mjs";
import { billing, billingTools } from "../shared/billing.mjs";
import { executorOf } from "./executor.mjs";

export default {
  async fetch(request, env, ctx) {
    const executor = executorOf(env, ctx);
    const functions = billing();
    const codemode = createCodeTool({ tools: billingTools(functions), executor });
    const text = await ask(await request.text(), { codemode });
    return Response.json({ text, reminders: functions.reminders });
  },
};
