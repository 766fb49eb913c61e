import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, before, test } from "node:test";
import { DynamicWorkerExecutor, ExecutorError } from "../../dist/node/index.js";
import { HELLO, LIMITS } from "../scripted.mjs";
import { TOKEN, obliging, serve } from "../server.mjs";

/** An executor, and a daemon that does what `script` says with every client. */
async function pair(script, { options, greet } = {}) {
  const server = await serve(script, { greet: greet ?? HELLO });
  const executor = new DynamicWorkerExecutor({ url: server.url, token: TOKEN, ...options });
  return { server, executor, end: async () => (await executor.close(), await server.close()) };
}

const accept = (peer, run) => peer.say({ t: "accepted", run, token: `token ${run}` });
const call = (run, n, more) => [{ t: "call", run, call: n, kind: "tool", provider: "codemode", tool: "echo", ...more }, more?.payload ?? "[]"];
const tools = (fns) => [{ name: "codemode", fns }];
const result = (peer, run, payload = "0") => peer.say([{ t: "result", run }, payload]);

/** Has the client serve one call, in a run of its own; answers what it sent. */
async function served(message, { providers = [], connectors = [], options } = {}) {
  let answer;
  const { executor, end } = await pair(async (peer) => {
    const { run } = await peer.next("run");
    accept(peer, run);
    peer.say([{ t: "call", run, call: 1, provider: "", ...message[0] }, message[1]]);
    answer = await Promise.race([peer.next("answer"), peer.next("answer_error")]);
    result(peer, run);
  }, { options });
  await executor.execute("x", providers, { connectors });
  await end();
  const { t, payload, message: text, name, code, details, cause } = answer;
  return t === "answer" ? payload : { message: text, name, code, details, cause };
}

const tool = (name, payload = "[]") => [{ kind: "tool", provider: "codemode", tool: name }, payload];

test("a tool is called with its arguments, and answers in the codec", async () => {
  const providers = tools({ echo: async (...args) => args, bytes: async () => new Uint8Array([1]), nothing: async () => undefined });
  assert.equal(await served(tool("echo", '[1,{"a":"\\ud800"}]'), { providers }), '[1,{"a":"\\ud800"}]');
  assert.equal(await served(tool("bytes"), { providers }), '{"__codemode_binary_v1__":"Uint8Array","data":"AQ=="}');
  assert.equal(await served(tool("nothing"), { providers }), "");
});

test("a tool that throws what cannot be read fails its call, and not its host", async () => {
  const no = () => { throw new Error("no"); };
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const error = (more) => Object.defineProperties(new RangeError("far"), Object.getOwnPropertyDescriptors(more));
  const wordless = /^a value was thrown that has no text$/;
  for (const [thrown, message] of [
    ["k=v".match(/(?<key>.)/).groups, wordless],
    [revoked, wordless],
    [new Proxy(new Error("a"), { get: no, getPrototypeOf: no }), wordless],
    [new Proxy(new Error("a"), { get: no }), /^Error$/],
    [error({ get details() { return no(); }, get code() { return no(); }, get cause() { return no(); } }), /^far$/],
    [error({ get message() { return no(); } }), /^RangeError$/],
    // As a program can send it: Object.assign(new Error(…), input).
    [error({ message: { toString: 1, valueOf: 1 } }), /^RangeError$/],
    [error({ name: { toString: 1, valueOf: 1 }, cause: error({ message: { toString: 1, valueOf: 1 } }) }), /^far$/],
  ]) {
    assert.match((await served(tool("boom"), { providers: tools({ boom: async () => { throw thrown; } }) })).message, message);
  }
});

test("a tool that throws, that is not there, that answers too much, that cannot be encoded", async () => {
  const thrown = Object.assign(new TypeError("bad", { cause: new Error("inner") }), { code: "E1", details: { n: 1 } });
  const providers = tools({
    boom: async () => { throw thrown; },
    empty: () => { throw ""; },
    cyclic: async () => { const a = {}; a.a = a; return a; },
    big: async () => "€".repeat(2000),
  });
  assert.deepEqual(await served(tool("boom"), { providers }), { message: "bad", name: "TypeError", code: "E1", details: { n: 1 }, cause: "Error: inner" });
  assert.match((await served(tool("empty"), { providers })).message, /empty value/);
  assert.match((await served(tool("cyclic"), { providers })).message, /circular/);
  for (const name of ["nope", "toString", "constructor", "__proto__"]) {
    assert.equal((await served(tool(name), { providers })).message, `Tool "${name}" not found`);
  }
  const limited = await served(tool("big"), { providers, options: { limits: { tool_result_bytes: 6000 } } });
  assert.equal(limited.message, "the result of codemode.big is 6002 bytes long; the limit is 6000 bytes (Limits.tool_result_bytes)");
  assert.match((await served(tool("boom", "{"), { providers })).message, /not JSON/);
});

