// Hosts that offer programs over MCP: upstream's servers, and a client of the protocol's own library, as a model's application has.
import { codeMcpServer, openApiMcpServer } from "@cloudflare/codemode/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/cfworker";
import { z } from "zod";

// The library's other validator makes functions from text, which workerd does not allow.
const validator = { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() };

/**
 * A server as people have it, with every shape of result.
 *
 * @param {{ typed?: boolean }} options whether a tool declares the schema of its result, too
 */
export function toolServer({ typed = false } = {}) {
  const server = new McpServer({ name: "tools", version: "1.0.0" }, validator);
  const text = (value) => ({ type: "text", text: value });
  server.registerTool("add", { description: "Adds", inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) => ({
    content: [text(String(a + b))],
  }));
  server.registerTool(
    "find-person",
    { description: "Finds", inputSchema: { name: z.string() }, ...(typed && { outputSchema: { name: z.string(), age: z.number() } }) },
    async ({ name }) => ({ content: [text("ignored")], structuredContent: { name, age: 42 } }),
  );
  server.registerTool("say", { description: "Says", inputSchema: { words: z.array(z.string()) } }, async ({ words }) => ({
    content: words.map(text),
  }));
  server.registerTool("draw", { description: "Draws", inputSchema: {} }, async () => ({
    content: [text("a dot"), { type: "image", data: "AAECAw==", mimeType: "image/png" }],
  }));
  server.registerTool("refuse", { description: "Fails", inputSchema: {} }, async () => ({ content: [text("not today")], isError: true }));
  server.registerTool("crash", { description: "Throws", inputSchema: {} }, async () => {
    throw new Error("out of paper");
  });
  server.registerTool("flood", { description: "Much text", inputSchema: { n: z.number() } }, async ({ n }) => ({
    content: [text("x".repeat(n))],
  }));
  return server;
}

export async function clientOf(server) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "application", version: "1.0.0" }, validator);
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return client;
}

/** Calls one tool with each program, and gives what the model's application gets. */
async function callEach(client, tool, programs) {
  const outcomes = {};
  for (const [name, code] of Object.entries(programs)) outcomes[name] = await client.callTool({ name: tool, arguments: { code } });
  return outcomes;
}

const PETS = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1" },
  paths: {
    "/pets": {
      get: { operationId: "listPets", tags: ["pets"], summary: "All < pets & more", responses: { 200: { description: "pets" } } },
      post: {
        operationId: "addPet",
        requestBody: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } } },
        responses: { 201: { description: "made" } },
      },
    },
    "/pets/{id}": { get: { operationId: "getPet", parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }], responses: {} } },
  },
  components: {
    schemas: {
      Pet: { type: "object", properties: { name: { type: "string" }, parent: { $ref: "#/components/schemas/Pet" } }, required: ["name"] },
    },
  },
};

export const mcpScenarios = {
  async "code server"(executor) {
    const client = await clientOf(await codeMcpServer({ server: toolServer(), executor }));
    const { tools } = await client.listTools();
    const outcomes = await callEach(client, "code", {
      loop: "async () => { let sum = 0; for (let i = 0; i < 20; i++) sum = await codemode.add({ a: sum, b: i }); return sum; }",
      structured: "async () => await codemode.find_person({ name: 'Ada' })",
      "several texts": "async () => await codemode.say({ words: ['one', 'two'] })",
      "text that is JSON": "async () => await codemode.say({ words: ['{\"a\":[1,2]}'] })",
      mixed: "async () => await codemode.draw({})",
      object: "async () => ({ n: 1, nested: { list: [1, 'two', null] }, gone: undefined })",
      nothing: "async () => {}",
      zero: "async () => 0",
      date: "async () => new Date(0)",
      logs: "async () => { console.log('seen by nobody'); return 'text'; }",
    });
    await client.close();
    return { server: client.getServerVersion(), tools, outcomes };
  },

  async "code server: errors"(executor) {
    const client = await clientOf(await codeMcpServer({ server: toolServer(), executor }));
    const outcomes = await callEach(client, "code", {
      thrown: "async () => { throw new TypeError('on purpose'); }",
      refused: "async () => await codemode.refuse({})",
      crashed: "async () => await codemode.crash({})",
      caught: "async () => { try { await codemode.refuse({}); } catch (error) { return `caught ${error.message}`; } }",
      "bad arguments": "async () => await codemode.add({ a: 'x', b: 1 })",
      "no such tool": "async () => await codemode.nothing({})",
      "no such name": "async () => nowhere",
    });
    const noCode = await client.callTool({ name: "code", arguments: {} });
    const noTool = await client.callTool({ name: "other", arguments: {} });
    await client.close();
    return { outcomes, noCode, noTool };
  },

  async "code server: big results"(executor) {
    const client = await clientOf(await codeMcpServer({ server: toolServer(), executor }));
    const outcomes = await callEach(client, "code", {
      text: "async () => 'y'.repeat(100_000)",
      "a tool's text": "async () => (await codemode.flood({ n: 50_000 })) + 'z'",
      object: "async () => ({ small: 1, big: 'y'.repeat(60_000), list: Array.from({ length: 5000 }, (_, i) => ({ i })) })",
      fits: "async () => Array.from({ length: 100 }, (_, i) => i)",
    });
    await client.close();
    return outcomes;
  },

  async "code server: own description"(executor) {
    const client = await clientOf(
      await codeMcpServer({ server: toolServer(), executor, description: "Mine.\n{{types}}\n{{example}}" }),
    );
    const { tools } = await client.listTools();
    await client.close();
    return tools;
  },

  async "OpenAPI server"(executor) {
    const requests = [];
    const request = async (options, context) => {
      requests.push({ options, signal: context?.signal instanceof AbortSignal });
      if (options.path === "/broken") throw new Error("502 from the pets");
      return { status: 200, path: options.path, list: [{ name: "Rex" }] };
    };
    const client = await clientOf(openApiMcpServer({ spec: PETS, executor, request, name: "pets", version: "2.0.0", description: "Be kind." }));
    const { tools } = await client.listTools();
    const search = await callEach(client, "search", {
      paths: "async () => Object.keys((await codemode.spec()).paths)",
      resolved: "async () => (await codemode.spec()).paths['/pets'].post.requestBody.content['application/json'].schema",
      markup: "async () => (await codemode.spec()).paths['/pets'].get.summary",
      "by tag": `async () => {
        const spec = await codemode.spec();
        return Object.values(spec.paths).flatMap((item) => Object.values(item)).filter((op) => op.tags?.includes("pets")).map((op) => op.operationId);
      }`,
      "cannot request": "async () => await codemode.request({ method: 'GET', path: '/pets' })",
    });
    const execute = await callEach(client, "execute", {
      get: "async () => (await codemode.request({ method: 'GET', path: '/pets', query: { limit: 2 } })).list",
      post: "async () => await codemode.request({ method: 'POST', path: '/pets', body: { name: 'Rex', tags: [1, null] } })",
      both: `async () => {
        const spec = await codemode.spec();
        const paths = Object.keys(spec.paths).filter((path) => !path.includes("{"));
        return (await Promise.all(paths.map((path) => codemode.request({ method: "GET", path })))).map((r) => r.status);
      }`,
      failing: "async () => await codemode.request({ method: 'GET', path: '/broken' })",
      caught: "async () => { try { await codemode.request({ method: 'GET', path: '/broken' }); } catch (e) { return e.message; } }",
    });
    await client.close();
    return { server: client.getServerVersion(), tools, search, execute, requests };
  },
};
