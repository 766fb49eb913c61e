import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { ShadowExecutor } from "../../dist/shadow/index.js";
import { here, sleep, tools } from "./executors.mjs";

/** A shadowing executor, and what it reports. */
function pair(primary, shadow, options) {
  const reports = [];
  const faults = [];
  const executor = new ShadowExecutor({
    primary, shadow, tools: "replay", report: (it) => reports.push(it), onFault: (it) => faults.push(it), ...options,
  });
  return { executor, reports, faults };
}

/** Every run is somewhere. */
function assertCounted({ runs, agreed, disagreed, faults, skipped }) {
  assert.equal(runs, agreed + disagreed + faults + Object.values(skipped).reduce((sum, n) => sum + n, 0));
}

const answering = (envelope) => ({ execute: async () => envelope });
const rejecting = (error) => ({ execute: async () => { throw error; } });

/** What two envelopes differ in. */
async function differ(one, other, options) {
  const { executor, reports, faults } = pair(one, other, options);
  await executor.execute("async () => 1", []).catch(() => {});
  await executor.idle();
  assertCounted(executor.counts);
  assert.deepEqual(faults, []);
  return reports.map(({ differs }) => differs).flat();
}

test("a tool runs once, and the shadow gets what it answered", async () => {
  let calls = 0;
  const rows = [{ id: 1 }, { id: 2 }];
  const { executor, reports } = pair(here(), here());
  const program = "async () => { const rows = await codemode.rows({ n: 2 }); console.log(rows.length); return rows }";
  const answer = await executor.execute(program, tools({ rows: async () => (calls++, rows) }));
  assert.deepEqual(answer, { result: [{ id: 1 }, { id: 2 }], logs: ["2"] });
  rows.length = 0; // the host goes on
  answer.result.length = 0;
  await executor.idle();
  assert.equal(calls, 1);
  assert.deepEqual(reports, []);
  assert.equal(executor.counts.agreed, 1);
  assertCounted(executor.counts);
});

test("the same call for the second time is answered with the second answer", async () => {
  let n = 0;
  const { executor, reports } = pair(here(), here());
  const program = "async () => [await codemode.next(), await codemode.next(), await codemode.next({}), await codemode.next()]";
  assert.deepEqual((await executor.execute(program, tools({ next: async () => ++n }))).result, [1, 2, 3, 4]);
  await executor.idle();
  assert.deepEqual(reports, []);
  assert.equal(n, 4);
});

test("a tool that threw throws again; what the codec refuses fails again", async () => {
  const boom = async () => { throw Object.assign(new TypeError("quota"), { code: "E42" }); };
  const cyclic = async () => { const a = {}; a.a = a; return a; };
  const program = `async () => {
    const seen = [];
    for (const tool of ["boom", "plain", "nothing"]) await codemode[tool]().catch((e) => seen.push(String(e?.message ?? e)));
    return seen;
  }`;
  const { executor, reports } = pair(here(), here());
  const { result } = await executor.execute(program, tools({ boom, plain: async () => { throw "text"; }, nothing: async () => { throw null; } }));
  assert.deepEqual(result, ["quota", "text", "null"]);
  const { error } = await executor.execute("async () => codemode.cyclic()", tools({ cyclic }));
  assert.match(error, /circular/);
  await executor.idle();
  assert.deepEqual(reports, []);
  assert.equal(executor.counts.agreed, 2);
});

test("a call that the primary never made is not made, and reported; so is one that the shadow did not make", async () => {
  const made = [];
  const both = tools({ save: async (what) => (made.push(what), "saved") });
  const first = { execute: (code, providers, options) => here().execute("async () => codemode.save('a')", providers, options) };
  const second = { execute: (code, providers, options) => here().execute("async () => codemode.save('b')", providers, options) };
  const { executor, reports } = pair(first, second);
  await executor.execute("async () => codemode.save(x)", both);
  await executor.idle();
  assert.deepEqual(made, ["a"]);
  assert.equal(reports.length, 1);
  const [{ program, differs, calls, primary, shadow, mayVary }] = reports;
  assert.equal(program, "async () => codemode.save(x)");
  assert.deepEqual(differs, ["outcome", "calls"]);
  assert.deepEqual(calls, { missing: ["codemode.save"], unexpected: ["codemode.save"] });
  assert.deepEqual(primary, { envelope: { result: "saved", logs: [] }, rejected: false });
  assert.match(shadow.envelope.error, /^codemode\.save was not called with these arguments by the executor that answers/);
  assert.deepEqual(mayVary, []);
});

