// Hosts on upstream's root: providers, and its connectors, outside the Durable Object in which `createCodemodeRuntime` lives.
import { CodemodeConnector, McpConnector, OpenApiConnector, resolveProvider, runCode, truncateResult } from "@cloudflare/codemode";
import { clientOf, toolServer } from "./mcp.mjs";
import { shown } from "./shown.mjs";

/** As the runtime of upstream gives a connector to an executor. */
function bindingOf(connector) {
  const callTool = async (method, args) => {
    try {
      return await connector.executeTool(method, args, { executionId: "execution", seq: 0 });
    } catch (error) {
      // Its own form for an error that is to be thrown in the program.
      return { __codemode_control__: "error", message: error.message };
    }
  };
  return { name: connector.name(), binding: { callTool } };
}

class Notes extends CodemodeConnector {
  kept = new Map();

  name() {
    return "notes";
  }

  instructions() {
    return "Notes are short.";
  }

  tools() {
    return {
      keep: {
        description: "Keeps a note",
        inputSchema: { type: "object", properties: { id: { type: "string" }, text: { type: "string" } }, required: ["id", "text"] },
        execute: async ({ id, text }) => {
          this.kept.set(id, text);
          return { id, size: text.length };
        },
        revert: async ({ id }) => this.kept.delete(id),
      },
      all: { description: "Every note", execute: async () => this.kept },
      values: {
        description: "What structured clone carries",
        execute: async (given) => ({ given, date: new Date(1e12), set: new Set([1n, -0]), bytes: new Uint16Array([1, 65535]), gone: undefined, odd: [NaN, , "\ud800"] }),
      },
      fail: {
        description: "Never works",
        execute: async () => {
          throw new Error("the pencil broke");
        },
      },
      wipe: { description: "Decorated below", execute: async () => this.kept.clear() },
    };
  }

  tool(name, tool) {
    return name === "wipe" ? { ...tool, requiresApproval: true } : tool;
  }
}

class Tools extends McpConnector {
  name() {
    return "mcp";
  }

  async createConnection() {
    const client = await clientOf(toolServer());
    return { client, instructions: "Tools over MCP.", fetchTools: async () => (await client.listTools()).tools };
  }
}

class Pets extends OpenApiConnector {
  asked = [];

  name() {
    return "pets";
  }

  exposeSpec() {
    return true;
  }

  spec() {
    return {
      openapi: "3.1.0",
      paths: {
        "/pets/{id}": {
          get: {
            operationId: "get-pet",
            summary: "One pet",
            parameters: [
              { name: "id", in: "path", required: true, schema: { type: "string" } },
              { name: "deep", in: "query", schema: { type: "boolean" }, description: "With its toys" },
              { name: "x-trace", in: "header", schema: { type: "string" } },
            ],
          },
        },
        "/pets": { post: { requestBody: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } } } } },
      },
      components: { schemas: { Pet: { type: "object", properties: { name: { type: "string" } } } } },
    };
  }

  async request(made) {
    this.asked.push(made);
    if (made.path === "/nowhere") throw new Error("404 from the pets");
    return { echoed: made };
  }
}

const described = async (connector) => ({ description: await connector.describe(), types: await connector.getTypeScriptTypes() });

export const connectorScenarios = {
  async own(executor) {
    const notes = new Notes({}, { CONFIG: "x" });
    const code = `async () => {
      const sizes = [];
      for (const id of ["a", "b"]) sizes.push((await notes.keep({ id, text: "note " + id })).size);
      const failed = await notes.fail().catch((error) => error.message);
      const missing = await notes.nothing({}).catch((error) => error.message);
      const values = await notes.values({ at: new Date(5), map: new Map([["k", new Set(["v"])]]), big: 10n ** 20n });
      return { sizes, failed, missing, all: await notes.all(), values };
    }`;
    const { result, error, logs } = await executor.execute(code, [], { connectors: [bindingOf(notes)] });
    const reverted = [await notes.revertAction("keep", { id: "a" }, {}, {}), await notes.revertAction("all", {}, {}, {})];
    return { ...(await described(notes)), result: shown(result), error, logs, reverted, left: [...notes.kept.keys()] };
  },

  async MCP(executor) {
    const tools = new Tools({}, {});
    const code = `async () => ({
      added: await mcp.add({ a: 1, b: 2 }),
      person: await mcp.find_person({ name: "Ada" }),
      said: await mcp.say({ words: ["one", "two"] }),
      drawn: await mcp.draw({}),
      refused: await mcp.refuse({}).catch((error) => error.message),
      wrong: await mcp.add({ a: "x" }).catch((error) => error.message),
    })`;
    const outcome = await executor.execute(code, [], { connectors: [bindingOf(tools)] });
    return { ...(await described(tools)), ...outcome };
  },

  async OpenAPI(executor) {
    const pets = new Pets({}, {});
    const code = `async () => ({
      one: await pets.get_pet({ id: "a/b", deep: true, "x-trace": 7 }),
      made: await pets.post_pets({ body: { name: "Rex" } }),
      raw: await pets.request({ path: "/raw", method: "PUT", body: [1] }),
      failed: await pets.request({ path: "/nowhere" }).catch((error) => error.message),
      paths: Object.keys((await pets.spec()).paths),
    })`;
    const outcome = await executor.execute(code, [], { connectors: [bindingOf(pets)] });
    return { ...(await described(pets)), ...outcome, asked: pets.asked };
  },

  async "together with providers"(executor) {
    const notes = new Notes({}, {});
    const providers = [
      resolveProvider({ tools: { twice: { description: "Twice", execute: async (n) => n * 2 }, ask: { needsApproval: true, execute: async () => 1 } } }),
      resolveProvider({ name: "text", tools: { "to-upper": { execute: async ({ value }) => value.toUpperCase() } } }),
      { name: "sum", fns: { of: async (...all) => all.reduce((a, b) => a + b, 0) }, prelude: "sum.ofTwo = (a, b) => sum.of(a, b);" },
    ];
    const code = `async () => {
      console.log("both", typeof notes, typeof codemode);
      const kept = await notes.keep({ id: "x", text: await text.to_upper({ value: "shout" }) });
      return [kept, await codemode.twice(21), await sum.of(1, 2, 3), await sum.ofTwo(4, 5), await codemode.ask().catch((e) => e.message)];
    }`;
    return runCode({ code, executor, providers, connectors: [bindingOf(notes)] });
  },

  async "what runCode makes of errors"(executor) {
    const providers = [resolveProvider({ tools: { add: { execute: async ({ a, b }) => a + b } } })];
    const programs = [
      "async () => { console.log('one'); console.error('two'); throw new Error('on purpose'); }",
      "async () => { throw new Error('alone'); }",
      "```js\nconst r = await codemode.add({ a: 1, b: 2 });\nreturn r\n```",
      "async () => codemode.add({ a: 1, b: 2 })",
    ];
    const outcomes = [];
    for (const code of programs) {
      outcomes.push(await runCode({ code, executor, providers }).catch((error) => `${error.name}: ${error.message}`));
    }
    return outcomes;
  },

  async "results that are cut"(executor) {
    const { result } = await executor.execute("async () => ({ a: 'x'.repeat(5000), b: Array.from({ length: 900 }, (_, i) => i) })", []);
    return truncateResult(result, { maxChars: 500 });
  },
};
