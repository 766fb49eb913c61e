// Hosts that give upstream's code tool to the AI SDK. A mock model plays the model: it calls the tool, then it answers.

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** @param {{ ai, MockModel, upstream, z }} libraries of one major version */
export function aiSdkScenarios({ ai, MockModel, upstream, z }) {
  const { createCodeTool, aiTools, toolSetConnector } = upstream;

  const turn = (content, unified) => ({ content, finishReason: { unified, raw: undefined }, usage: USAGE, warnings: [] });
  const callsTool = (code, id = "call-1", toolName = "codemode") =>
    turn([{ type: "tool-call", toolCallId: id, toolName, input: JSON.stringify({ code }) }], "tool-calls");
  const answers = (text) => turn([{ type: "text", text }], "stop");

  /** Tools as a host of the AI SDK has them. `seen` is what reached them. */
  function someTools() {
    const seen = [];
    const tools = {
      weather: ai.tool({
        description: "The weather in a city",
        inputSchema: z.object({ city: z.string().describe("Its name"), days: z.number().int().min(1).default(1) }),
        outputSchema: z.object({ city: z.string(), degrees: z.number() }),
        execute: async (input) => {
          seen.push(["weather", input]);
          return { city: input.city, degrees: input.city.length * input.days };
        },
      }),
      "list-files": ai.tool({
        description: "Files below a path",
        inputSchema: ai.jsonSchema({ type: "object", properties: { path: { type: "string" } }, required: ["path"] }),
        execute: async ({ path }) => [`${path}/a`, `${path}/b`],
      }),
      picture: ai.tool({
        description: "Bytes",
        inputSchema: z.object({}),
        execute: async () => new Uint8Array([0, 1, 254, 255]),
      }),
      fails: ai.tool({
        description: "Never works",
        inputSchema: z.object({}),
        execute: async () => {
          throw new RangeError("the database is on fire");
        },
      }),
      remove: ai.tool({
        description: "Wants to be asked",
        inputSchema: z.object({}),
        needsApproval: true,
        execute: async () => seen.push(["remove"]),
      }),
    };
    return { tools, seen };
  }

  /** One conversation; what the model was offered, what it was told, and what the host has in the end. */
  async function converse(codemode, turns, options = {}) {
    const model = new MockModel({ doGenerate: turns });
    const outcome = await ai.generateText({
      model,
      tools: { codemode },
      prompt: "Do it.",
      stopWhen: ai.stepCountIs(5),
      ...options,
    });
    const told = model.doGenerateCalls.at(-1).prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    return {
      offered: model.doGenerateCalls[0].tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
      told: told.map(({ type, toolCallId, output }) => ({ type, toolCallId, output })),
      steps: outcome.steps.map(({ content }) => content.map(part)),
      text: outcome.text,
      turns: model.doGenerateCalls.length,
    };
  }

  const part = ({ type, text, toolCallId, toolName, input, output, error }) =>
    JSON.parse(JSON.stringify({ type, text, toolCallId, toolName, input, output, error: error && `${error.name}: ${error.message}` }));

  return {
    async conversation(executor) {
      const { tools, seen } = someTools();
      const code = `async () => {
        const cities = await Promise.all(["Oslo", "Lisbon"].map((city) => codemode.weather({ city })));
        const files = await codemode.list_files({ path: "/tmp" });
        const bytes = await codemode.picture({});
        console.log("asked", cities.length);
        console.warn("warm");
        return { cities, files, bytes: [bytes.constructor.name, ...bytes] };
      }`;
      const outcome = await converse(createCodeTool({ tools, executor }), [callsTool(code), answers("Lisbon is warmer.")]);
      // Parallel calls may arrive in either order.
      return { ...outcome, cities: seen.map(([, { city }]) => city).sort() };
    },

    async "several programs in one turn"(executor) {
      const { tools } = someTools();
      const both = [
        ...callsTool("async () => (await codemode.weather({ city: 'A' })).degrees", "call-1").content,
        ...callsTool("async () => (await codemode.weather({ city: 'BB', days: 3 })).degrees", "call-2").content,
      ];
      return converse(createCodeTool({ tools, executor }), [turn(both, "tool-calls"), answers("done")]);
    },

    async errors(executor) {
      const { tools, seen } = someTools();
      const codemode = createCodeTool({ tools, executor });
      const programs = {
        thrown: "async () => { console.log('before'); throw new TypeError('on purpose'); }",
        "of a tool": "async () => await codemode.fails({})",
        caught: "async () => { try { await codemode.fails({}); } catch (e) { return [e instanceof Error, e.message]; } }",
        "of a schema": "async () => { try { await codemode.weather({ city: 5 }); } catch (e) { return e.message; } }",
        "of no arguments": "async () => { try { await codemode.weather(); } catch (e) { return e.message; } }",
        "of the output, undefined": "async () => {}",
        "tool that needs approval": "async () => await codemode.remove({})",
        "tool that is not there": "async () => await codemode.nothing({})",
        "name that is not there": "async () => nowhere.tool({})",
      };
      const outcomes = {};
      for (const [name, code] of Object.entries(programs)) {
        const { told, steps, text } = await converse(codemode, [callsTool(code), answers("sorry")]);
        outcomes[name] = { told, steps, text };
      }
      return { outcomes, seen };
    },

    async "what models send"(executor) {
      const { tools } = someTools();
      const codemode = createCodeTool({ tools, executor });
      const programs = [
        "```js\nasync () => (await codemode.weather({ city: 'Rome' })).degrees\n```",
        "const r = await codemode.weather({ city: 'Rome' }); return r.degrees",
        "async function main() { return (await codemode.weather({ city: 'Rome' })).degrees }",
        "(await codemode.weather({ city: 'Rome' })).degrees",
      ];
      const results = [];
      for (const code of programs) {
        const { steps } = await converse(codemode, [callsTool(code), answers("so")]);
        results.push(steps[0].find(({ type }) => type !== "tool-call").output);
      }
      return results;
    },

    async "several namespaces"(executor) {
      const { tools } = someTools();
      const db = { query: { description: "Asks the database", execute: async (args) => ({ rows: [args] }) } };
      const codemode = createCodeTool({
        tools: [aiTools(tools), { name: "db", tools: db }, { name: "typed", tools: db, types: "declare const typed: { own: true };" }],
        executor,
        description: "Write code.\n\n{{types}}",
      });
      const code = "async () => [await db.query({ n: 1 }), await typed.query('x'), (await codemode.weather({ city: 'Bern' })).degrees]";
      return converse(codemode, [callsTool(code), answers("done")]);
    },

    /** The code tool itself waits for somebody: the program does not run until it has been approved. */
    async approval(executor) {
      const { tools, seen } = someTools();
      const plain = createCodeTool({ tools, executor });
      const code = "async () => (await codemode.weather({ city: 'Oslo' })).degrees";
      // Both majors take it from the tool, the newer one from the call as well.
      const asked = [[{ ...plain, needsApproval: true }, {}]];
      if ("isStepCount" in ai) asked.push([plain, { toolApproval: { codemode: "user-approval" } }]);
      const outcomes = [];
      for (const [codemode, options] of asked) {
        for (const approved of [true, false]) {
          const model = new MockModel({ doGenerate: [callsTool(code)] });
          const first = await ai.generateText({ model, tools: { codemode }, prompt: "Do it.", ...options });
          const requests = first.content.filter(({ type }) => type === "tool-approval-request");
          const ranBefore = seen.length;
          const responses = requests.map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved }));
          const messages = [{ role: "user", content: "Do it." }, ...first.response.messages, { role: "tool", content: responses }];
          const { told, text } = await converse(codemode, [answers("done")], { prompt: undefined, messages, ...options });
          outcomes.push({ approved, requests: requests.map(({ toolCall }) => part(toolCall)), ranBefore, ran: seen.splice(0).length, told, text });
        }
      }
      return outcomes;
    },

    async "agent loop"(executor) {
      const { tools, seen } = someTools();
      const turns = [
        callsTool("async () => (await codemode.weather({ city: 'Oslo' })).degrees", "call-1"),
        callsTool("async () => { throw new Error('a slip'); }", "call-2"),
        callsTool("async () => (await codemode.weather({ city: 'Bergen', days: 2 })).degrees", "call-3"),
        answers("Bergen."),
      ];
      const model = new MockModel({ doGenerate: turns });
      const agent = new ai.ToolLoopAgent({ model, tools: { codemode: createCodeTool({ tools, executor }) } });
      const { text, steps } = await agent.generate({ prompt: "Compare." });
      return { text, steps: steps.map(({ content }) => content.map(part)), seen };
    },

    async streaming(executor) {
      const { tools } = someTools();
      const chunks = ({ content, finishReason, usage }) => ai.simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          ...content.flatMap((item) => item.type === "tool-call"
            ? [item]
            : [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: item.text }, { type: "text-end", id: "t" }]),
          { type: "finish", finishReason, usage },
        ],
      });
      const model = new MockModel({
        doStream: [
          { stream: chunks(callsTool("async () => (await codemode.weather({ city: 'Oslo' })).degrees")) },
          { stream: chunks(answers("Four.")) },
        ],
      });
      const outcome = ai.streamText({
        model,
        tools: { codemode: createCodeTool({ tools, executor }) },
        prompt: "Do it.",
        stopWhen: ai.stepCountIs(5),
      });
      const parts = [];
      for await (const item of outcome.fullStream) {
        if (["tool-call", "tool-result", "tool-error", "text-delta"].includes(item.type)) parts.push(part(item));
      }
      return { parts, text: await outcome.text };
    },

    async timeout(_, make) {
      const { tools } = someTools();
      const wait = { description: "Waits", execute: () => new Promise(() => {}) };
      const codemode = createCodeTool({ tools: [aiTools(tools), { name: "slow", tools: { wait } }], executor: make({ timeout: 300 }) });
      const code = "async () => { console.log('waiting'); return await slow.wait({}); }";
      const { told, steps, text } = await converse(codemode, [callsTool(code), answers("too slow")]);
      return { told, steps, text };
    },

    /** A tool whose own work is a program of its own. */
    async nesting(executor) {
      const { tools, seen } = someTools();
      const inner = createCodeTool({ tools, executor });
      const outer = {
        run: ai.tool({
          description: "Runs a program",
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => inner.execute({ code: `async () => (await codemode.weather({ city: ${JSON.stringify(city)} })).degrees` }),
        }),
      };
      const code = "async () => { const all = []; for (const city of ['Ulm', 'Kiel']) all.push((await codemode.run({ city })).result); return all; }";
      return { ...(await converse(createCodeTool({ tools: outer, executor }), [callsTool(code), answers("done")])), seen };
    },

    async "many at once"(executor) {
      const one = async (n) => {
        const { tools, seen } = someTools();
        const code = `async () => { globalThis.n = (globalThis.n ?? 0) + ${n}; await codemode.weather({ city: "${"x".repeat(n + 1)}" }); return globalThis.n; }`;
        const { steps } = await converse(createCodeTool({ tools, executor }), [callsTool(code), answers("done")]);
        return [steps[0].at(-1).output, seen];
      };
      return Promise.all(Array.from({ length: 12 }, (_, n) => one(n)));
    },

    /** The same tools as a connector: described by upstream, called through the executor's option `connectors`. */
    async "tool set as connector"(executor) {
      const { tools, seen } = someTools();
      const connector = toolSetConnector({}, { tools, name: "kit", instructions: "Mind the gap." });
      const described = await connector.describe();
      const binding = { callTool: (method, args) => connector.executeTool(method, args, { executionId: "e", seq: 0 }) };
      const code = `async () => {
        const bytes = await kit.picture({});
        const failed = await kit.fails({}).catch((error) => error.message);
        return [await kit.weather({ city: "Oslo", days: 2 }), await kit.list_files({ path: "x" }), bytes, failed];
      }`;
      const { result, error, logs } = await executor.execute(code, [], { connectors: [{ name: "kit", binding }] });
      const shown = result?.map((value) => (value instanceof Uint8Array ? { bytes: [...value] } : value));
      return { described, types: await connector.getTypeScriptTypes(), result: shown, error, logs, seen };
    },
  };
}