test("once too often is a call that was not made", async () => {
  const twice = { execute: (code, providers) => here().execute("async () => [await codemode.f(), await codemode.f()]", providers) };
  const { executor, reports } = pair(here(), twice);
  await executor.execute("async () => codemode.f()", tools({ f: async () => 1 }));
  await executor.idle();
  assert.match(reports[0].shadow.envelope.error, /was not called with these arguments more than 1 times/);
  assert.deepEqual(reports[0].calls, { missing: [], unexpected: ["codemode.f"] });
});

test("races have the same winner: answers take as long, and come in the same order", async () => {
  const slow = async () => (await sleep(60), "slow");
  const fast = async () => (await sleep(5), "fast");
  const timer = "new Promise((resolve) => setTimeout(resolve, 30, 'timer'))";
  const { executor, reports } = pair(here(), here());
  for (const [program, winner] of [
    ["async () => Promise.race([codemode.slow(), codemode.fast()])", "fast"],
    [`async () => Promise.race([codemode.slow(), ${timer}])`, "timer"],
  ]) {
    assert.equal((await executor.execute(program, tools({ slow, fast }))).result, winner);
  }
  let held;
  // The first is answered last.
  const order = "async () => { const seen = []; await Promise.all([1, 2, 3].map(async (n) => seen.push(await codemode.hold(n)))); return seen }";
  const hold = (n) => (n === 1 ? new Promise((resolve) => (held = resolve)) : Promise.resolve(n).then((x) => (x === 3 && setImmediate(() => held(1)), x)));
  assert.deepEqual((await executor.execute(order, tools({ hold }))).result, [2, 3, 1]);
  await executor.idle();
  assert.deepEqual(reports, []);
});

test("a tool that answers after the program has ended, and one that never does", async () => {
  const { executor, reports } = pair(here(), here());
  const program = "async () => { codemode.late(); codemode.never(); return 1 }";
  await executor.execute(program, tools({ late: async () => (await sleep(20), 1), never: () => new Promise(() => {}) }));
  await executor.idle();
  assert.deepEqual(reports, []);
  assert.equal(executor.counts.agreed, 1);
});

test("connectors: values as by structured clone, also tools by functions alone", async () => {
  let calls = 0;
  const binding = { callTool: async (method, args) => (calls++, new Map([[method, args]])) };
  const { executor, reports } = pair(here(), here());
  const program = "async () => conn.get(new Map([['a', 1n]]))";
  const { result } = await executor.execute(program, { f: async () => 1 }, { connectors: [{ name: "conn", binding }] });
  assert.deepEqual(result, new Map([["get", new Map([["a", 1n]])]]));
  await executor.idle();
  assert.deepEqual([calls, reports], [1, []]);
});

test("a connector's value that is no copy is not recorded, and the program not compared", async () => {
  const connectors = [{ name: "conn", binding: { callTool: async () => ({ stub: () => 1 }) } }];
  const stubborn = { execute: async (code, providers, { connectors: [{ binding }] }) => ({ result: typeof (await binding.callTool("m", 1)).stub }) };
  const { executor, reports } = pair(stubborn, here());
  assert.deepEqual(await executor.execute("async () => conn.m(1)", [], { connectors }), { result: "function" });
  await executor.idle();
  assert.equal(executor.counts.skipped.unrecordable, 1);
  assert.deepEqual(reports, []);
});

test("with `twice` tools are called again", async () => {
  let calls = 0;
  const { executor, reports } = pair(here(), here(), { tools: "twice" });
  await executor.execute("async () => codemode.count()", tools({ count: async () => ++calls }));
  await executor.idle();
  assert.equal(calls, 2);
  assert.deepEqual(reports.map(({ differs }) => differs), [["result"]]);
  assert.deepEqual([reports[0].primary.envelope.result, reports[0].shadow.envelope.result], [1, 2]);
});

