// Serves a Worker of this folder, asks it once, and ends it:
//
//   node ask.mjs before/worker.wrangler.json "How much does acme owe?"                    the agent
//   node ask.mjs before/mcp.wrangler.json --mcp "async () => codemode.customers({})"      the MCP server: the client writes the program
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { serve } from "./serve.mjs";

/** A question of the agent's user. */
export async function ask(url, question) {
  const response = await fetch(url, { method: "POST", body: question });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return await response.json();
}

/** What an MCP client finds, and what the tool `code` answers to a program. */
export async function callCode(url, code) {
  const client = new Client({ name: "ask", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    const { tools } = await client.listTools();
    const { content, isError = false } = await client.callTool({ name: "code", arguments: { code } });
    return { tools, text: content[0].text, isError };
  } finally {
    await client.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [configuration, ...words] = process.argv.slice(2);
  const text = words.at(-1);
  if (text === undefined) throw new Error('what is asked? node ask.mjs before/worker.wrangler.json "How much does acme owe?"');
  const { url, stop } = await serve(configuration, { environment: process.env });
  try {
    console.log(words[0] === "--mcp" ? (await callCode(url, text)).text : JSON.stringify(await ask(url, text)));
  } finally {
    await stop();
  }
}
