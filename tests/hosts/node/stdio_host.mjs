// An MCP server as an application starts it: a process that speaks over its standard input and output.
import { codeMcpServer } from "@cloudflare/codemode/mcp";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { DynamicWorkerExecutor } from "../../../node_bridge/dist/node/index.js";
import { toolServer } from "./scenarios/mcp.mjs";

const server = await codeMcpServer({ server: toolServer(), executor: new DynamicWorkerExecutor() });
await server.connect(new StdioServerTransport());