test("what is compared", async () => {
  const same = { result: { a: [1, new Map([[1, NaN]])] }, logs: ["x"] };
  assert.deepEqual(await differ(answering(same), answering(structuredClone(same))), []);
  assert.deepEqual(await differ(answering({ result: 1 }), answering({ result: 1, logs: [] })), []);
  assert.deepEqual(await differ(answering({ result: 0 }), answering({ result: -0 })), ["result"]);
  assert.deepEqual(await differ(answering({ result: { a: 1, b: 2 } }), answering({ result: { b: 2, a: 1 } })), ["result"]);
  assert.deepEqual(await differ(answering({ result: undefined }), answering({ result: null })), ["result"]);
  assert.deepEqual(await differ(answering({ result: 1, logs: ["a"] }), answering({ result: 1, logs: ["a", "b"] })), ["logs"]);
  assert.deepEqual(await differ(answering({ error: "a" }), answering({ error: "b" })), ["error"]);
  assert.deepEqual(await differ(answering({ result: 1 }), answering({ error: "b", logs: ["x"] })), ["outcome", "logs"]);
  // As a host reads it.
  assert.deepEqual(await differ(answering({ error: "" }), answering({ error: "it was empty" })), ["outcome"]);
});

test("what is the same in other words", async () => {
  assert.deepEqual(await differ(rejecting(new SyntaxError("Unexpected")), answering({ error: "line 1: Unexpected", logs: ["x"] })), []);
  assert.deepEqual(await differ(rejecting(new Error("no")), answering({ result: 1, logs: [] })), ["outcome"]);
  assert.deepEqual(await differ(answering({ error: { message: "m" } }), answering({ error: '{"message":"m"}' })), []);
  assert.deepEqual(await differ(answering({ error: "a\ud800" }), answering({ error: "a\ufffd" })), []);
  assert.deepEqual(await differ(answering({ result: 1, logs: ["\udc00😀"] }), answering({ result: 1, logs: ["\ufffd😀"] })), []);
  const notice = "[notice] Further log output was dropped: the limit is 2 lines";
  assert.deepEqual(await differ(answering({ logs: ["a", "b", "c"] }), answering({ logs: ["a", "b", notice] })), []);
  assert.deepEqual(await differ(answering({ logs: ["a", "B", "c"] }), answering({ logs: ["a", "b", notice] })), ["logs"]);
  const late = (logs) => answering({ result: undefined, error: "Execution timed out", logs });
  assert.deepEqual(await differ(late(["a"]), late(["a", "b"])), []);
});

test("an exception of the platform is the same, as an instance and as it arrives", async () => {
  const arrived = Object.assign(new Error("gone"), { code: 20, name: "AbortError", stack: "" });
  assert.deepEqual(await differ(answering({ result: [new DOMException("gone", "AbortError")] }), answering({ result: [arrived] })), []);
  assert.deepEqual(await differ(answering({ result: arrived }), answering({ result: new Error("gone") })), ["result"]);
});

test("a result that is no copy is compared by why", async () => {
  const fn = answering({ result: { f: () => 1 } });
  assert.deepEqual(await differ(fn, answering({ result: { f: () => 2 } })), []);
  const { executor, reports } = pair(fn, answering({ error: "result.f is a function" }));
  await executor.execute("x", []);
  await executor.idle();
  assert.deepEqual(reports[0].differs, ["outcome"]);
  assert.match(reports[0].primary.uncopied, /Function.*result\.f/);
});

test("what a program's own text makes vary is named", async () => {
  const { executor, reports } = pair(answering({ result: 1 }), answering({ result: 2 }));
  await executor.execute("async () => Math.random() + Date.now()", []);
  await executor.idle();
  assert.deepEqual(reports[0].mayVary, ["Date", "Math.random"]);
});

