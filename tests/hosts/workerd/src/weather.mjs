// A connector to an MCP server: upstream's McpConnector, the SDK's client and server, and between them the SDK's transport
// for both in one process.
import { McpConnector } from "@cloudflare/codemode";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/cfworker";
import { z } from "zod";

export class Weather extends McpConnector {
  #journal;

  constructor(ctx, env, journal) {
    super(ctx, env);
    this.#journal = journal;
  }

  name() {
    return "weather";
  }

  instructions() {
    return "Ask for a city before you answer.";
  }

  async createConnection() {
    const server = makeServer(this.#journal);
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "host", version: "1.0.0" }, { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() });
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    const { tools } = await client.listTools();
    return { client, tools, instructions: client.getInstructions() };
  }

  tool(name, given) {
    if (name !== "set_alarm") return given;
    return {
      ...given,
      requiresApproval: true,
      revert: (args, result, run) => this.#journal.note("revert weather.set_alarm", args, result, run.executionId),
    };
  }
}

function makeServer(journal) {
  const server = new McpServer(
    { name: "weather", version: "1.0.0" },
    { instructions: "Weather of everywhere.", jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  );
  const tool = (name, config, answer) =>
    server.registerTool(name, config, async (args) => {
      journal.note(`server ${name}`, args);
      return answer(args);
    });
  const text = (value) => ({ content: [{ type: "text", text: value }] });

  tool("get-forecast", { description: "The forecast for a city.", inputSchema: { city: z.string(), days: z.number().int().max(7) } }, ({ city, days }) =>
    text(JSON.stringify({ city, days: Array.from({ length: days }, (_, i) => 10 + i) })),
  );
  tool("describe", { description: "In words.", inputSchema: { city: z.string() } }, ({ city }) => text(`It rains in ${city}.`));
  tool(
    "measure",
    { description: "As a structure.", inputSchema: {}, outputSchema: { celsius: z.number(), at: z.string() } },
    () => ({ content: [], structuredContent: { celsius: 7.5, at: "noon" } }),
  );
  tool("set.alarm", { description: "Wake everybody.", inputSchema: { hour: z.number() } }, ({ hour }) => text(`alarm at ${hour}`));
  tool("radar", { description: "An image.", inputSchema: {} }, () => ({
    content: [{ type: "text", text: "seen" }, { type: "image", data: "AAEC", mimeType: "image/png" }],
  }));
  tool("storm", { description: "Fails.", inputSchema: {} }, () => ({ ...text("the station is gone"), isError: true }));
  tool("mute", { description: "Fails without a word.", inputSchema: {} }, () => ({ content: [], isError: true }));
  tool("breaks", { description: "Throws.", inputSchema: {} }, () => {
    throw new Error("lightning");
  });
  return server;
}
