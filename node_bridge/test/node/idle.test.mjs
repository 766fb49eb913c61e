// Whether the package keeps a process alive, seen from outside.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { TOKEN, obliging, serve } from "../server.mjs";

const INDEX = new URL("../../dist/node/index.js", import.meta.url).href;

async function run(program, url) {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, URL: url, TOKEN } });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const [code, signal] = await once(child, "close");
  clearTimeout(timer);
  return { output: output.trim(), code, signal };
}

const start = `const { DynamicWorkerExecutor } = await import(${JSON.stringify(INDEX)});
const executor = new DynamicWorkerExecutor({ url: process.env.URL, token: process.env.TOKEN });`;

test("a host that has nothing else to do ends, its executor open", async () => {
  const server = await serve(obliging);
  assert.deepEqual(await run(`${start}\nconsole.log((await executor.execute("1", [])).result);`, server.url), { output: "1", code: 0, signal: null });
  await server.close();
});

test("a host that waits for a run does not end before it", async () => {
  const server = await serve(async (peer) => {
    const { run } = await peer.next("run");
    peer.say({ t: "accepted", run, token: "t" });
    setTimeout(() => peer.say([{ t: "result", run }, "15"]), 500);
  });
  assert.deepEqual(await run(`${start}\nexecutor.execute("1", []).then(({ result }) => console.log(result));`, server.url), { output: "5", code: 0, signal: null });
  await server.close();
});

test("a host with a retained result ends", async () => {
  const server = await serve(async (peer) => {
    const { run } = await peer.next("run");
    peer.say({ t: "accepted", run, token: "t" }, [{ t: "result", run, retained: true }, '2{"root":["h",0],"table":[]}']);
    const { invocation } = await peer.next("invoke");
    setTimeout(() => peer.say([{ t: "invoked", run, invocation }, "16"]), 300);
  });
  const program = `${start}\nconst { result: f } = await executor.execute("1", [], { retainHandles: true });\nconsole.log(await f());`;
  assert.deepEqual(await run(program, server.url), { output: "6", code: 0, signal: null });
  await server.close();
});