test("the answer does not wait for the shadow, and neither its faults nor the host's callbacks are felt", async (t) => {
  const written = t.mock.method(console, "error", () => {});
  const awake = setInterval(() => {}, 1000); // giving up keeps no process alive
  t.after(() => clearInterval(awake));
  const fault = Object.assign(new Error("the daemon is not to be reached"), { name: "ExecutorError", code: "CONNECT_FAILED" });
  for (const shadow of [rejecting(fault), { execute: () => { throw fault; } }, { execute: () => new Promise(() => {}) }]) {
    const { executor, faults } = pair(here(), shadow, { giveUpAfter: 50 });
    assert.deepEqual(await executor.execute("async () => 1", []), { result: 1, logs: [] });
    assert.deepEqual(faults, []);
    await executor.idle();
    assert.equal(faults.length, 1);
    assert.equal(faults[0].program, "async () => 1");
    assert.equal(executor.counts.faults, 1);
  }
  assert.equal(written.mock.callCount(), 0);
  for (const report of [() => { throw new Error("mine"); }, async () => { throw new Error("mine"); }]) {
    const { executor } = pair(here(), answering({ result: 2 }), { report });
    assert.equal((await executor.execute("async () => 1", [])).result, 1);
    await executor.idle();
    assert.equal(executor.counts.disagreed, 1);
  }
  await sleep(0);
  assert.deepEqual(written.mock.calls.map(({ arguments: [text] }) => text), Array(2).fill("[codemode-executor] report of a shadow executor failed:"));
  const throwing = pair(here(), here(), { sample: () => { throw new Error("mine"); } });
  assert.equal((await throwing.executor.execute("async () => 1", [])).result, 1);
  assert.equal(throwing.faults.length, 1);
});

test("the first fault is written to the console where nobody listens", async (t) => {
  const written = t.mock.method(console, "warn", () => {});
  const executor = new ShadowExecutor({ primary: here(), shadow: rejecting(Object.assign(new Error("no"), { name: "ExecutorError", code: "X" })), tools: "replay", report: () => {} });
  for (let i = 0; i < 3; i++) await executor.execute("async () => 1", []);
  await executor.idle();
  assert.equal(executor.counts.faults, 3);
  assert.equal(written.mock.callCount(), 1);
});

test("rejections of the primary are the caller's; its machinery's are not compared", async () => {
  const lost = Object.assign(new Error("lost"), { name: "ExecutorError", code: "CONNECTION_LOST" });
  const { executor } = pair(rejecting(lost), here());
  await assert.rejects(executor.execute("async () => 1", []), lost);
  const odd = new TypeError("odd");
  const other = pair(rejecting(odd), here());
  await assert.rejects(other.executor.execute("async () => 1", []), odd);
  await Promise.all([executor.idle(), other.executor.idle()]);
  assert.equal(executor.counts.skipped.primary, 1);
  assert.deepEqual(other.reports.map(({ differs }) => differs), [["outcome"]]);
  assert.equal(other.reports[0].primary.rejected, true);
});

test("sampling, by share and by program", async () => {
  const none = pair(here(), here(), { sample: 0 });
  const some = pair(here(), here(), { sample: (code) => code.includes("2") });
  for (const { executor } of [none, some]) {
    for (const n of [1, 2, 3]) assert.equal((await executor.execute(`async () => ${n}`, [])).result, n);
    await executor.idle();
    assertCounted(executor.counts);
  }
  assert.equal(none.executor.counts.skipped.sampling, 3);
  assert.deepEqual([some.executor.counts.agreed, some.executor.counts.skipped.sampling], [1, 2]);
});

test("the queue is bounded, and its end is not the answer's", async () => {
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  let running = 0;
  let most = 0;
  const slow = here();
  const shadow = { async execute(...args) { most = Math.max(most, ++running); await gate; running -= 1; return slow.execute(...args); } };
  const { executor, reports } = pair(here(), shadow, { maxRunning: 2, maxWaiting: 3 });
  for (let i = 0; i < 10; i++) assert.equal((await executor.execute(`async () => ${i}`, [])).result, i);
  assert.equal(executor.counts.skipped.queue, 5);
  while (running < 2) await sleep(1);
  open();
  await executor.idle();
  assert.deepEqual([most, executor.counts.agreed, reports.length], [2, 5, 0]);
  assertCounted(executor.counts);
});

