// Hosts as they are written for upstream, here in plain Node with `register` and the bridge's executor, and beside it in workerd
// with upstream's own: the same code, the same observations.
//
//     node --import <bridge>/dist/register/index.js hosts.test.mjs
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { CodemodeConnector, createCodemodeRuntime } from "@cloudflare/codemode";
import { codeMcpServer } from "@cloudflare/codemode/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";
import { DynamicWorkerExecutor } from "../../../node_bridge/dist/node/index.js";
import { lives, until } from "../../bridge/daemon.mjs";
import { FACTS } from "./facts.mjs";
import * as six from "./libraries.mjs";
import { SCENARIOS } from "./scenarios/index.mjs";
import { clientOf, toolServer } from "./scenarios/mcp.mjs";
import { startUpstream } from "./upstream.mjs";

const register = new URL("../../../node_bridge/dist/register/index.js", import.meta.url).href;
const make = (options) => new DynamicWorkerExecutor({ loader: undefined, ...options });
const executor = make({});

const factsOf = (name) => FACTS[name.replace(/ \d(?=:)/, "")];

test("every scenario says what it must have seen", () => {
  assert.deepEqual([...SCENARIOS.keys()].filter((name) => factsOf(name) === undefined), []);
});

describe("here and in workerd", () => {
  let upstream;

  before(async () => {
    upstream = await startUpstream();
  });

  after(() => upstream?.stop());

  for (const [name, scenario] of SCENARIOS) {
    test(name, { timeout: 60_000 }, async () => {
      const seen = JSON.parse(JSON.stringify(await scenario(executor, make)));
      factsOf(name)(seen);
      assert.deepEqual(seen, await upstream.run(name));
    });
  }
});

test("an error of a tool keeps its name here", async () => {
  const tools = { fails: six.ai.tool({ inputSchema: six.z.object({}), execute: async () => Promise.reject(new RangeError("too far")) }) };
  const tool = six.upstream.createCodeTool({ tools, executor });
  const code = "async () => { try { await codemode.fails({}); } catch (error) { return [error.name, error.message]; } }";
  assert.deepEqual(await tool.execute({ code }), { result: ["RangeError", "too far"] });
});

// In workerd upstream's client cannot: the library makes its validators from text.
test("an MCP server whose tools declare the schemas of their results", async () => {
  const client = await clientOf(await codeMcpServer({ server: toolServer({ typed: true }), executor }));
  const { content } = await client.callTool({ name: "code", arguments: { code: "async () => (await codemode.find_person({ name: 'Bo' })).age" } });
  assert.deepEqual(content, [{ type: "text", text: "42" }]);
  await client.close();
});

test("a fault of the machinery is an error that the model's application hears of", async () => {
  const nowhere = make({ url: "unix:/nowhere/at.all", token: "a-token-of-the-tests", connectTimeout: 200, queueTimeout: 200 });
  const client = await clientOf(await codeMcpServer({ server: toolServer(), executor: nowhere }));
  const outcome = await client.callTool({ name: "code", arguments: { code: "async () => 1" } });
  assert.equal(outcome.isError, true);
  assert.match(outcome.content[0].text, /^Error: .*\/nowhere\/at\.all/);
  await client.close();
});

test("an MCP server over standard input and output, a process of its own", { timeout: 60_000 }, async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["--import", register, new URL("stdio_host.mjs", import.meta.url).pathname],
    env: { ...process.env },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr.on("data", (chunk) => (stderr += chunk));
  const client = new Client({ name: "application", version: "1.0.0" });
  await client.connect(transport);
  const { pid } = transport;
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name), ["code"]);
  const code = "async () => { let sum = 0; for (const n of [1, 2, 3]) sum = await codemode.add({ a: sum, b: n }); return { sum }; }";
  const calls = await Promise.all(Array.from({ length: 4 }, () => client.callTool({ name: "code", arguments: { code } })));
  for (const { content } of calls) assert.deepEqual(JSON.parse(content[0].text), { sum: 6 });
  await client.close();
  await until(() => !lives(pid), "the server's process ends with its input");
  assert.equal(stderr, "");
});

test("a host in TypeScript compiles, strictly, without the types of Workers", () => {
  const tsc = new URL("../../../node_bridge/node_modules/typescript/bin/tsc", import.meta.url).pathname;
  const project = new URL("tsconfig.json", import.meta.url).pathname;
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" });
  assert.deepEqual({ status, stdout }, { status: 0, stdout: "" });
});

test("what needs a Durable Object says so", async () => {
  class Nothing extends CodemodeConnector {
    name = () => "nothing";
    tools = () => ({});
  }
  const connector = new Nothing({}, {});
  assert.ok(connector instanceof WorkerEntrypoint);
  const runtime = createCodemodeRuntime({ ctx: {}, executor, connectors: [connector] });
  await assert.rejects(async () => runtime.execute({ code: "async () => 1" }), /CodemodeRuntime is not exported from this Worker entry/);
});

test("an RpcTarget of the host is called by its methods", async () => {
  class Store extends RpcTarget {
    #rows = new Map([["a", 1]]);
    get(key) {
      return this.#rows.get(key);
    }
  }
  const { result, error } = await make({ bindings: { STORE: new Store() } }).execute("async () => await this.env.STORE.get('a')", []);
  assert.deepEqual({ result, error }, { result: 1, error: undefined });
});
