// Our engine as a JavaScript host uses it: the bridge, and on loopback the daemon, which this process starts.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DynamicWorkerExecutor } from "../../node_bridge/dist/node/index.js";
import { serveHere } from "./lines.mjs";

const [python] = process.argv.slice(2);
const MOST = "1000"; // runs that wait, of all and of one token: what a burst needs

const token = randomBytes(16).toString("hex");
const options = ["--port", "0", "--token-file", "-", "--die-with-parent", "--log-level", "warning"];
const bounds = ["--max-queue", MOST, "--runs-per-token", MOST];
const daemon = spawn(python, ["-m", "codemode_executor", "serve", ...options, ...bounds], {
  stdio: ["pipe", "pipe", "inherit"],
});
daemon.stdin.write(`${token}\n`);
const [first] = await once(createInterface({ input: daemon.stdout }), "line");
const { url } = JSON.parse(first);

await serveHere({}, async (tools) => {
  const executor = new DynamicWorkerExecutor({ url, token });
  const providers = [{ name: "codemode", fns: tools }];
  return {
    async execute(program) {
      const outcome = await executor.execute(program, providers);
      if (outcome.error !== undefined) throw new Error(outcome.error);
      return outcome.result;
    },
    async close() {
      await executor.close();
      daemon.stdin.end();
      await once(daemon, "exit");
    },
  };
});