test("recordings are bounded together, and give back what they held", async () => {
  const { executor } = pair(here(), here(), { maxRecorded: 10_000 });
  const big = tools({ big: async (n) => "x".repeat(n) });
  assert.equal((await executor.execute("async () => (await codemode.big(20000)).length", big)).result, 20000);
  assert.equal((await executor.execute("async () => 'x'.repeat(20000)", big)).result.length, 20000);
  assert.equal(executor.counts.skipped.memory, 2);
  for (let i = 0; i < 5; i++) {
    await executor.execute("async () => (await codemode.big(6000)).length", big);
    await executor.idle();
  }
  assert.equal(executor.counts.agreed, 5);
  const together = Array.from({ length: 3 }, () => executor.execute("async () => (await codemode.big(4000)).length", big));
  await Promise.all(together);
  await executor.idle();
  assert.equal(executor.counts.skipped.memory, 3);
  assertCounted(executor.counts);
});

test("what comes too late to be recorded is not held", async () => {
  const { executor } = pair(here(), here(), { maxRecorded: 3000 });
  for (let i = 0; i < 20; i++) {
    let finish;
    const late = () => new Promise((resolve) => (finish = resolve));
    await executor.execute("async () => { codemode.late(); return 1 }", tools({ late }));
    await executor.idle();
    finish("x".repeat(1000));
    await sleep(0);
  }
  assert.equal(executor.counts.agreed, 20);
});

test("a quick answer does not wait for a slow one that was asked for before it", async () => {
  const { executor, reports } = pair(here(), here());
  const program = `async () => {
    const timer = (ms, value) => new Promise((done) => setTimeout(done, ms, value));
    const slow = codemode.slow();
    await timer(20);
    return [await Promise.race([codemode.quick(), timer(300, "timer")]), await slow];
  }`;
  const later = (ms, value) => async () => (await sleep(ms), value);
  const { result } = await executor.execute(program, tools({ slow: later(900, "slow"), quick: later(5, "quick") }));
  assert.deepEqual(result, ["quick", "slow"]);
  await executor.idle();
  assert.deepEqual([reports, executor.counts.agreed], [[], 1]);
});

test("a recording that is spoiled while it is replayed is not compared", async () => {
  const { executor, reports } = pair(here(), here(), { maxRecorded: 20_000 });
  let finish;
  const slow = () => new Promise((resolve) => (finish = resolve));
  const program = "async () => { codemode.slow(); await codemode.a(); await codemode.pause(); return await codemode.b() }";
  const fns = { slow, a: async () => 1, pause: () => sleep(100), b: async () => 2 };
  assert.equal((await executor.execute(program, tools(fns))).result, 2);
  await sleep(30); // the shadow waits for `pause`
  finish("x".repeat(30_000));
  await executor.idle();
  assert.deepEqual([reports, executor.counts.skipped.memory], [[], 1]);
  assertCounted(executor.counts);
});

test("an answer that cannot even be looked at is the caller's, and held by nobody", async () => {
  const odd = { result: 1, get logs() { throw new Error("no logs"); } };
  const { executor, faults } = pair(answering(odd), here(), { maxRecorded: 10 });
  for (let i = 0; i < 3; i++) assert.equal(await executor.execute("1234567", []), odd);
  assert.deepEqual([faults.length, executor.counts.skipped.memory], [3, 0]);
  assertCounted(executor.counts);
});