test("a connector is asked by its method and one argument, as by structured clone", async () => {
  const binding = { n: 2, async callTool(method, args) { return [method, args, this.n, new Date(0)]; } };
  const connectors = [{ name: "conn", binding }];
  const rich = await served([{ kind: "connector", provider: "conn", tool: "get" }, '2{"root":["i","7"],"table":[]}'], { connectors });
  assert.equal(rich, '2{"root":{"r":0},"table":[["a","get",["i","7"],2,{"r":1}],["d",0]]}');
  const failing = [{ name: "conn", binding: { callTool: async () => { throw new RangeError("no"); } } }];
  assert.equal((await served([{ kind: "connector", provider: "conn", tool: "get" }, "0"], { connectors: failing })).message, "no");
  assert.match((await served([{ kind: "connector", provider: "conn", tool: "get" }, "7x"], { connectors })).message, /form 7/);
});

test("functions of bindings are called by path", async () => {
  const bindings = { DB: { query: (a, b) => a + b }, list: [() => "in a list"], n: 1 };
  const env = (path, payload = "1[]") => [{ kind: "env", tool: path }, payload];
  assert.equal(await served(env("DB.query", "1[1,2]"), { options: { bindings } }), "13");
  assert.equal(await served(env("list[0]"), { options: { bindings } }), '1"in a list"');
  assert.match((await served(env("DB.drop"), { options: { bindings } })).message, /does not implement the method "DB\.drop"/);
  assert.match((await served(env("DB.query", "11"), { options: { bindings } })).message, /array/);
});

test("what a service answered is let go when the run has ended, also where no call is open then", async () => {
  class Fetcher {}
  const released = [];
  const answer = Object.defineProperty(() => 7, Symbol.dispose, { value: () => released.push("answer") });
  // As workerd's stubs look: they have every name.
  const service = new Proxy(new Fetcher(), { has: () => true, get: (it, name) => (name === "make" ? () => answer : it[name]) });
  const calling = [{ kind: "env", tool: "S.make" }, "1[]"];
  assert.equal(await served(calling, { options: { bindings: { S: service } } }), '2{"root":["h",0],"table":[]}');
  assert.deepEqual(released, ["answer"]);
});

test("globalOutbound is given real requests, a Fetcher or a function", async () => {
  const seen = [];
  const outbound = async (request) => {
    seen.push([request instanceof Request, request.method, request.url, request.headers.get("x-a"), await request.text()]);
    return new Response("body", { status: 201, headers: { "x-b": "2" } });
  };
  const asked = '1{"url":"http://a.example/p","method":"POST","headers":[["x-a","1"]],"body":null,"redirect":"follow"}';
  for (const globalOutbound of [outbound, { fetch: outbound }]) {
    const answer = await served([{ kind: "outbound", tool: "fetch" }, asked], { options: { globalOutbound } });
    const { root, table } = JSON.parse(answer.slice(1));
    assert.equal(root.r, 0);
    assert.ok(answer.includes('"status",201') && answer.includes('"x-b","2"') && answer.includes(btoa("body")), answer);
    assert.ok(table.length > 2);
  }
  assert.deepEqual(seen, Array(2).fill([true, "POST", "http://a.example/p", "1", ""]));
  const refused = async (text) => (await served([{ kind: "outbound", tool: "fetch" }, text], { options: { globalOutbound: outbound } })).message;
  assert.match(await refused('1{"url":"file:///etc/passwd"}'), /http: or https:/);
  assert.match(await refused('1{"url":"http://a/","headers":{"a":1}}'), /pairs/);
  assert.match(await refused("1null"), /object/);
  assert.equal(seen.length, 2);
  const none = await served([{ kind: "outbound", tool: "fetch" }, asked]);
  assert.match(none.message, /nobody serves the network/);
  const redirect = { globalOutbound: (request) => new Response(null, { status: 302, headers: { location: `http://b/${request.redirect}` } }) };
  const hop = await served([{ kind: "outbound", tool: "fetch" }, '1{"url":"http://a/","redirect":"follow"}'], { options: redirect });
  assert.ok(hop.includes('"status",302') && hop.includes("http://b/manual"), "the program follows redirects, hop by hop");
  const text = { globalOutbound: () => { throw "a text"; } };
  const thrown = await served([{ kind: "outbound", tool: "fetch" }, '1{"url":"http://a/"}'], { options: text });
  assert.deepEqual([thrown.message, thrown.name], ["a text", "Error"]);
  const failed = { globalOutbound: () => Response.error() };
  assert.match((await served([{ kind: "outbound", tool: "fetch" }, '1{"url":"http://a/"}'], { options: failed })).message, /Response\.error/);
  const endless = { globalOutbound: () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(65536)) })), limits: { tool_result_bytes: 1e6 } };
  assert.match((await served([{ kind: "outbound", tool: "fetch" }, '1{"url":"http://a/"}'], { options: endless })).message, /longer than \d+ bytes/);
});

