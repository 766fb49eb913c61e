// The shadow mode on real executors: upstream's in workerd with ours behind it, and two of ours in Node.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { DynamicWorkerExecutor } from "../../migration/node_modules/codemode-executor-bridge/dist/node/index.js";
import { ShadowExecutor } from "../../migration/node_modules/codemode-executor-bridge/dist/shadow/index.js";
import { startDaemon, until } from "../bridge/daemon.mjs";
import { serveHere } from "./workers.mjs";

const CORPUS = new URL("../side_by_side/corpus/", import.meta.url);
const STEP = process.env.CODEMODE_CORPUS === "all" ? 1 : 40;

let daemon;

before(async () => {
  daemon = await startDaemon();
});

after(() => daemon?.stop());

describe("upstream answers, ours runs in its shadow", () => {
  let worker;

  const start = () => serveHere("shadow_worker.mjs", { CODEMODE_URL: daemon.url, CODEMODE_TOKEN: daemon.token });

  before(async () => {
    worker = await start();
  });

  after(() => worker?.stop());

  async function ask(code, more = {}) {
    const response = await fetch(worker.url, { method: "POST", body: JSON.stringify({ code, ...more }) });
    assert.equal(response.status, 200, await response.clone().text());
    return await response.json();
  }

  test("a program with effects has them once, and both agree", async () => {
    const program = `async () => {
      const pages = [];
      for (let cursor, page; cursor !== null; cursor = page.next) pages.push(...(page = await codemode.page({ cursor })).items);
      const counts = [await codemode.count(), await codemode.count()];
      const [bytes, failed] = await Promise.all([codemode.bytes(), codemode.boomRich().catch((e) => e.message)]);
      console.log("counted", counts.join());
      return { pages, counts, bytes, failed, map: new Map([[1n, new Date(0)]]) };
    }`;
    const { answer, calls, reports, faults, counts } = await ask(program);
    assert.deepEqual(answer.result.counts, [1, 2]);
    assert.deepEqual(answer.result.bytes, { $: "Uint8Array", bytes: [0, 255, 128] });
    assert.deepEqual(answer.logs, ["counted 1,2"]);
    assert.deepEqual(calls, ["page", "page", "page", "count", "count", "bytes", "boomRich"]);
    assert.deepEqual([reports, faults, counts.agreed], [[], [], 1]);
  });

  test("races have the same winner", async () => {
    const { answer, reports, counts } = await ask(
      `async () => Promise.all([
        Promise.race([codemode.later(120, "slow"), codemode.later(5, "fast")]),
        Promise.race([codemode.later(300, "tool"), new Promise((done) => setTimeout(done, 80, "timer"))]),
      ])`,
    );
    assert.deepEqual(answer.result, ["fast", "timer"]);
    assert.deepEqual([reports, counts.agreed], [[], 1]);
  });

  test("a connector is asked once", async () => {
    const { answer, calls, reports } = await ask("async () => conn.find(new Set([1]))", { connector: true });
    assert.deepEqual(answer.result, { $: "Map", entries: [["find", { $: "Set", items: [1] }]] });
    assert.deepEqual([calls, reports], [["find"], []]);
  });

  test("failures are the same failures, also where upstream rejects", async () => {
    for (const program of ["async () => { throw new TypeError('no') }", "async () => codemode.nope()", "async () => ({", "async () => { throw null }"]) {
      const { answer, reports, faults } = await ask(program);
      assert.ok(answer.error ?? answer.rejected, program);
      assert.deepEqual([reports, faults], [[], []], program);
    }
  });

  // Of the page of differences: what a shadow says of them.
  for (const [difference, program, differs] of [
    ["failure-without-message", "async () => { throw 'a text' }", ["outcome"]],
    ["repaired-forms", "async () => 11;", ["outcome"]],
    ["no-harness-names", "async () => typeof __logs", ["result"]],
    ["unprintable-values", "async () => { console.log(Object.create(null)); return 1 }", ["outcome", "logs"]],
    ["tool-error-detail", "async () => codemode.boomRich().catch((e) => e.code ?? 'no code')", ["result"]],
    ["buffers-are-bytes", "async () => { const { Buffer } = await import('node:buffer'); return codemode.type(Buffer.from('a')) }", ["outcome", "calls"]],
  ]) {
    test(`it reports what is documented as ${difference}`, async () => {
      const { reports, faults, counts } = await ask(program);
      assert.deepEqual(faults, []);
      assert.deepEqual(reports.map((it) => it.differs), [differs]);
      assert.equal(reports[0].program, program);
      assert.equal(counts.disagreed, 1);
    });
  }

  test("a call that upstream's program did not make is not made", async () => {
    const program = "async () => { if (typeof __logs === 'undefined') await codemode.count(); return 1 }";
    const { answer, calls, reports } = await ask(program);
    assert.deepEqual([answer.result, calls], [1, []]);
    assert.deepEqual(reports[0].calls, { missing: [], unexpected: ["codemode.count"] });
    assert.match(reports[0].shadow.envelope.error, /codemode\.count was not called with these arguments/);
  });

  /** Asks, and once more where workerd goes down for reasons of its own. */
  async function askPatiently(code, more) {
    try {
      return await ask(code, more);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await worker.stop().catch(() => {});
      worker = await start();
      return await ask(code, more);
    }
  }

  test(`of the side-by-side comparison's programs, one of ${STEP}: nothing is reported that is not documented`, { timeout: 600_000 }, async () => {
    const lines = readdirSync(CORPUS).sort().flatMap((name) => readFileSync(new URL(name, CORPUS), "utf8").split("\n"));
    const cases = lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
    const alike = cases.filter((it) => !(it.difference ?? it.pending ?? it.upstream ?? it.outbound ?? it.through ?? it.timeout));
    let compared = 0;
    for (const it of alike.filter((_, index) => index % STEP === 0)) {
      const { id, code, prelude, modules, bindings, ns = "codemode", tools, compare = ["result", "error", "logs"] } = it;
      const more = { providers: it.providers ?? [{ ns, tools }], prelude, modules, bindings };
      const { reports, faults, counts } = await askPatiently(code, more);
      assert.deepEqual([faults, counts.agreed + counts.disagreed], [[], 1], id);
      // A case says what of it varies from run to run.
      const differs = reports.flatMap((report) => report.differs).filter((part) => ["outcome", "calls", ...compare].includes(part));
      assert.deepEqual(differs, [], `${id}: ${JSON.stringify(reports).slice(0, 1000)}`);
      compared += 1;
    }
    assert.ok(compared > 50, `only ${compared} programs`);
  });

  test("no daemon, a wrong token: answers as ever", async () => {
    for (const [ours, fault] of [
      [{ url: "ws://127.0.0.1:1", connectTimeout: 300 }, "CONNECT_FAILED"],
      [{ token: "not-the-token-of-it" }, "UNAUTHORIZED"],
    ]) {
      const { answer, calls, faults, counts } = await ask("async () => codemode.count()", { ours });
      assert.deepEqual([answer.result, calls, faults, counts.faults], [1, ["count"], [fault], 1]);
    }
  });

  test("the answer does not wait, and its request lives on for the comparison", async () => {
    const { answer } = await ask("async () => { throw 'late' }", { wait: false });
    assert.equal(answer.error, undefined);
    await until(async () => (await (await fetch(worker.url)).json()).length === 1, "a report after the answer", 60_000);
    assert.deepEqual(await (await fetch(worker.url)).json(), [["outcome"]]);
  });
});

