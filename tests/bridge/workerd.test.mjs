// The package inside workerd, against a real daemon.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { startDaemon } from "./daemon.mjs";

const side = createRequire(new URL("../side_by_side/package.json", import.meta.url));
const { build } = side("esbuild");
const { Miniflare } = side("miniflare");
const bridge = new URL("../../node_bridge/", import.meta.url).pathname;

/** As an installed package: by the conditions of its manifest. */
const byItsName = {
  name: "by-its-name",
  setup({ onResolve }) {
    onResolve({ filter: /^codemode-executor-bridge$/ }, () => {
      const { exports } = side(`${bridge}package.json`);
      return { path: new URL(exports["."].workerd.default, `file://${bridge}`).pathname };
    });
  },
};

let daemon;
let miniflare;
let inputs;

before(async () => {
  daemon = await startDaemon();
  const { outputFiles, metafile } = await build({
    entryPoints: [new URL("worker_host.mjs", import.meta.url).pathname],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    plugins: [byItsName],
    external: ["cloudflare:*", "node:*"],
    logLevel: "warning",
  });
  inputs = Object.keys(metafile.inputs);
  miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "host.mjs", contents: outputFiles[0].text }],
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["nodejs_compat"],
    bindings: { URL: daemon.url, TOKEN: daemon.token },
  });
});

after(async () => {
  await miniflare?.dispose();
  await daemon?.stop();
});

async function ask(step, code, options, site) {
  const response = await miniflare.dispatchFetch("http://host/", {
    method: "POST",
    body: JSON.stringify({ step, code, options, site }),
  });
  return await response.json();
}

test("the package's entry for workerd has nothing of Node's", () => {
  assert.ok(inputs.some((path) => path.endsWith("dist/workerd/index.js")));
  assert.deepEqual(inputs.filter((path) => /node_modules\/ws\/|dist\/node\//.test(path)), []);
});

test("a program with tools", async () => {
  const answer = await ask("tool", "async () => { console.log('hi'); return codemode.add({ a: 1, b: 2 }) }");
  assert.deepEqual(answer, { result: "3", logs: ["hi"] });
});

test("many calls at once, and a large value both ways", async () => {
  const many = await ask("tool", "async () => (await Promise.all(Array.from({ length: 500 }, (_, i) => codemode.add({ a: i, b: 0 })))).reduce((a, b) => a + b)");
  assert.deepEqual(many, { result: "124750", logs: [] });
  const large = await ask("tool", "async () => (await codemode.echo('x'.repeat(5e6))).length");
  assert.deepEqual(large, { result: "5000000", logs: [] });
});

test("a connector's values cross as by structured clone", async () => {
  const answer = await ask("connector", "async () => conn.get(new Map([['a', 1]]))");
  assert.deepEqual(JSON.parse(answer.result), { method: "get", args: { map: [["a", 1]] }, set: { set: ["1"] } });
});

test("an RpcTarget among the bindings is called by its methods", async () => {
  const answer = await ask("tool", "async () => [await this.env.store.get('k'), this.env.store.secret, this.env.plain.n]");
  assert.deepEqual(JSON.parse(answer.result), [{ map: [["k", "1970-01-01T00:00:00.000Z"]] }, null, 1]);
});

test("a tool that runs a program", async () => {
  const answer = await ask("nested", "async () => codemode.inner('async () => codemode.add({ a: 20, b: 1 })')");
  assert.deepEqual(answer, { result: "21", logs: [] });
});

test("a program that fails, and one that takes too long", async () => {
  const failed = await ask("tool", "async () => { throw new Error('no') }");
  assert.deepEqual(failed, { result: "undefined", error: "no", logs: [] });
  const slow = await ask("tool", "async () => codemode.never()", { timeout: 300 });
  assert.deepEqual(slow, { result: "undefined", error: "Execution timed out", logs: [] });
});

test("a signal ends it", async () => {
  const answer = await ask("aborted", "async () => codemode.never()");
  assert.deepEqual(answer, { rejected: "other", message: "enough" });
});

test("the network is a Fetcher's, whose headers are text", async () => {
  const program = `async () => {
    const r = await fetch("https://api.test/", { method: "POST", body: "b", headers: { "x-in": "é€" } });
    return [r.status, r.headers.get("x-out"), await r.text()];
  }`;
  const { result, asked } = await ask("tool", program, {}, true);
  assert.deepEqual(JSON.parse(result), [202, "é€", "out"]);
  assert.deepEqual(asked, [["POST", "https://api.test/", "é€", "b"]]);
});

test("modules", async () => {
  const answer = await ask("tool", "async () => (await import('m.js')).default", { modules: { "m.js": "export default 7" } });
  assert.deepEqual(answer, { result: "7", logs: [] });
});

test("a wrong token, no daemon, an unusable address", async () => {
  const wrong = await ask("tool", "async () => 1", { token: "not-the-token-of-it" });
  assert.equal(wrong.rejected, "UNAUTHORIZED");
  const nobody = await ask("tool", "async () => 1", { url: "ws://127.0.0.1:1", connectTimeout: 500 });
  assert.equal(nobody.rejected, "CONNECT_FAILED");
  const unix = await ask("tool", "async () => 1", { url: "unix:/tmp/s" });
  assert.equal(unix.rejected, "BAD_REQUEST");
});
