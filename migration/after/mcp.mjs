// An MCP server in a Worker: the tools of another server behind one tool that runs programs.
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { codeMcpServer } from "@cloudflare/codemode/mcp";
import { billing } from "../shared/billing.mjs";
import { billingServer } from "../shared/billing_server.mjs";
import { serveMcp } from "../shared/mcp_http.mjs";

export default {
  async fetch(request, env) {
    const executor = new DynamicWorkerExecutor({
      url: env.CODEMODE_URL,
      token: env.CODEMODE_TOKEN,
      timeout: 30_000,
    });
    const server = await codeMcpServer({ server: billingServer(billing()), executor });
    return await serveMcp(server, request);
  },
};