test("a request to the network is aborted when the program does not want it, or has ended", async () => {
  const aborted = [];
  const globalOutbound = (request) => new Promise(() => request.signal.addEventListener("abort", () => aborted.push(request.url)));
  const { executor, end } = await pair(async (peer) => {
    const { run } = await peer.next("run");
    accept(peer, run);
    for (const [n, host] of [[1, "a"], [2, "b"]]) peer.say([{ t: "call", run, call: n, kind: "outbound", provider: "", tool: "fetch" }, `1{"url":"http://${host}/"}`]);
    peer.say({ t: "cancel_call", run, call: 1 });
    result(peer, run);
  }, { options: { globalOutbound } });
  await executor.execute("x", []);
  assert.deepEqual(aborted, ["http://a/", "http://b/"]);
  await end();
});

test("what is sent of a run", async () => {
  let run;
  const bindings = { K: "v", f: () => 1, bytes: new Uint8Array([1]), fake: { __codemode_binary_v1__: "function", data: "f" } };
  const modules = { "a.js": "1", "b.bin": { data: new Uint8Array([1]) }, "c": { json: { a: 1 } }, "executor.js": "ignored" };
  const { executor, end } = await pair(async (peer) => {
    run = await peer.next("run");
    accept(peer, run.run);
    result(peer, run.run);
  }, { options: { bindings, modules, timeout: 1500, limits: { tool_calls: 5 }, globalOutbound: null } });
  const connectors = [{ name: "conn", binding: { callTool: async () => 1 } }];
  await executor.execute("code", [{ name: "a", fns: { "x.y": async () => 1 }, prelude: "a.z = 1" }], { connectors });
  await end();
  assert.deepEqual(run, {
    t: "run", run: 1, code: "code",
    providers: [{ name: "a", tools: ["x.y"], prelude: "a.z = 1" }, { name: "conn", connector: true }],
    functions: ["f"],
    modules: [{ name: "a.js", source: "1" }, { name: "b.bin", kind: "data", source: "AQ==" }, { name: "c", kind: "json", source: '{"a":1}' }],
    limits: { tool_calls: 5, timeout_s: 1.5 },
    payload: '{"K":"v","f":{"__codemode_binary_v1__":"function","data":"f"},"bytes":{"__codemode_binary_v1__":"Uint8Array","data":"AQ=="},"fake":{"__codemode_binary_v1__":"escaped","value":{"__codemode_binary_v1__":"function","data":"f"}}}',
  });
});

test("the envelope: result, error, logs", async () => {
  const ends = [
    [(peer, run) => peer.say([{ t: "result", run }, '2{"root":["n","NaN"],"table":[]}']), { result: NaN, logs: ["a", "[warn] b", "[error] c", "[notice] d"] }],
    [(peer, run) => peer.say({ t: "error", run, message: "no" }), { result: undefined, error: "no", logs: ["a", "[warn] b", "[error] c", "[notice] d"] }],
    [(peer, run) => peer.say([{ t: "result", run }, "9"]), { result: undefined, error: "the result cannot be decoded: the form 9 is unknown", logs: ["a", "[warn] b", "[error] c", "[notice] d"] }],
  ];
  for (const [finish, expected] of ends) {
    const { executor, end } = await pair(async (peer) => {
      const { run } = await peer.next("run");
      accept(peer, run);
      peer.say({ t: "logs", run, lines: [["log", "a"], ["debug", "not kept"], ["warn", "b"], ["error", "c"], ["notice", "d"]] });
      finish(peer, run);
    });
    assert.deepEqual(await executor.execute("x", []), expected);
    await end();
  }
});

