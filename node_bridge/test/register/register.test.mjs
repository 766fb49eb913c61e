// `--import codemode-executor-bridge/register`: what a process can import then, and how what it gets behaves.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const bridge = fileURLToPath(new URL("../../", import.meta.url));
const requiresEsm = process.features.require_module === true;

let folder;

// A host's folder: the package is found by its name, as an installed one.
before(() => {
  folder = mkdtempSync(join(tmpdir(), "register-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(bridge, join(folder, "node_modules/codemode-executor-bridge"));
  symlinkSync(join(bridge, "node_modules/@cloudflare"), join(folder, "node_modules/@cloudflare"));
});

after(() => rmSync(folder, { recursive: true }));

/** Runs a host's file there, registered; what it prints as JSON, or what it died of. */
function host(text, { name = "host.mjs", env = {}, flags = ["--import", "codemode-executor-bridge/register"] } = {}) {
  writeFileSync(join(folder, name), text);
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, name], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
    timeout: 60_000,
  });
  return status === 0 ? { ...JSON.parse(stdout), ...(stderr !== "" && { stderr }) } : { status, stderr };
}

const NAMES = [
  "DurableObject", "RpcPromise", "RpcProperty", "RpcStub", "RpcTarget", "ServiceStub", "WorkerEntrypoint", "WorkflowEntrypoint",
  "cache", "env", "exports", "tracing", "waitUntil", "withEnv", "withEnvAndExports", "withExports",
];

test("a host imports cloudflare:workers, and upstream's root with it", () => {
  const seen = host(`
    import * as workers from "cloudflare:workers";
    import { CodemodeConnector, CodemodeRuntime, ToolDispatcher } from "@cloudflare/codemode";
    import * as module from "codemode-executor-bridge/register/workers";
    const kin = (child, parent) => child.prototype instanceof parent;
    console.log(JSON.stringify({
      names: Object.keys(workers),
      kin: [
        kin(CodemodeConnector, workers.WorkerEntrypoint), kin(CodemodeRuntime, workers.DurableObject),
        kin(ToolDispatcher, workers.RpcTarget), module.RpcTarget === workers.RpcTarget,
      ],
    }));
  `);
  assert.deepEqual(seen, { names: NAMES, kin: [true, true, true, true] });
});

test("it can also be registered from within, before what needs it is imported", () => {
  const text = `
    import "codemode-executor-bridge/register";
    const { CodemodeConnector } = await import("@cloudflare/codemode");
    console.log(JSON.stringify({ type: typeof CodemodeConnector }));
  `;
  assert.deepEqual(host(text, { flags: [] }), { type: "function" });
});

test("without it the import fails, so the tests here test something", () => {
  const { status, stderr } = host('import "cloudflare:workers";', { flags: [] });
  assert.equal(status, 1);
  assert.match(stderr, /cloudflare:/);
});

test("threads of the process have it as well", () => {
  const seen = host(`
    import { Worker, isMainThread, parentPort } from "node:worker_threads";
    if (isMainThread) new Worker(new URL(import.meta.url)).once("message", (message) => console.log(JSON.stringify({ message })));
    else parentPort.postMessage(typeof (await import("cloudflare:workers")).RpcTarget);
  `);
  assert.deepEqual(seen, { message: "function" });
});

test("require finds the same module", { skip: !requiresEsm && "this Node requires no ES module" }, () => {
  const seen = host(
    `const { RpcTarget } = require("cloudflare:workers");
     import("cloudflare:workers").then((imported) => console.log(JSON.stringify({ same: imported.RpcTarget === RpcTarget })));`,
    { name: "host.cjs" },
  );
  assert.deepEqual(seen, { same: true });
});

test("require finds upstream once it has been imported", { skip: !requiresEsm && "this Node requires no ES module" }, () => {
  const seen = host(
    `import("@cloudflare/codemode").then((imported) => {
       const required = require("@cloudflare/codemode");
       console.log(JSON.stringify({ same: required.CodemodeConnector === imported.CodemodeConnector }));
     });`,
    { name: "host.cjs" },
  );
  assert.deepEqual(seen, { same: true });
});

// Node 20 and 22 end in an assertion of their own at a scheme that they do not know, before they ask anybody.
test("require finds upstream at once", { skip: Number(process.versions.node.split(".")[0]) < 24 && "Node 24 and newer" }, () => {
  const text = 'console.log(JSON.stringify({ type: typeof require("@cloudflare/codemode").CodemodeConnector }));';
  assert.deepEqual(host(text, { name: "host.cjs" }), { type: "function" });
});