test("an aborted run, one with handles and unusable arguments are the primary's alone", async () => {
  const { executor } = pair(here(), here());
  const primary = { execute: async (code, providers, options) => (options.signal.throwIfAborted(), { result: 1 }) };
  const aborted = pair(primary, here());
  await assert.rejects(aborted.executor.execute("x", [], { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
  await executor.execute("async () => 1", [], { retainHandles: true });
  for (const providers of [null, [null], [{ name: "a" }], [{ name: "a", fns: { f: 1 } }]]) {
    await executor.execute("async () => 1", providers).catch(() => {});
  }
  await executor.execute("async () => 1", [], { connectors: [{ name: "a" }] }).catch(() => {});
  await executor.execute(1, []).catch(() => {});
  await executor.idle();
  assert.equal(aborted.executor.counts.skipped.aborted, 1);
  assert.deepEqual([executor.counts.skipped.retained, executor.counts.skipped.unusable], [1, 6]);
});

test("the primary gets what the host gave, the shadow a signal of its own", async () => {
  const seen = [];
  const spy = { execute: async (code, providers, options) => (seen.push({ code, providers, options }), { result: 1 }) };
  const shadow = { execute: async (code, providers, options) => (seen.push({ code, providers, options }), { result: 1 }) };
  const { executor } = pair(spy, shadow);
  const { signal } = new AbortController();
  const providers = [{ name: "a", fns: { ["__proto__"]: async () => 1, "x-y": async () => 2 }, prelude: "a.z = 1", positionalArgs: true }];
  await executor.execute("code", providers, { signal });
  await executor.idle();
  assert.deepEqual(seen.map(({ code }) => code), ["code", "code"]);
  for (const { providers: [{ name, fns, prelude, positionalArgs }] } of seen) {
    assert.deepEqual([name, Object.keys(fns), prelude, positionalArgs], ["a", ["__proto__", "x-y"], "a.z = 1", true]);
  }
  assert.equal(seen[0].options.signal, signal);
  assert.notEqual(seen[1].options.signal, signal);
});

test("an envelope of the shadow's is disposed, the primary's is the host's", async () => {
  const disposed = [];
  const of = (name) => ({ execute: async () => ({ result: 1, [Symbol.dispose]: () => disposed.push(name) }) });
  const { executor } = pair(of("primary"), of("shadow"));
  await executor.execute("x", []);
  await executor.idle();
  assert.deepEqual(disposed, ["shadow"]);
});

test("a shadow run is no part of the call that it began in", async () => {
  const storage = new AsyncLocalStorage();
  const stores = [];
  const { executor } = pair(here(), { execute: async () => (stores.push(storage.getStore()), { result: 1 }) });
  await storage.run("a tool call", () => executor.execute("async () => 1", []));
  await executor.idle();
  assert.deepEqual(stores, [undefined]);
});

test("after `close` programs are answered and not compared", async () => {
  let signal;
  const shadow = { execute: (code, providers, options) => ((signal = options.signal), new Promise(() => {})) };
  const { executor, faults } = pair(here(), shadow, { maxRunning: 1 });
  await executor.execute("async () => 1", []);
  await executor.execute("async () => 2", []);
  while (signal === undefined) await sleep(1);
  await executor.close();
  assert.equal(signal.aborted, true);
  assert.equal((await executor.execute("async () => 3", [])).result, 3);
  assert.deepEqual([executor.counts.skipped.closed, faults], [3, []]);
  assertCounted(executor.counts);
});

test("a Worker keeps its request alive for what is compared", async () => {
  const kept = [];
  const { executor } = pair(here(), here(), { keepAlive: (work) => kept.push(work) });
  await executor.execute("async () => 1", []);
  assert.equal(executor.counts.agreed, 0);
  await Promise.all(kept);
  assert.deepEqual([kept.length, executor.counts.agreed], [1, 1]);
});

test("unusable options are refused by name", () => {
  const good = { primary: here(), shadow: here(), tools: "replay", report: () => {} };
  const same = here();
  for (const [change, text] of [
    [{ primary: {} }, /^primary must be an executor/],
    [{ shadow: undefined }, /^shadow must be an executor/],
    [{ primary: same, shadow: same }, /same executor/],
    [{ tools: undefined }, /^tools must say .* "replay" or "twice", not undefined/],
    [{ report: undefined }, /^report must be a function/],
    [{ onFault: 1 }, /^onFault must be a function/],
    [{ sample: 1.5 }, /^sample must be a share from 0 to 1/],
    [{ sample: NaN }, /^sample/],
    [{ maxRunning: 0 }, /^maxRunning must be a whole number from 1/],
    [{ maxWaiting: -1 }, /^maxWaiting/],
    [{ maxRecorded: 1.5 }, /^maxRecorded/],
    [{ giveUpAfter: 0 }, /^giveUpAfter is 0 ms/],
  ]) {
    assert.throws(() => new ShadowExecutor({ ...good, ...change }), { code: "BAD_REQUEST", message: text });
  }
  assert.throws(() => new ShadowExecutor(), { code: "BAD_REQUEST", message: /^options must be an object/ });
});
