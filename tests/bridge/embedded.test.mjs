// The embedded daemon: found, started, shared, restarted, and gone with its host, however that goes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { DynamicWorkerExecutor } from "../../node_bridge/dist/node/index.js";
import { PYTHON, lives, until } from "./daemon.mjs";

process.env.CODEMODE_PYTHON = PYTHON;
process.env.SECRET_OF_THE_HOST = "the host's alone";
const HOST = new URL("embedded_host.mjs", import.meta.url).pathname;

/** The processes of embedded daemons, with their parents and their sockets. */
function daemons() {
  const found = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const parent = /\nPPid:\t(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      const at = args.indexOf("--unix");
      if (at >= 0 && args.includes("--die-with-parent")) found.push({ pid: Number(pid), parent: Number(parent), socket: args[at + 1] });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

const daemonOf = (host) => daemons().find(({ parent }) => parent === host);

/** Every process below one, as long as it lives. */
function below(pid) {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((name) => {
    try {
      return /\nPPid:\t(\d+)/.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1] === String(pid);
    } catch {
      return false; // it has ended meanwhile
    }
  });
  return children.flatMap((name) => [Number(name), ...below(Number(name))]);
}

const gone = (pids) => pids.every((pid) => !lives(pid) || /\nState:\tZ/.test(readFileSync(`/proc/${pid}/status`, "utf8")));

for (const [what, act, signal] of [
  ["ends by itself", "ends", undefined],
  ["exits in the middle of a run", "exits", undefined],
  ["throws", "throws", undefined],
  ["is killed", "runs", "SIGKILL"],
  ["is interrupted", "runs", "SIGINT"],
  ["is terminated", "runs", "SIGTERM"],
]) {
  test(`the daemon and its workers leave when the host ${what}`, async () => {
    const host = spawn(process.execPath, [HOST, act], { stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    host.stdout.setEncoding("utf8").on("data", (chunk) => (output += chunk));
    const ended = once(host, "close");
    let daemon;
    await until(() => (daemon ??= daemonOf(host.pid)) !== undefined, "a daemon");
    let family = [];
    if (signal !== undefined) {
      await until(() => output.split("\n").length > 3, "the program runs");
      family = below(daemon.pid);
      assert.ok(family.length > 1, "a zygote and a worker");
      host.kill(signal);
    }
    await ended;
    await until(() => gone([daemon.pid, ...family]), "the daemon and its workers have left");
    assert.equal(statSync(daemon.socket, { throwIfNoEntry: false }), undefined, "its socket is gone");
    if (act === "ends") assert.deepEqual(JSON.parse(output), { result: 1, logs: [] });
    // A host that is ended by a signal has no time for its folder: that is removed by a later one.
    if (signal === undefined) assert.equal(statSync(dirname(daemon.socket), { throwIfNoEntry: false }), undefined);
    else rmSync(dirname(daemon.socket), { recursive: true });
  });
}

test("executors share one daemon, which nobody else can reach, and which ends with the last of them", async () => {
  const [a, b] = [new DynamicWorkerExecutor(), new DynamicWorkerExecutor({ timeout: 5000 })];
  assert.equal((await a.execute("async () => 1", [])).result, 1);
  assert.equal((await b.execute("async () => 2", [])).result, 2);
  const mine = daemons().filter(({ parent }) => parent === process.pid);
  assert.equal(mine.length, 1);
  const [{ pid, socket }] = mine;
  assert.equal(statSync(dirname(socket)).mode & 0o777, 0o700);
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
  assert.ok(!environment.includes("CODEMODE_SERVE") && !environment.includes("SECRET_OF_THE_HOST"));
  const args = readFileSync(`/proc/${pid}/cmdline`, "utf8");
  assert.ok(!/token=|Bearer/.test(args));
  await a.close();
  assert.ok(lives(pid));
  await b.close();
  assert.ok(!lives(pid));
  assert.equal(statSync(dirname(socket), { throwIfNoEntry: false }), undefined);
});

test("a daemon that was killed is started again for the next run", async () => {
  const executor = new DynamicWorkerExecutor({ idleTimeout: 20_000 });
  await executor.execute("async () => 1", []);
  const { pid } = daemonOf(process.pid);
  let begun;
  const started = new Promise((resolve) => (begun = resolve));
  const running = executor.execute("async () => codemode.hang()", [{ name: "codemode", fns: { hang: () => (begun(), new Promise(() => {})) } }]);
  running.catch(() => {}); // it is looked at below
  await started;
  process.kill(pid, "SIGKILL");
  await assert.rejects(running, { code: "CONNECTION_LOST" });
  await until(() => !lives(pid), "it is gone");
  assert.equal((await executor.execute("async () => 2", [])).result, 2);
  assert.notEqual(daemonOf(process.pid).pid, pid);
  await executor.close();
});

test("runs that come while it starts wait for the one start", async () => {
  const executor = new DynamicWorkerExecutor({ maxConnections: 3 });
  const outcomes = await Promise.all(Array.from({ length: 6 }, (_, i) => executor.execute(`async () => ${i}`, [])));
  assert.deepEqual(outcomes.map(({ result }) => result), [0, 1, 2, 3, 4, 5]);
  assert.equal(daemons().filter(({ parent }) => parent === process.pid).length, 1);
  await executor.close();
});

test("a timeout beyond the daemon's usual bound, and further arguments and the log of it", async () => {
  const log = [];
  const executor = new DynamicWorkerExecutor({ timeout: 600_000, daemonArgs: ["--limit", "memory_mb=64", "--min-workers", "1"], daemonLog: (line) => log.push(JSON.parse(line)) });
  const { error } = await executor.execute("async () => { const a = []; for (;;) a.push(new Array(1000).fill(1)) }", []);
  assert.match(error, /memory limit exceeded/);
  assert.match(error, /64/);
  await executor.close();
  assert.ok(log.length > 0 && log.every((entry) => typeof entry === "object"));
});

test("closing while it starts", async () => {
  const executor = new DynamicWorkerExecutor();
  const running = executor.execute("async () => 1", []);
  running.catch(() => {}); // it is looked at below
  await new Promise((resolve) => setTimeout(resolve, 50));
  await executor.close();
  await assert.rejects(running, { code: "CLOSED" });
  assert.deepEqual(daemons().filter(({ parent }) => parent === process.pid), []);
});

test("the example of the package's README", async () => {
  const bridge = new URL("../../node_bridge/", import.meta.url);
  const [, example] = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL("README.md", bridge), "utf8"));
  const program = example.replace('"codemode-executor-bridge"', JSON.stringify(new URL("dist/node/index.js", bridge).href));
  const host = spawn(process.execPath, ["--input-type=module", "-e", `${program}\nconsole.log(JSON.stringify({ result, error, logs }))`], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  host.stdout.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  await once(host, "close");
  assert.deepEqual(JSON.parse(output), { result: 3, logs: [] });
});

const folder = mkdtempSync(join(tmpdir(), "bridge-python-"));
const script = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
};

for (const [what, options, code, message] of [
  ["that is not there", { python: "/nowhere/python3" }, "PYTHON_NOT_FOUND", /\/nowhere\/python3 \(the option python\).*ENOENT.*CODEMODE_PYTHON/],
  ["without the package", { python: script("without", 'echo "/usr/bin/python3: No module named codemode_executor" >&2; exit 1') }, "PYTHON_NOT_FOUND", /has no package codemode-executor/],
  ["that is too old", { python: script("old", 'echo "unknown option: -P" >&2; exit 2') }, "PYTHON_NOT_FOUND", /older than Python 3\.11/],
  ["that says something else", { python: script("odd", 'echo "out of luck" >&2; exit 9') }, "DAEMON_START_FAILED", /exit status 9.*out of luck/s],
  ["that is told nonsense", { daemonArgs: ["--no-such-flag"] }, "DAEMON_START_FAILED", /exit status 2.*no-such-flag/s],
]) {
  test(`a Python ${what}`, async () => {
    const executor = new DynamicWorkerExecutor(options);
    await assert.rejects(executor.execute("async () => 1", []), { name: "ExecutorError", code, message });
    await assert.rejects(executor.execute("async () => 1", []), { code }, "it is tried again, and says the same");
    await executor.close();
  });
}

test("no Python at all, and one that is found on PATH", async () => {
  const { CODEMODE_PYTHON, PATH } = process.env;
  try {
    delete process.env.CODEMODE_PYTHON;
    process.env.PATH = "/nowhere";
    const none = new DynamicWorkerExecutor();
    await assert.rejects(none.execute("async () => 1", []), { code: "PYTHON_NOT_FOUND", message: /no python3 on PATH/ });
    await none.close();
    script("python3", `exec "${PYTHON}" "$@"`);
    process.env.PATH = `${folder}:${PATH}`;
    const found = new DynamicWorkerExecutor();
    assert.equal((await found.execute("async () => 1", [])).result, 1);
    await found.close();
  } finally {
    Object.assign(process.env, { CODEMODE_PYTHON, PATH });
    rmSync(folder, { recursive: true });
  }
});
