// A host that gives upstream's code tool to TanStack AI's `chat`. A mock adapter plays the model.
import { createCodeTool, tanstackTools } from "@cloudflare/codemode/tanstack-ai";
import { EventType, chat, toolDefinition } from "@tanstack/ai";
import { z } from "zod";

/** A model that says what it is told to: each turn a text, or the program of one call of the code tool. */
class MockAdapter {
  kind = "text";
  name = "mock";
  model = "mock-model";
  asked = [];
  #turns;

  constructor(turns) {
    this.#turns = turns;
  }

  async *chatStream({ messages, tools, threadId, runId }) {
    const { text, code } = this.#turns[this.asked.length];
    this.asked.push({ messages: JSON.parse(JSON.stringify(messages)), tools });
    const id = `${this.asked.length}`;
    yield { type: EventType.RUN_STARTED, threadId, runId };
    if (code !== undefined) {
      const call = { toolCallId: `call-${id}`, toolCallName: "codemode_execute", toolName: "codemode_execute" };
      yield { type: EventType.TOOL_CALL_START, index: 0, ...call };
      yield { type: EventType.TOOL_CALL_ARGS, toolCallId: call.toolCallId, delta: JSON.stringify({ code }) };
      yield { type: EventType.TOOL_CALL_END, ...call, input: { code } };
    } else {
      yield { type: EventType.TEXT_MESSAGE_START, messageId: `message-${id}`, role: "assistant" };
      yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: `message-${id}`, delta: text };
      yield { type: EventType.TEXT_MESSAGE_END, messageId: `message-${id}` };
    }
    yield { type: EventType.RUN_FINISHED, threadId, runId, finishReason: code === undefined ? "stop" : "tool_calls" };
  }

  async structuredOutput() {
    throw new Error("this model answers in words alone");
  }
}

function someTools() {
  const seen = [];
  const stock = toolDefinition({
    name: "stock-of",
    description: "How many there are",
    inputSchema: z.object({ item: z.string().meta({ description: "Its name" }) }),
    outputSchema: z.object({ item: z.string(), count: z.number() }),
  }).server(async ({ item }) => {
    seen.push(item);
    return { item, count: item.length };
  });
  const broken = toolDefinition({ name: "broken", description: "Never works", inputSchema: z.object({}) }).server(async () => {
    throw new Error("no such warehouse");
  });
  const order = toolDefinition({ name: "order", description: "Wants to be asked", inputSchema: z.object({}), needsApproval: true })
    .server(async () => seen.push("order"));
  return { tools: [stock, broken, order], seen };
}

async function converse(tool, code) {
  const adapter = new MockAdapter([{ code }, { text: "There you are." }]);
  const events = [];
  for await (const event of chat({ adapter, messages: [{ role: "user", content: "Do it." }], tools: [tool], debug: false })) events.push(event);
  const told = adapter.asked[1].messages.filter(({ role }) => role === "tool");
  return {
    offered: adapter.asked[0].tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    told: told.map(({ toolCallId, content }) => ({ toolCallId, content: parsed(content) })),
    events: events.filter(({ type }) => type === "TOOL_CALL_RESULT").map(({ toolCallId, content }) => ({ toolCallId, content: parsed(content) })),
    text: events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join(""),
  };
}

function parsed(content) {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

export const tanstackScenarios = {
  async conversation(executor) {
    const { tools, seen } = someTools();
    const code = `async () => {
      const counts = [];
      for (const item of ["bolt", "washer"]) counts.push((await codemode.stock_of({ item })).count);
      console.log("counted");
      return { counts, sum: counts.reduce((a, b) => a + b, 0) };
    }`;
    return { ...(await converse(createCodeTool({ tools: [tanstackTools(tools)], executor }), code)), seen };
  },

  async "several namespaces"(executor) {
    const { tools, seen } = someTools();
    const notes = { add: { description: "Keeps a note", execute: async ({ text }) => `kept ${text}` } };
    const tool = createCodeTool({ tools: [tanstackTools(tools, "shop"), { name: "notes", tools: notes }], executor });
    const code = "async () => [await shop.stock_of({ item: 'nut' }), await notes.add({ text: 'n' })]";
    return { ...(await converse(tool, code)), seen };
  },

  async errors(executor) {
    const { tools, seen } = someTools();
    const tool = createCodeTool({ tools: [tanstackTools(tools)], executor });
    const programs = [
      "async () => { console.log('before'); throw new Error('on purpose'); }",
      "async () => await codemode.broken({})",
      "async () => { try { await codemode.broken({}); } catch (error) { return error.message; } }",
      "async () => await codemode.order({})",
    ];
    const outcomes = [];
    for (const code of programs) {
      const { told, text } = await converse(tool, code);
      outcomes.push({ told, text });
    }
    return { outcomes, seen };
  },
};
