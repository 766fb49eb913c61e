// A real daemon for tests, which ends with them: as its standard input does.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export const PYTHON = process.env.CODEMODE_PYTHON ?? new URL("../../.venv/bin/python", import.meta.url).pathname;
export const TOKEN = "a-token-of-the-tests";

/**
 * Starts a daemon on a free port of the loopback.
 *
 * @param {{ args?: string[], tokens?: string }} options further arguments
 * @returns `url`, `token`, the process as `child`, and `stop`
 */
export async function startDaemon({ args = [], token = TOKEN } = {}) {
  const child = spawn(
    PYTHON,
    ["-P", "-m", "codemode_executor", "serve", "--port", "0", "--token-file", "-", "--die-with-parent", ...args],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => (stderr = (stderr + chunk).slice(-20_000)));
  const exited = once(child, "close");
  child.stdin.write(`${token}\n`);
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, "line"), exited.then(() => undefined)]);
  if (first === undefined) throw new Error(`the daemon did not start:\n${stderr}`);
  const { url } = JSON.parse(first[0]);
  const stop = async () => {
    child.stdin.end();
    await exited;
  };
  return { url, token, child, exited, stop, log: () => stderr };
}

/** Whether a process is there. */
export function lives(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

/** Settles when `condition` holds; fails after a generous while. */
export async function until(condition, what, ms = 20_000) {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`after ${ms} ms still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
