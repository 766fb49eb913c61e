// The package against a real daemon over TCP.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DynamicWorkerExecutor } from "../../node_bridge/dist/node/index.js";
import { startDaemon, until } from "./daemon.mjs";
import { startProxy } from "./proxy.mjs";

let daemon;
let executor;

const make = (options) => new DynamicWorkerExecutor({ url: daemon.url, token: daemon.token, ...options });
const tools = (fns) => [{ name: "codemode", fns }];

before(async () => {
  daemon = await startDaemon({ args: ["--heartbeat-s", "1"] });
  executor = make();
});

after(async () => {
  await executor?.close();
  await daemon?.stop();
});

test("values both ways, logs, failures", async () => {
  const echo = async (value) => value;
  const program = `async () => {
    console.log("line"); console.warn("careful");
    const back = await codemode.echo({ bytes: new Uint8Array([1, 2]), text: "é😀\\ud800" });
    return { back, map: new Map([[1, new Date(0)]]), big: 10n, nan: NaN, view: new Uint16Array([1, 2]) };
  }`;
  const { result, logs } = await executor.execute(program, tools({ echo }));
  assert.deepEqual(result, {
    back: { bytes: new Uint8Array([1, 2]), text: "é😀\ud800" },
    map: new Map([[1, new Date(0)]]), big: 10n, nan: NaN, view: new Uint16Array([1, 2]),
  });
  assert.deepEqual(logs, ["line", "[warn] careful"]);
  const failed = await executor.execute("async () => { throw new TypeError('no') }", []);
  assert.deepEqual(failed, { result: undefined, error: "no", logs: [] });
});

test("10 MB values both ways at concurrency 8", async () => {
  const text = "x".repeat(10_000_000);
  const echo = async (value) => (assert.equal(value.length, text.length), value);
  const program = `async () => { const back = await codemode.echo("x".repeat(${text.length})); return back + back.length }`;
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => executor.execute(program, tools({ echo }))));
  for (const { result, error } of outcomes) {
    assert.equal(error, undefined);
    assert.ok(result === text + text.length);
  }
});

test("a tool's answer one byte over the bound fails the call, and one within it does not", async () => {
  const bounded = make({ limits: { tool_result_bytes: 1000 } });
  const ofLength = async (n) => "x".repeat(n - 2); // two quotes
  const program = `async () => {
    const at = (await codemode.ofLength(1000)).length;
    return [at, await codemode.ofLength(1001).catch((error) => error.message)];
  }`;
  const { result } = await bounded.execute(program, tools({ ofLength }));
  assert.deepEqual(result, [998, "the result of codemode.ofLength is 1001 bytes long; the limit is 1000 bytes (Limits.tool_result_bytes)"]);
  await bounded.close();
});

test("more runs than connections, each with its own answers", async () => {
  const few = make({ maxConnections: 4 });
  let most = 0;
  let now = 0;
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, i) => {
      const whose = async (n) => {
        most = Math.max(most, (now += 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        return [i, n];
      };
      return few.execute("async () => [await codemode.whose(1), await codemode.whose(2)]", tools({ whose }));
    }),
  );
  outcomes.forEach(({ result }, i) => assert.deepEqual(result, [[i, 1], [i, 2]]));
  assert.ok(most <= 4, `${most} at once`);
  await few.close();
});

test("a tool that runs a program, four deep, on one connection each; a fifth is refused", async () => {
  const narrow = make({ maxConnections: 1 });
  const inner = async (depth) => {
    const { result, error } = await narrow.execute(`async () => ${depth} === 0 ? "bottom" : codemode.inner(${depth} - 1)`, tools({ inner }));
    if (error !== undefined) throw new Error(error);
    return result;
  };
  const { result } = await narrow.execute("async () => codemode.inner(3)", tools({ inner }));
  assert.equal(result, "bottom");
  const deeper = await narrow.execute("async () => codemode.inner(4)", tools({ inner }));
  assert.match(deeper.error, /inside a tool call at depth 5; the limit is 4/);
  await narrow.close();
});

test("preludes, connectors, modules, bindings and the network", async () => {
  const binding = { callTool: async (method, args) => new Map([[method, args]]) };
  const asked = [];
  const full = make({
    modules: { "m.js": "export const n = 7", "d.json": { json: { a: 1 } } },
    bindings: { key: "v", db: { query: async (...args) => args.length } },
    globalOutbound: async (request) => {
      asked.push(`${request.method} ${request.url} ${await request.text()}`);
      return Response.json({ ok: true }, { status: 201 });
    },
  });
  const program = `async () => {
    const { n } = await import("m.js");
    const { default: d } = await import("d.json");
    const response = await fetch("https://api.test/x", { method: "POST", body: "b" });
    return [n, d, this.env.key, await this.env.db.query(1, 2), await conn.find(new Set([1])), await codemode.twice(4), response.status, await response.json()];
  }`;
  const prelude = "codemode.twice = async (x) => 2 * await codemode.echo(x);";
  const { result, error } = await full.execute(program, [{ name: "codemode", fns: { echo: async (x) => x }, prelude }], { connectors: [{ name: "conn", binding }] });
  assert.equal(error, undefined);
  assert.deepEqual(result, [7, { a: 1 }, "v", 2, new Map([["find", new Set([1])]]), 8, 201, { ok: true }]);
  assert.deepEqual(asked, ["POST https://api.test/x b"]);
  await full.close();
});

