// Both sides of each migrated host, on the same questions and programs: what comes out, and what the host's tools saw.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { ask, callCode } from "../../migration/ask.mjs";
import { serve } from "../../migration/serve.mjs";
import { QUESTIONS } from "../../migration/shared/model.mjs";
import { PYTHON, startDaemon, until } from "../bridge/daemon.mjs";
import { MIGRATION } from "./workers.mjs";

const run = promisify(execFile);
const open = [];
let daemon;

before(async () => {
  daemon = await startDaemon();
});

after(async () => {
  await Promise.all(open.map(({ stop }) => stop()));
  await daemon?.stop();
});

/** Serves a Worker by its configuration until the tests are over. */
async function served(configuration, environment) {
  const worker = await serve(`${MIGRATION}${configuration}`, {
    environment: { CODEMODE_URL: daemon.url, CODEMODE_TOKEN: daemon.token, ...environment },
  });
  open.push(worker);
  return worker.url;
}

const both = (name) => Promise.all(["before", "after"].map((side) => served(`${side}/${name}.wrangler.json`)));

/** A question whose program misspells a tool: a documented difference. */
const MISSPELT = "What does globex owe?";

/** What an agent answers to each other question, and what it did. It is right for both sides, or for none. */
const EXPECTED = {
  "How much does acme owe?": { output: { type: "json", value: { result: 950 } }, reminders: [] },
  "Remind everybody who is late.": {
    output: { type: "json", value: { result: { reminded: 2 }, logs: ["reminding A-1", "reminding G-1"] } },
    reminders: ["A-1", "G-1"],
  },
  "Does initech owe anything?": {
    output: { type: "json", value: { result: "nothing: there is no customer initech" } },
    reminders: [],
  },
  "What does everybody owe in euros?": {
    output: {
      type: "error-text",
      value: 'Code execution failed: Tool "exchangeRate" not found\n\nConsole output:\n[warn] guessing the rate',
    },
    reminders: [],
  },
};

const read = ({ text, reminders }) => ({ output: JSON.parse(text.replace(/^The program came to /, "")), reminders });

const ALIKE = Object.keys(EXPECTED);

test("every question of the model's is asked", () => assert.deepEqual([...ALIKE, MISSPELT], QUESTIONS));

test("the Worker: the same answers, the same reminders", async () => {
  const sides = await both("worker");
  for (const question of ALIKE) {
    const [one, other] = await Promise.all(sides.map((url) => ask(url, question)));
    assert.deepEqual(read(one), EXPECTED[question], question);
    assert.deepEqual(other, one, question);
  }
});

describe("the MCP server", () => {
  let sides;
  const each = (code) => Promise.all(sides.map((url) => callCode(url, code)));

  before(async () => {
    sides = await both("mcp");
  });

  for (const [what, code, text, isError] of [
    ["a result", "async () => (await codemode.invoices({ customer: 'acme' })).map(({ id }) => id)", '[\n  "A-1",\n  "A-2"\n]', false],
    ["a tool that fails", "async () => codemode.invoices({ customer: 'initech' })", "Error: there is no customer initech", true],
    ["arguments that its schema refuses", "async () => codemode.invoices({}).catch((e) => /Invalid arguments/.test(e.message))", "true", false],
    ["a program that throws", "async () => { throw new RangeError('out of it') }", "Error: out of it", true],
    ["nothing", "async () => {}", "undefined", false],
  ]) {
    test(`answers ${what}`, async () => {
      const [one, other] = await each(code);
      assert.deepEqual([one.text, one.isError], [text, isError]);
      assert.deepEqual(other, one); // the tool's description and its types too
    });
  }

  test("cuts a long result in the same place", async () => {
    const [one, other] = await each("async () => Array.from({ length: 20000 }, (_, i) => `row ${i}`)");
    assert.ok(one.text.length < 30_000);
    assert.equal(other.text, one.text);
  });
});