describe("two of ours", () => {
  const tools = (fns) => [{ name: "codemode", fns }];
  const executors = [];

  /** Two executors of one daemon: the second as `options` say. */
  function pair(options, more) {
    const reports = [];
    const faults = [];
    const primary = new DynamicWorkerExecutor({ url: daemon.url, token: daemon.token });
    const shadow = new DynamicWorkerExecutor({ url: daemon.url, token: daemon.token, ...options });
    executors.push(primary, shadow);
    const executor = new ShadowExecutor({
      primary, shadow, tools: "replay", report: (it) => reports.push(it), onFault: ({ reason }) => faults.push(reason), ...more,
    });
    return { executor, reports, faults };
  }

  after(() => Promise.all(executors.map((executor) => executor.close())));

  test("tighter bounds are tried on the programs that there are", async () => {
    const { executor, reports } = pair({ timeout: 500, limits: { tool_calls: 3 } });
    const nap = async (ms) => new Promise((done) => setTimeout(done, ms, ms));
    for (const program of [
      "async () => codemode.nap(1)",
      "async () => { console.log('slow'); return codemode.nap(1000) }",
      "async () => { let sum = 0; for (let i = 0; i < 5; i++) sum += await codemode.nap(i); return sum }",
    ]) {
      assert.equal((await executor.execute(program, tools({ nap }))).error, undefined);
    }
    await executor.idle();
    assert.equal(executor.counts.agreed, 1);
    const [slow, many] = ["slow", "sum"].map((word) => reports.find(({ program }) => program.includes(word)));
    assert.deepEqual([slow.differs, slow.shadow.envelope.error], [["outcome"], "Execution timed out"]);
    assert.deepEqual([many.differs, many.calls.missing], [["outcome", "calls"], ["codemode.nap", "codemode.nap"]]);
    assert.match(many.shadow.envelope.error, /tool calls.*the limit is 3|limit.*3/);
  });

  test("a run that a tool call starts is shadowed as a run of its own", async () => {
    const { executor, reports, faults } = pair();
    const inner = async (text) => (await executor.execute(text, tools({ one: async () => 1 }))).result;
    const { result } = await executor.execute("async () => 1 + await codemode.inner('async () => codemode.one()')", tools({ inner }));
    await executor.idle();
    assert.deepEqual([result, executor.counts.agreed, reports, faults], [2, 2, [], []]);
  });

  test("many at once: every answer is right, and every program is accounted for", async () => {
    const { executor, reports, faults } = pair({}, { maxRunning: 3, maxWaiting: 10, sample: (code) => !code.includes("7") });
    const saved = [];
    const programs = Array.from({ length: 60 }, (_, i) => i);
    const answers = await Promise.all(
      programs.map((i) => executor.execute(`async () => codemode.save(${i})`, tools({ save: async (n) => (saved.push(n), n * 2) }))),
    );
    assert.deepEqual(answers.map(({ result }) => result), programs.map((i) => i * 2));
    await executor.idle();
    assert.deepEqual(saved.sort((a, b) => a - b), programs);
    const { runs, agreed, skipped } = executor.counts;
    assert.deepEqual([reports, faults, skipped.sampling], [[], [], 6]);
    assert.ok(agreed >= 10, `agreed ${agreed}`);
    assert.equal(runs, agreed + skipped.sampling + skipped.queue);
  });

  test("a daemon that dies under the shadow costs the comparison alone", async () => {
    const other = await startDaemon();
    const { executor, faults } = pair({ url: other.url, token: other.token });
    let called;
    const hold = new Promise((resolve) => (called = resolve));
    const wait = async () => new Promise((done) => setTimeout(done, 1000, called(1)));
    const answered = executor.execute("async () => { await codemode.wait(); return 'answer' }", tools({ wait }));
    await hold;
    assert.equal((await answered).result, "answer");
    await new Promise((done) => setTimeout(done, 300)); // the shadow waits for its recorded second
    other.child.kill("SIGKILL");
    await other.exited;
    await executor.idle();
    assert.deepEqual(faults.map(({ code }) => code), ["CONNECTION_LOST"]);
    assert.equal((await executor.execute("async () => 2", [])).result, 2);
  });

  test("closing ends what runs in the shadow", async () => {
    const { executor, faults } = pair();
    const nap = async () => new Promise((done) => setTimeout(done, 400));
    const program = "async () => { await codemode.nap(); for (;;); }";
    const primary = { execute: async (code, providers) => (await providers[0].fns.nap(), { result: undefined }) };
    const slow = new ShadowExecutor({ primary, shadow: executors.at(-1), tools: "replay", report: () => {}, onFault: (it) => faults.push(it) });
    await slow.execute(program, tools({ nap }));
    await new Promise((done) => setTimeout(done, 100)); // it runs, and would for a minute
    await slow.close();
    await executor.close();
    assert.deepEqual([slow.counts.skipped.closed, faults], [1, []]);
  });
});
