// A JavaScript host that runs the cases of the corpus through the bridge: the same file as upstream's host but for the
// executor. One JSON object a line each way, matched by `id`; the daemon is the bridge's own.
import { createInterface } from "node:readline";
import { DynamicWorkerExecutor } from "../../node_bridge/dist/node/index.js";
import { describeEnvelope } from "../side_by_side/src/describe.mjs";
import { sites } from "../side_by_side/src/outbound.mjs";
import { makeTools } from "../side_by_side/src/tools.mjs";

// How long upstream's host waits for calls that a program made and did not wait for.
const SETTLE_MS = 60;

// Headers hold bytes in Node, and text in workerd.
const read = (value) => Buffer.from(value, "latin1").toString();
const write = (text) => Buffer.from(text).toString("latin1");

async function execute(body) {
  const { code, prelude, modules, bindings, timeout = 3000 } = body;
  const made = body.providers.map(({ ns, tools }) => ({ name: ns, ...makeTools(tools) }));
  const resolved = made.map(({ name, fns }) => ({ name, fns, ...(prelude !== undefined && { prelude }) }));
  const asked = [];
  const globalOutbound =
    body.outbound &&
    ((request) => {
      asked.push(`${request.method} ${request.url}`);
      return sites[body.outbound](request, { read, write });
    });
  let outcome;
  try {
    const executor = new DynamicWorkerExecutor({ timeout, modules, bindings, globalOutbound });
    const { logs, ...envelope } = await executor.execute(code, resolved);
    // Upstream drops nothing, so it has no word for it.
    if (logs?.at(-1)?.startsWith("[notice] Further log output was dropped")) logs.pop();
    outcome = describeEnvelope({ ...envelope, logs });
  } catch (error) {
    if (error.code === "BAD_REQUEST") return { refused: error.message };
    return { rejected: `${error.code}: ${error.message}` };
  }
  if (body.calls) await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return { ...outcome, calls: [...made.flatMap(({ seen }) => seen), ...asked] };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { id, body } = JSON.parse(line);
  execute(body).then(
    (value) => process.stdout.write(`${JSON.stringify({ id, value })}\n`),
    (error) => process.stdout.write(`${JSON.stringify({ id, failure: String(error) })}\n`),
  );
}