test("names are refused in upstream's words, before anything is sent", async () => {
  const { server, executor, end } = await pair(obliging);
  const fns = {};
  for (const [providers, connectors, error] of [
    [[{ name: "console", fns }], [], 'Provider name "console" is reserved'],
    [[{ name: "JSON", fns }], [], 'Provider name "JSON" is reserved'],
    [[{ name: "a-b", fns }], [], 'Provider name "a-b" is not a valid JavaScript identifier'],
    [[{ name: "a", fns }, { name: "a", fns }], [], 'Duplicate provider name "a"'],
    [[{ name: "a", fns }], [{ name: "a", binding: { callTool() {} } }], 'Duplicate name "a" (connector clashes with provider)'],
    [[{ name: "a", fns: { "x.y": async () => 1, x_y: async () => 1 } }], [], 'Tool names "x.y" and "x_y" both sanitize to "x_y" in provider "a"'],
  ]) {
    assert.deepEqual(await executor.execute("1", providers, { connectors }), { result: undefined, error });
  }
  assert.equal(server.peers.length, 0);
  await end();
});

test("a program beyond the daemon's bound is an outcome, and is not sent", async () => {
  const { server, executor, end } = await pair(obliging, { greet: { ...HELLO, limits: { ...LIMITS, program_bytes: 10 } } });
  const { error } = await executor.execute("é".repeat(6), []);
  assert.equal(error, "the program is 12 bytes long; the limit is 10 bytes: send a shorter one");
  assert.equal((await executor.execute("é".repeat(5), [])).result, 1);
  assert.equal(server.peers.length, 1);
  await end();
});

test("a refused run is tried again where that may help, as often as there is time", async () => {
  let asked = 0;
  const { executor, server, end } = await pair(async (peer) => {
    for (;;) {
      const { run } = await peer.next("run");
      asked += 1;
      if (asked < 3) peer.say({ t: "refused", run, code: asked === 1 ? "BUSY" : "QUEUE_FULL", message: "m", retry_after_s: 0.01 });
      else if (asked === 3) (accept(peer, run), result(peer, run, "13"));
      else peer.say({ t: "refused", run, code: "QUEUE_FULL", message: "full", retry_after_s: 100 });
    }
  });
  assert.equal((await executor.execute("1", [])).result, 3);
  assert.equal(server.peers.length, 1, "on the same connection");
  await assert.rejects(executor.execute("1", []), { code: "QUEUE_FULL", message: "full", retryAfterMs: 100_000 });
  assert.equal(asked, 4);
  await end();
});

for (const code of ["BAD_REQUEST", "QUEUE_TIMEOUT", "RETAINED_LIMIT", "NESTING_LIMIT", "WORKER_START_FAILED"]) {
  test(`refused with ${code}: rejected, and not tried again`, async () => {
    let asked = 0;
    const { executor, end } = await pair(async (peer) => {
      const { run } = await peer.next("run");
      asked += 1;
      peer.say({ t: "refused", run, code, message: "the reason" });
    });
    await assert.rejects(executor.execute("1", []), (error) => error instanceof ExecutorError && error.code === code && error.message === "the reason");
    assert.equal(asked, 1);
    await end();
  });
}

test("a fault of the machinery rejects", async () => {
  const { executor, end } = await pair(async (peer) => {
    const { run } = await peer.next("run");
    accept(peer, run);
    peer.say({ t: "fault", run, code: "WORKER_CRASHED", message: "it died" });
  });
  await assert.rejects(executor.execute("1", []), { code: "WORKER_CRASHED", message: "it died" });
  await end();
});