test("a bundler takes the module under its own name", async () => {
  const { build } = createRequire(join(bridge, "../executor/guest/package.json"))("esbuild");
  writeFileSync(
    join(folder, "bundled.mjs"),
    `import { CodemodeConnector } from "@cloudflare/codemode";
     console.log(JSON.stringify({ connector: new (class extends CodemodeConnector { name = () => "own"; })({}, {}).name() }));`,
  );
  await build({
    entryPoints: ["bundled.mjs"],
    absWorkingDir: folder,
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: "out.mjs",
    alias: { "cloudflare:workers": "codemode-executor-bridge/register/workers" },
    logLevel: "warning",
  });
  assert.deepEqual(host('import "./out.mjs";', { flags: [] }), { connector: "own" });
});

test("other modules of Workers are refused by name, whoever asks", () => {
  const imported = host('import { connect } from "cloudflare:sockets";');
  assert.equal(imported.status, 1);
  assert.match(imported.stderr, /cloudflare:sockets cannot be had in Node \(file:.*host\.mjs imports it\): of the modules of Workers, cloudflare:workers alone/);
  assert.match(imported.stderr, /ERR_NOT_IN_NODE/);
  const required = host('require("cloudflare:email");', { name: "host.cjs" });
  assert.match(required.stderr, /cloudflare:email cannot be had in Node/);
});

test("modules of Node and of packages are found as before", () => {
  const seen = host(`
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    const missing = await import("no-such-package").catch((error) => error.code);
    let missed;
    try { require("no-such-package"); } catch (error) { missed = error.code; }
    console.log(JSON.stringify({ missing, missed, path: typeof require("path").join }));
  `);
  assert.deepEqual(seen, { missing: "ERR_MODULE_NOT_FOUND", missed: "MODULE_NOT_FOUND", path: "function" });
});

test("classes keep what they are constructed with, and refuse what workerd refuses", () => {
  const seen = host(`
    import { DurableObject, RpcTarget, WorkerEntrypoint, WorkflowEntrypoint } from "cloudflare:workers";
    const kept = {};
    for (const Base of [WorkerEntrypoint, DurableObject, WorkflowEntrypoint]) {
      class Own extends Base { seen() { return [this.ctx.id, this.env.NAME]; } }
      kept[Base.name] = [new Own({ id: 1 }, { NAME: "n" }).seen(), Object.keys(new Own({}, {}))];
    }
    const failures = [[], [{}], [{}, 5], [undefined, {}]].map((args) => {
      try { return void new WorkerEntrypoint(...args); } catch (error) { return error.name + ": " + error.message; }
    });
    console.log(JSON.stringify({ kept, failures, target: Object.keys(new (class extends RpcTarget {})()) }));
  `);
  const kept = [[1, "n"], ["ctx", "env"]];
  assert.deepEqual(seen.kept, { WorkerEntrypoint: kept, DurableObject: kept, WorkflowEntrypoint: kept });
  const refused = (name, value) => `TypeError: new WorkerEntrypoint(ctx, env): ${name} must be an object, not ${value}; in Node {} will do where nothing reads it`;
  assert.deepEqual(seen.failures, [refused("ctx", "undefined"), refused("env", "undefined"), refused("env", "5"), refused("ctx", "undefined")]);
  assert.deepEqual(seen.target, []);
});

test("env reads the process's environment by name, and lists only what the host has assigned", () => {
  const seen = host(
    `import { env } from "cloudflare:workers";
     const before = [env.API_KEY, env.NOWHERE, "API_KEY" in env, "NOWHERE" in env, Object.keys(env), typeof env.toString];
     process.env.LATER = "set later";
     env.DB = { query: 1 };
     env.API_KEY = "overridden";
     const after = [env.API_KEY, env.LATER, env.DB, { ...env }, process.env.API_KEY];
     delete env.API_KEY;
     console.log(JSON.stringify({ before, after, deleted: env.API_KEY }));`,
    { env: { API_KEY: "secret" } },
  );
  assert.deepEqual(seen.before, ["secret", null, true, false, [], "function"]);
  assert.deepEqual(seen.after, ["overridden", "set later", { query: 1 }, { DB: { query: 1 }, API_KEY: "overridden" }, "secret"]);
  assert.equal(seen.deleted, "secret");
});

