// An agent loop with the AI SDK: a prompt, a model that writes programs, and the functions that the programs call.
//
// The model is the SDK's mock, so this runs without an account: it writes a program with a mistake, reads what became of
// it, and writes a better one. For a real model, change `model`.
import { createCodeTool } from "@cloudflare/codemode/ai";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { z } from "zod";

// --8<-- [start:tools]
const INVOICES = [
  { customer: "acme", amount: 120, days: 41 },
  { customer: "acme", amount: 830, days: 12 },
  { customer: "globex", amount: 55, days: 90 },
];

// The function that programs call. It runs here, where the data is.
const invoices = tool({
  description: "A customer's unpaid invoices",
  inputSchema: z.object({ customer: z.string() }),
  execute: async ({ customer }) => INVOICES.filter((invoice) => invoice.customer === customer),
});

const codemode = createCodeTool({
  tools: { invoices },
  executor: new DynamicWorkerExecutor({ timeout: 10_000 }),
});
// --8<-- [end:tools]

// --8<-- [start:mock]
const FIRST = `async () => (await codemode.invoice({ customer: "acme" })).length`;
const SECOND = `async () => {
  const overdue = (await codemode.invoices({ customer: "acme" })).filter((invoice) => invoice.days > 30);
  return overdue.reduce((total, invoice) => total + invoice.amount, 0);
}`;

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** The parts of an answer that call the tool with a program. */
const program = (code, toolCallId) => ({
  content: [{ type: "tool-call", toolCallId, toolName: "codemode", input: JSON.stringify({ code }) }],
  finishReason: { unified: "tool-calls", raw: undefined },
  usage,
  warnings: [],
});

// Answers as a model would: it sees the conversation, and sends a program or a text.
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last.role !== "tool") return program(FIRST, "1");
    const { output } = last.content.at(-1);
    if (output.type === "error-text") return program(SECOND, "2");
    return {
      content: [{ type: "text", text: `Acme is overdue with ${output.value.result}.` }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    };
  },
});
// --8<-- [end:mock]

// --8<-- [start:run]
const { text, steps } = await generateText({
  model,
  tools: { codemode },
  stopWhen: stepCountIs(5),
  prompt: "How much is acme overdue by more than 30 days?",
});

for (const part of steps.flatMap((step) => step.content)) {
  if (part.type === "tool-error") console.log("the program failed:", part.error.message);
  if (part.type === "tool-result") console.log("the program returned:", part.output.result);
}
console.log("the model says:", text);
// --8<-- [end:run]