// The socket is cut at every point of a run's life: the run is never sent a second time, and its promise always settles.
const LIFE = ["before hello", "after hello", "after the run", "after accepted", "after a call", "after the answer", "after the result"];
for (const [point, name] of LIFE.entries()) {
  test(`the socket is cut ${name}`, async () => {
    let runs = 0;
    let cuts = 0;
    const { executor, end } = await pair(async (peer) => {
      const cut = (here) => here === point && cuts === 0 && ((cuts += 1), peer.socket.destroy(), true);
      if (cut(0)) return;
      if (point === 1 && cuts === 0) setTimeout(() => cut(1), 30);
      for (;;) {
        const { run, code } = await peer.next("run");
        if (code === "1") runs += 1;
        if (cut(2)) return;
        accept(peer, run);
        if (cut(3)) return;
        peer.say(call(run, 1));
        if (cut(4)) return;
        await peer.next("answer");
        if (cut(5)) return;
        result(peer, run, "17");
        if (cut(6)) return;
      }
    });
    const outcome = await executor.execute("1", tools({ echo: async () => 1 })).catch((error) => error);
    // Cut while, or after, nothing was begun, it is simply another connection's.
    if (point === 0) assert.equal(outcome.result, 7);
    else if (outcome instanceof ExecutorError) assert.equal(outcome.code, "CONNECTION_LOST");
    else assert.equal(outcome.result, 7);
    assert.equal(runs, 1);
    await new Promise((resolve) => setTimeout(resolve, 50)); // an idle connection's end takes a moment to arrive
    assert.equal((await executor.execute("2", tools({ echo: async () => 1 }))).result, 7);
    await end();
  });
}

test("a late answer of one run is not the next one's", async () => {
  let release;
  const late = new Promise((resolve) => (release = resolve));
  const answers = [];
  const { executor, server, end } = await pair(async (peer) => {
    const first = await peer.next("run");
    accept(peer, first.run);
    peer.say(call(first.run, 1));
    peer.say({ t: "error", run: first.run, message: "Execution timed out" });
    const second = await peer.next("run");
    accept(peer, second.run);
    peer.say(call(second.run, 1));
    release();
    answers.push(await peer.next("answer"));
    result(peer, second.run);
  });
  let calls = 0;
  const echo = async () => ((calls += 1) === 1 ? late.then(() => "late") : late.then(() => new Promise((resolve) => setTimeout(resolve, 50, "right"))));
  assert.equal((await executor.execute("1", tools({ echo }))).error, "Execution timed out");
  await executor.execute("2", tools({ echo }));
  assert.deepEqual(answers.map(({ run, payload }) => [run, payload]), [[2, '"right"']]);
  assert.equal(server.peers.length, 1);
  await end();
});

test("a signal ends the run: execute rejects at once, the daemon is told, the connection serves again", async () => {
  let cancelled;
  let begun = false;
  const { executor, end } = await pair(async (peer) => {
    const first = await peer.next("run");
    accept(peer, first.run);
    begun = true;
    cancelled = (await peer.next("cancel")).run;
    peer.say({ t: "fault", run: first.run, code: "CANCELLED", message: "cancelled" });
    obliging(peer);
  }, { options: { maxConnections: 1 } });
  const controller = new AbortController();
  const running = executor.execute("1", [], { signal: controller.signal });
  while (!begun) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort(new Error("enough"));
  await assert.rejects(running, /enough/);
  assert.equal((await executor.execute("1", [])).result, 1);
  assert.equal(cancelled, 1);
  await assert.rejects(executor.execute("1", [], { signal: AbortSignal.abort(new Error("before")) }), /before/);
  await end();
});

