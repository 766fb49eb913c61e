// The same business as an MCP server: what a host has before it puts a `code` tool around it.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SCHEMAS } from "./billing.mjs";

/** @param functions what `billing()` answers */
export function billingServer(functions) {
  const server = new McpServer({ name: "billing", version: "1.0.0" });
  for (const [name, { description, inputSchema }] of Object.entries(SCHEMAS)) {
    server.registerTool(name, { description, inputSchema: inputSchema.shape }, async (args) => ({
      content: [{ type: "text", text: JSON.stringify(await functions[name](args)) }],
    }));
  }
  return server;
}