test("functions of a result", async () => {
  const program = `async () => { let n = 0; return { next: (by) => (n += by), make: () => () => "made", fail: () => { throw new RangeError("no") } } }`;
  const envelope = await executor.execute(program, [], { retainHandles: true });
  const { next, make: makeOne, fail } = envelope.result;
  assert.deepEqual([await next(2), await next(3)], [2, 5]);
  assert.equal(await (await makeOne())(), "made");
  await assert.rejects(fail(), { code: "HANDLE_CALL_FAILED", message: "no", programError: "RangeError" });
  envelope[Symbol.dispose]();
  await assert.rejects(next(1), { code: "HANDLE_DISPOSED" });
  const refused = await executor.execute("async () => () => 1", []);
  assert.match(refused.error, /function/);
});

test("a signal ends the program, not only the waiting for it", async () => {
  const controller = new AbortController();
  let ticks = 0;
  const tick = async () => {
    ticks += 1;
    if (ticks === 5) controller.abort(new Error("enough"));
    await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const running = executor.execute("async () => { for (;;) await codemode.tick() }", tools({ tick }), { signal: controller.signal });
  await assert.rejects(running, /enough/);
  const seen = ticks;
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok(ticks <= seen + 1, `${ticks} ticks after ${seen}`);
  const looping = new AbortController();
  setTimeout(() => looping.abort(new Error("stop")), 200);
  await assert.rejects(executor.execute("async () => { for (;;); }", [], { signal: looping.signal }), /stop/);
  assert.equal((await executor.execute("async () => 1", [])).result, 1);
});

test("the socket is cut at every point of a run's life: nothing runs twice, and every promise settles", async () => {
  const proxy = await startProxy(Number(new URL(daemon.url).port));
  const program = "async () => { console.log('x'); const a = await codemode.count(); return [a, await codemode.count()] }";
  const attempt = async () => {
    // A token of its own for every attempt would share nothing; another number of connections does as well.
    const one = new DynamicWorkerExecutor({ url: proxy.url, token: daemon.token, connectTimeout: 5000, timeout: 5000 });
    let calls = 0;
    const outcome = await one.execute(program, tools({ count: async () => (calls += 1) })).catch((error) => error);
    await one.close();
    return { outcome, calls };
  };
  proxy.cutAfter("toHost", Infinity);
  const whole = await attempt();
  assert.deepEqual(whole.outcome, { result: [1, 2], logs: ["x"] });
  const { toDaemon, toHost } = { ...proxy.counts };
  const seen = new Map();
  for (const [direction, total] of [["toDaemon", toDaemon], ["toHost", toHost]]) {
    const step = Math.ceil(total / 40);
    for (let bytes = 1; bytes < total; bytes += step) {
      proxy.cutAfter(direction, bytes);
      const { outcome, calls } = await attempt();
      const how = outcome.code ?? "answered";
      seen.set(how, (seen.get(how) ?? 0) + 1);
      assert.ok(calls <= 2, `${direction} ${bytes}: ${calls} calls`);
      if (how === "answered") assert.deepEqual(outcome, { result: [1, 2], logs: ["x"] }, `${direction} ${bytes}`);
      else assert.equal(how, "CONNECTION_LOST", `${direction} ${bytes}: ${outcome.message}`);
    }
  }
  assert.ok(seen.get("answered") > 5 && seen.get("CONNECTION_LOST") > 10, JSON.stringify([...seen]));
  await proxy.close();
});

test("a host that is busy for longer than a heartbeat loses nothing", async () => {
  const block = async (ms) => {
    const end = Date.now() + ms;
    while (Date.now() < end);
    return ms;
  };
  const { result } = await executor.execute("async () => codemode.block(1500)", tools({ block }));
  assert.equal(result, 1500);
});

test("a daemon that drains finishes the run; the executor finds the next daemon at the same place", async () => {
  const first = await startDaemon();
  const { port } = new URL(first.url);
  const mine = new DynamicWorkerExecutor({ url: first.url, token: first.token, connectTimeout: 30_000 });
  let begun;
  const started = new Promise((resolve) => (begun = resolve));
  const slow = async () => {
    begun();
    await new Promise((resolve) => setTimeout(resolve, 500));
    return "done";
  };
  const running = mine.execute("async () => codemode.slow()", tools({ slow }));
  await started;
  first.child.kill("SIGTERM");
  assert.equal((await running).result, "done");
  const next = mine.execute("async () => 2", []);
  await first.exited;
  const second = await startDaemon({ args: ["--port", port] });
  assert.equal((await next).result, 2);
  await mine.close();
  await second.stop();
});

test("a daemon that is killed loses its runs, each of them once", async () => {
  const victim = await startDaemon();
  const mine = new DynamicWorkerExecutor({ url: victim.url, token: victim.token, connectTimeout: 500 });
  let calls = 0;
  const never = () => ((calls += 1), new Promise(() => {}));
  const running = Array.from({ length: 3 }, () => mine.execute("async () => codemode.never()", tools({ never })));
  const settled = Promise.allSettled(running);
  await until(() => calls === 3, "all of them run");
  victim.child.kill("SIGKILL");
  for (const { reason } of await settled) assert.equal(reason.code, "CONNECTION_LOST");
  assert.equal(calls, 3);
  await assert.rejects(mine.execute("async () => 1", []), { code: "CONNECT_FAILED" });
  await mine.close();
  await victim.exited;
});
