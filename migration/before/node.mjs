// An agent in Node: a question as the argument, the model's answer on standard output, and what was done on the way.
import { VmExecutor } from "../shared/vm_executor.mjs";
import { createCodeTool } from "@cloudflare/codemode/ai";
import { ask } from "../shared/agent.mjs";
import { billing, billingTools } from "../shared/billing.mjs";

const executor = new VmExecutor({ timeout: 30_000 });
const functions = billing();
const codemode = createCodeTool({ tools: billingTools(functions), executor });
const text = await ask(process.argv[2] ?? "How much does acme owe?", { codemode });
console.log(JSON.stringify({ text, reminders: functions.reminders }));
