// The naive alternative: `node` for every run, tools over its IPC channel. The program has everything that the host's
// user has; nothing here bounds or confines it.
import { fork } from "node:child_process";
import { serveHere } from "./lines.mjs";

const CHILD = new URL("subprocess_child.mjs", import.meta.url).pathname;

await serveHere({}, async (tools) => ({
  execute(program) {
    return new Promise((resolve, reject) => {
      const child = fork(CHILD, { env: {}, execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
      let answered = false;
      child.on("message", async ({ call, name, values, ok, error }) => {
        if (name !== undefined) {
          const value = await tools[name](...values);
          if (child.connected) child.send({ call, value });
          return;
        }
        answered = true;
        child.disconnect();
        if (error !== undefined) reject(new Error(error));
        else resolve(ok);
      });
      child.on("error", reject);
      child.on("exit", (status, signal) => {
        if (!answered) reject(new Error(`the program's process ended with ${signal ?? `status ${status}`}`));
      });
      child.send({ program });
    });
  },
}));