test("closing ends what runs with CLOSED; nothing runs afterwards; twice is fine", async () => {
  const { executor, server, end } = await pair(() => {});
  const running = executor.execute("1", []);
  while (server.peers[0]?.messages.length !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await executor.close();
  await assert.rejects(running, { code: "CLOSED" });
  await assert.rejects(executor.execute("1", []), { code: "CLOSED" });
  await executor.close();
  await end();
});

test("executors with the same options share their connections, and the last that closes ends them", async () => {
  const server = await serve(obliging);
  const make = (timeout) => new DynamicWorkerExecutor({ url: server.url, token: TOKEN, timeout });
  const [a, b] = [make(1000), make(2000)];
  await a.execute("1", []);
  await a.close();
  await b.execute("1", []);
  assert.equal(server.peers.length, 1);
  await b.close();
  await server.peers[0].closed;
  await server.close();
});

test("a run that a tool starts names its parent, and tools are called in the context of whoever started the run", async () => {
  const parents = [];
  const { executor, end } = await pair(async (peer) => {
    for (;;) {
      const { run, parent, code } = await peer.next("run");
      parents.push([code, parent]);
      peer.say({ t: "accepted", run, token: `token of ${code}` });
      if (code === "outer") {
        peer.say(call(run, 1));
        await peer.next("answer");
      }
      result(peer, run);
    }
  });
  const context = new AsyncLocalStorage();
  const seen = [];
  const echo = async () => {
    seen.push(context.getStore());
    await executor.execute("inner", []);
  };
  await context.run("first", () => executor.execute("outer", tools({ echo })));
  await context.run("second", () => executor.execute("outer", tools({ echo })));
  await executor.execute("alone", []);
  assert.deepEqual(parents, [["outer", undefined], ["inner", "token of outer"], ["outer", undefined], ["inner", "token of outer"], ["alone", undefined]]);
  assert.deepEqual(seen, ["first", "second"], "although both came by a socket that was opened in the first's");
  await end();
});

test("functions of a result can be called until it is disposed", async () => {
  const sent = [];
  const { executor, end } = await pair(async (peer) => {
    const { run, retain } = await peer.next("run");
    sent.push(retain);
    accept(peer, run);
    peer.say([{ t: "result", run, retained: true }, '2{"root":{"r":0},"table":[["o","f",["h",0],"g",["h",0],"boom",["h",1]]]}']);
    const first = await peer.next("invoke");
    sent.push(first.handle, first.payload);
    peer.say([{ t: "invoked", run, invocation: first.invocation }, '2{"root":["h",2],"table":[]}']);
    const second = await peer.next("invoke");
    sent.push(second.handle);
    peer.say({ t: "invoke_failed", run, invocation: second.invocation, code: "HANDLE_CALL_FAILED", message: "no", name: "TypeError", stack: "s" });
    await peer.next("cancel");
    peer.say({ t: "over", run, message: "cancelled" });
    obliging(peer);
  }, { options: { maxConnections: 1 } });
  const envelope = await executor.execute("x", [], { retainHandles: true });
  assert.deepEqual(Object.keys(envelope), ["result", "logs"]);
  const { f, g, boom } = envelope.result;
  assert.equal(f, g);
  const made = await f(1, new Set([2]));
  assert.equal(typeof made, "function");
  await assert.rejects(boom(), { code: "HANDLE_CALL_FAILED", message: "no", programError: "TypeError" });
  envelope[Symbol.dispose]();
  envelope[Symbol.dispose]();
  await assert.rejects(f(1), { code: "HANDLE_DISPOSED", message: /disposed/ });
  assert.deepEqual(sent, [true, 0, '2{"root":{"r":0},"table":[["a",1,{"r":1}],["e",2]]}', 1]);
  assert.equal((await executor.execute("1", [])).result, 1);
  await end();
});

test("functions of a result end with their run and with their connection", async () => {
  for (const finish of [(peer, run) => peer.say({ t: "over", run, message: "idle for 60 s" }), (peer) => peer.socket.destroy()]) {
    const { executor, end } = await pair(async (peer) => {
      const { run } = await peer.next("run");
      accept(peer, run);
      peer.say([{ t: "result", run, retained: true }, '2{"root":["h",0],"table":[]}']);
      await peer.next("invoke");
      finish(peer, run);
    });
    const { result: f } = await executor.execute("x", [], { retainHandles: true });
    await assert.rejects(f(), { code: "HANDLE_DISPOSED" });
    await assert.rejects(f(), { code: "HANDLE_DISPOSED" });
    await end();
  }
});

const URL_ = "ws://127.0.0.1:1";
const UNUSABLE = [
  ["no address of a daemon", { url: "ftp://x", token: TOKEN }, /url must be/],
  ["an address that is none", { url: 7, token: TOKEN }, /url must be/],
  ["a token in the address", { url: "ws://x/?token=y", token: TOKEN }, /never goes into a URL/],
  ["credentials in the address", { url: "ws://a:b@x/", token: TOKEN }, /never goes into a URL/],
  ["a relative socket", { url: "unix:s", token: TOKEN }, /url must be/],
  ["no token", { url: URL_ }, /token must be/],
  ["a short token", { url: URL_, token: "short" }, /16 to 512/],
  ["a token without an address", { token: TOKEN }, /without url/],
  ["a Python and an address", { url: URL_, token: TOKEN, python: "python3" }, /python is for the embedded/],
  ["a timeout of zero", { url: URL_, token: TOKEN, timeout: 0 }, /timeout is 0 ms/],
  ["a timeout that is text", { url: URL_, token: TOKEN, timeout: "60" }, /timeout must be a number/],
  ["a timeout beyond timers", { url: URL_, token: TOKEN, timeout: 2 ** 31 }, /2\^31 - 1/],
  ["no connections", { url: URL_, token: TOKEN, maxConnections: 0 }, /maxConnections/],
  ["an outbound that is none", { url: URL_, token: TOKEN, globalOutbound: "yes" }, /globalOutbound/],
  ["modules that are a list", { url: URL_, token: TOKEN, modules: { m: 7 } }, /modules\["m"\]/],
  ["a module of two kinds", { url: URL_, token: TOKEN, modules: { m: { js: "", cjs: "" } } }, /one member/],
  ["a module that is no JSON", { url: URL_, token: TOKEN, modules: { m: { json: undefined } } }, /no form in JSON/],
  ["bindings that are a list", { url: URL_, token: TOKEN, bindings: [] }, /bindings must be/],
  ["an instance among bindings", { url: URL_, token: TOKEN, bindings: { a: { m: [new (class Own {})()] } } }, /bindings\.a\.m\[0\] is an instance of Own/],
  ["an instance inside a Map among bindings", { url: URL_, token: TOKEN, bindings: { m: new Map([[1, new URL("http://a/")]]) } }, /bindings\.m \(an entry\) is an instance of URL/],
  ["a symbol among bindings", { url: URL_, token: TOKEN, bindings: { s: Symbol("s") } }, /bindings\.s is a symbol/],
  ["what only looks like a number among bindings", { url: URL_, token: TOKEN, bindings: { n: { [Symbol.toStringTag]: "Number", __proto__: class {}.prototype } } }, /cannot be given to a program/],
  ["too many functions among bindings", { url: URL_, token: TOKEN, bindings: Array.from({ length: 1001 }, () => () => 1).reduce((all, f, i) => ({ ...all, [`f${i}`]: f }), {}) }, /more than 1000/],
  ["a function too deep among bindings", { url: URL_, token: TOKEN, bindings: { ["k".repeat(300)]: () => 1 } }, /longer than 256 characters/],
];
for (const [what, options, message] of UNUSABLE) {
  test(`unusable: ${what}`, () => assert.throws(() => new DynamicWorkerExecutor(options), { code: "BAD_REQUEST", message }));
}

for (const [what, args, message] of [
  ["code that is no text", [7, []], /code must be a string/],
  ["providers that are text", ["1", "x"], /providersOrFns must be/],
  ["a provider without a name", ["1", [{ fns: {} }]], /\[0\]\.name/],
  ["a tool that is no function", ["1", [{ name: "a", fns: { f: 1 } }]], /"f" is not a function/],
  ["a prelude that is no text", ["1", [{ name: "a", fns: {}, prelude: 1 }]], /prelude/],
  ["a connector that cannot be called", ["1", [], { connectors: [{ name: "a", binding: {} }] }], /callTool/],
]) {
  test(`unusable: ${what}`, async () => {
    const executor = new DynamicWorkerExecutor({ url: URL_, token: TOKEN });
    await assert.rejects(executor.execute(...args), { code: "BAD_REQUEST", message });
    await executor.close();
  });
}

// What the package writes to the console, kept from the test's output.
const written = [];
const original = { info: console.info, warn: console.warn };
before(() => Object.assign(console, { info: (text) => written.push(text), warn: (text) => written.push(text) }));
after(() => Object.assign(console, original));

test("a loader is accepted, and ignored with one notice; raw functions are deprecated", async () => {
  const { executor, server, end } = await pair(obliging, { options: { loader: { load() {} } } });
  await new DynamicWorkerExecutor({ url: server.url, token: TOKEN, loader: {} }).close();
  assert.deepEqual(written.splice(0), ["[codemode-executor] The option loader is ignored: programs run in the codemode-executor daemon."]);
  await executor.execute("1", { f: async () => 1 });
  assert.match(written.pop(), /Passing raw fns to executor\.execute\(\) is deprecated/);
  await end();
});

test("a timeout beyond the daemon's bound is noticed once", async () => {
  const { executor, end } = await pair(obliging, { options: { timeout: 120_000 } });
  await executor.execute("1", []);
  await executor.execute("1", []);
  assert.equal(written.length, 1);
  assert.match(written.pop(), /timeout is 120000 ms.*60000 ms.*--limit timeout_s/);
  await end();
});
