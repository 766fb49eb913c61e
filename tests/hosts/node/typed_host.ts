// Every place of upstream's that takes an executor, given the bridge's, as a host in TypeScript writes it. It is compiled, not run.
import { CodemodeConnector, type ConnectorTools, McpConnector, type McpConnectionLike, runCode } from "@cloudflare/codemode";
import { aiTools, createCodeTool, toolSetConnector } from "@cloudflare/codemode/ai";
import { createBrowserCodeTool } from "@cloudflare/codemode/browser";
import { codeMcpServer, openApiMcpServer } from "@cloudflare/codemode/mcp";
import { createCodeTool as createTanstackTool, tanstackTools } from "@cloudflare/codemode/tanstack-ai";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { toolDefinition } from "@tanstack/ai";
import { generateText, tool } from "ai";
import { WorkerEntrypoint, env, waitUntil } from "cloudflare:workers";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { z } from "zod";

const executor = new DynamicWorkerExecutor({ timeout: 10_000 });

const tools = {
  weather: tool({ description: "The weather", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city.length }),
};
const codemode = createCodeTool({ tools: [aiTools(tools), { name: "other", tools }], executor });
export const conversation = generateText({ model: "some/model", tools: { codemode }, prompt: "Do it." });

const stock = toolDefinition({ name: "stock", description: "Stock", inputSchema: z.object({ item: z.string() }) }).server(async ({ item }) => item);
export const tanstack = createTanstackTool({ tools: [tanstackTools([stock])], executor });

export const server = codeMcpServer({ server: new McpServer({ name: "tools", version: "1.0.0" }), executor });
export const pets = openApiMcpServer({ spec: { openapi: "3.1.0" }, executor, request: async (options) => options });
export const browser = createBrowserCodeTool({ tools: {}, executor });

interface Config {
  readonly key: string;
}

class Notes extends CodemodeConnector<Config> {
  name(): string {
    return "notes";
  }

  protected tools(): ConnectorTools {
    return { key: { execute: async () => this.env.key } };
  }
}

abstract class Tools extends McpConnector {
  protected abstract override createConnection(): McpConnectionLike;
}

class Service extends WorkerEntrypoint<Config> {
  key(): string {
    return this.env.key;
  }
}

const ctx = {};
export const connectors = [new Notes(ctx, { key: "k" }), toolSetConnector(ctx, { tools })];
export const service: string = new Service(ctx, { key: "k" }).key();
export type Abstract = typeof Tools;
waitUntil(runCode({ code: "async () => 1", executor, providers: [] }));
export const key: unknown = env["API_KEY"];