describe("the Node host", () => {
  async function answers(side, ...questions) {
    return await Promise.all(
      questions.map(async (question) => {
        const { stdout, stderr } = await run(
          process.execPath,
          ["--import", "codemode-executor-bridge/register", `${side}/node.mjs`, question],
          { cwd: MIGRATION, env: { ...process.env, CODEMODE_PYTHON: PYTHON } },
        );
        assert.equal(stderr, "");
        return JSON.parse(stdout);
      }),
    );
  }

  test("the same answers, the same reminders", async () => {
    const questions = [ALIKE[1], ALIKE[3]]; // the others are the Worker's
    const one = await answers("before", ...questions);
    assert.deepEqual(one.map(read), questions.map((question) => EXPECTED[question]));
    assert.deepEqual(await answers("after", ...questions), one);
  });

  test("what a program can reach is what changes", async () => {
    // One way of many out of `node:vm`: a tool is a function of the host's, and its constructor compiles there.
    const escape = "async () => codemode.customers.constructor('return typeof process.env.PATH')()";
    const program = (file, name, options) => `
      import { ${name} } from "${file}";
      const executor = new ${name}(${options});
      console.log(JSON.stringify(await executor.execute(${JSON.stringify(escape)}, [{ name: "codemode", fns: { customers: async () => [] } }])));
    `;
    const inside = async (text) => {
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", text], { cwd: MIGRATION });
      return JSON.parse(stdout);
    };
    const vm = await inside(program("./shared/vm_executor.mjs", "VmExecutor", "{ timeout: 5000 }"));
    assert.equal(vm.result, "string");
    const options = JSON.stringify({ url: daemon.url, token: daemon.token });
    const ours = await inside(program("codemode-executor-bridge", "DynamicWorkerExecutor", options));
    assert.equal(ours.result, undefined);
    assert.match(ours.error, /Code generation from strings disallowed/);
  });
});

describe("the network of a host on the raw Worker Loader", () => {
  let site;
  let url;
  const asked = [];

  before(async () => {
    site = createServer((request, response) => (asked.push(request.url), response.end("secret of the intranet")));
    await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${site.address().port}`;
  });

  after(() => site?.close());

  const ask = async (worker, path) => {
    const program = `async () => (await fetch("${url}${path}")).text()`;
    return await (await fetch(worker, { method: "POST", body: program })).json();
  };

  test("is the host's before, and closed after, unless it is opened", async () => {
    const [loader, closed, opened] = await Promise.all([
      served("loader/before.wrangler.json"),
      served("loader/after.wrangler.json"),
      served("loader/after.wrangler.json", { CODEMODE_NETWORK: "open" }),
    ]);
    assert.deepEqual(await ask(loader, "/before"), { result: "secret of the intranet" });
    assert.match((await ask(closed, "/closed")).error, /This worker is not permitted to access the internet/);
    assert.deepEqual(await ask(opened, "/opened"), { result: "secret of the intranet" });
    assert.deepEqual(asked, ["/before", "/opened"]);
  });
});

describe("a rollout", () => {
  const question = "Remind everybody who is late.";
  const inStage = (stage) => served("rollout/worker.wrangler.json", { CODEMODE_STAGE: stage });

  // It ends with its standard input, and so with these tests, however they end.
  const WITH_STDIN = "data:text/javascript,process.stdin.once('end',()=>process.exit()).resume()";

  /** The Worker as a process in the stage `shadow`, whose output is what an operator reads. */
  async function shadowing(environment) {
    const child = spawn(process.execPath, ["--import", WITH_STDIN, "serve.mjs", "rollout/worker.wrangler.json"], {
      cwd: MIGRATION,
      env: { ...process.env, PORT: "0", CODEMODE_URL: daemon.url, CODEMODE_TOKEN: daemon.token, ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    const exited = new Promise((resolve) => child.once("close", resolve));
    open.push({ stop: () => (child.stdin.end(), exited) });
    await until(() => /listening on (\S+)/.test(output) || child.exitCode !== null, "a Worker that listens", 60_000);
    assert.equal(child.exitCode, null, output);
    return { url: /listening on (\S+)/.exec(output)[1], output: () => output };
  }

  test("goes on and back by configuration, and every stage answers the same", async () => {
    for (const url of await Promise.all(["before", "after"].map(inStage))) {
      assert.deepEqual(read(await ask(url, question)), EXPECTED[question]);
    }
    await assert.rejects(async () => ask(await inStage("sideways"), question), /CODEMODE_STAGE is sideways; it must be one of before, shadow, after/);
  });

  test("in its shadow stage, what differs and what fails is heard of, and felt by nobody", async () => {
    const [shadow, broken] = await Promise.all([shadowing({}), shadowing({ CODEMODE_TOKEN: "not-the-token-of-it" })]);
    for (const { url } of [shadow, broken]) assert.deepEqual(read(await ask(url, question)), EXPECTED[question]);
    await until(() => broken.output().includes("shadow run failed UNAUTHORIZED"), "the fault", 60_000);
    await ask(shadow.url, MISSPELT);
    await until(() => shadow.output().includes("executors differ"), "the disagreement", 60_000);
    const [, text] = /executors differ (\{.*\})/.exec(shadow.output());
    const { differs, calls, errors } = JSON.parse(text);
    assert.deepEqual([differs, calls], [["error"], { missing: [], unexpected: [] }]);
    assert.deepEqual(errors, ['Tool "invoice" not found', 'Tool "invoice" not found. Did you mean invoices?']);
    assert.doesNotMatch(shadow.output(), /shadow run failed/);
  });
});