test("withEnv and withExports replace them for a function and what it starts", () => {
  const seen = host(
    `import { env, exports, withEnv, withEnvAndExports, withExports } from "cloudflare:workers";
     const given = Object.freeze({ Q: 1 });
     const inside = withEnv(given, () => [env.Q, env.API_KEY, Object.keys(env), "API_KEY" in env, { ...env }]);
     const late = await withEnv({ Q: 2 }, async () => { await new Promise((resolve) => setTimeout(resolve, 5)); return env.Q; });
     const nested = withEnv({ Q: 3 }, () => withExports({ Api: "api" }, () => [env.Q, exports.Api, exports.Other]));
     const both = withEnvAndExports({ Q: 4 }, { Api: "other" }, () => [env.Q, exports.Api]);
     const written = {};
     withEnv(written, () => { env.NEW = 5; });
     const failures = [() => withEnv(1, () => 1), () => withEnv({}, 2), () => withExports(null, () => 1), () => exports.Api, () => withEnv(given, () => { env.Q = 9; })].map((act) => {
       try { return act(); } catch (error) { return [error.name, error.code, error.message.slice(0, 60)]; }
     });
     console.log(JSON.stringify({ inside, late, nested, both, written, failures, outside: env.API_KEY }));`,
    { env: { API_KEY: "secret" } },
  );
  assert.deepEqual(seen.inside, [1, null, ["Q"], false, { Q: 1 }]);
  assert.deepEqual([seen.late, seen.nested, seen.both], [2, [3, "api", null], [4, "other"]]);
  assert.deepEqual([seen.written, seen.outside], [{ NEW: 5 }, "secret"]);
  assert.deepEqual(seen.failures.map(([name, code]) => [name, code]), [
    ["TypeError", null], ["TypeError", null], ["TypeError", null], ["NotInNode", "ERR_NOT_IN_NODE"], ["TypeError", null],
  ]);
  assert.equal(seen.failures[0][2], "withEnv: newEnv must be an object, not 1");
});

test("what cannot be had can be imported and looked at, and its use says why", () => {
  const seen = host(`
    import { RpcPromise, RpcProperty, RpcStub, RpcTarget, ServiceStub, cache, tracing } from "cloudflare:workers";
    import { inspect } from "node:util";
    const uses = [() => new RpcStub(new RpcTarget()), () => cache.purge({}), () => tracing.enterSpan("a", () => 1), () => { cache.x = 1; }, () => "x" in tracing];
    const failures = uses.map((use) => { try { return use(); } catch (error) { return [error.code, error.message]; } });
    const illegal = [RpcPromise, RpcProperty, ServiceStub].map((Class) => { try { return new Class(); } catch (error) { return error.message; } });
    console.log(JSON.stringify({ failures, illegal, shown: [inspect(cache), String(Object.prototype.toString.call(tracing))], is: {} instanceof RpcStub }));
  `);
  assert.deepEqual(seen.failures.map(([code]) => code), Array(5).fill("ERR_NOT_IN_NODE"));
  assert.match(seen.failures[0][1], /^RpcStub of cloudflare:workers cannot be used in Node: there is no Workers RPC/);
  assert.match(seen.failures[2][1], /^tracing of cloudflare:workers .* OpenTelemetry/);
  assert.deepEqual(seen.illegal, Array(3).fill("Illegal constructor"));
  assert.match(seen.shown[0], /^\{\}$|^Proxy\(/);
  assert.deepEqual([seen.shown[1], seen.is], ["[object Object]", false]);
});

test("waitUntil lets a promise settle, reports a rejection, and takes nothing else", () => {
  const seen = host(`
    import { waitUntil } from "cloudflare:workers";
    let failure;
    try { waitUntil(); } catch (error) { failure = error.message; }
    waitUntil(Promise.reject(new Error("lost work")));
    waitUntil(new Promise((resolve) => setTimeout(resolve, 5)).then(() => console.log(JSON.stringify({ failure, done: true }))));
  `);
  assert.deepEqual([seen.failure, seen.done], ["waitUntil: a promise is needed, not undefined", true]);
  assert.match(seen.stderr, /^waitUntil: a promise was rejected: Error: lost work/);
});
