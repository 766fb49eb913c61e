import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection } from "../../dist/connections/connection.js";
import { backoffMs } from "../../dist/connections/timers.js";
import { HELLO, RUN, ScriptedTransport, recorder, turn } from "../scripted.mjs";

const options = { connectTimeoutMs: 5000, later: (action) => void setImmediate(action) };

async function opened(greeting) {
  const transport = new ScriptedTransport(greeting);
  return { transport, connection: await Connection.open(transport.dial, options) };
}

async function running(greeting) {
  const { transport, connection } = await opened(greeting);
  const { told, handler } = recorder();
  const run = connection.begin(RUN, handler);
  transport.say({ t: "accepted", run, token: "t" });
  return { transport, connection, told, run };
}

const call = (run, n) => [{ t: "call", run, call: n, kind: "tool", provider: "p", tool: "t" }, "[]"];

test("a connection is open once the daemon has said hello", async () => {
  const { transport, connection } = await opened();
  assert.equal(connection.usable, true);
  assert.equal(connection.hello.maxMessageBytes, HELLO.max_message_bytes);
  assert.equal(transport.held, false, "it does not keep the process alive");
});

test("one that says nothing is given up", async () => {
  const transport = new ScriptedTransport(null);
  const opening = Connection.open(transport.dial, { ...options, connectTimeoutMs: 50 });
  await assert.rejects(opening, { code: "CONNECT_FAILED", again: true });
  assert.ok(transport.closed);
});

test("one that says something else first is given up, for good", async () => {
  const transport = new ScriptedTransport({ t: "draining", drain_s: 1 });
  await assert.rejects(Connection.open(transport.dial, options), { code: "CONNECT_FAILED", again: false });
  assert.equal(transport.closed.code, 4400);
});

test("a signal ends the opening with its reason", async () => {
  const transport = new ScriptedTransport(null);
  const controller = new AbortController();
  const opening = Connection.open(transport.dial, options, controller.signal);
  setImmediate(() => controller.abort(new Error("enough")));
  await assert.rejects(opening, /enough/);
  assert.ok(transport.closed);
});

test("the handler of a run is told what belongs to it, in order", async () => {
  const { transport, connection, told, run } = await running();
  assert.equal(transport.held, true);
  transport.say(call(run, 1), { t: "logs", run, lines: [["log", "a"]] });
  connection.answer(run, 1, "7");
  await turn();
  assert.deepEqual(transport.all("answer"), [{ t: "answer", run, call: 1, payload: "7" }]);
  transport.say([{ t: "result", run }, "11"]);
  assert.deepEqual(told.map(([name]) => name), ["onAccepted", "onCall", "onLogs", "onEnd"]);
  assert.equal(connection.usable, true);
  assert.equal(transport.held, false);
});

test("a connection that ends loses its run, once, with what was said", async () => {
  for (const [code, reason, message] of [[1006, "", /ended without a word/], [1001, "bye", /daemon stops \(1001, "bye"\)/], [4408, "", /read too slowly/], [1009, "", /too large/], [4400, "", /broke the protocol/], [3999, "", /3999/]]) {
    const { transport, connection, told } = await running();
    transport.events.onClosed(code, reason);
    transport.events.onClosed(code, reason);
    transport.say({ t: "error", run: 1, message: "late" });
    assert.deepEqual(told.map(([name]) => name), ["onAccepted", "onLost"]);
    assert.equal(told[1][1].code, "CONNECTION_LOST");
    assert.match(told[1][1].message, message);
    assert.match(told[1][1].message, /not run again/);
    assert.equal(connection.usable, false);
  }
});

test("a daemon that breaks the protocol loses the connection, and is told why", async () => {
  const { transport, told } = await running();
  transport.say({ t: "accepted", run: 1, token: "é".repeat(50) });
  assert.equal(transport.closed.code, 4400);
  assert.match(transport.closed.reason, /accepted came while the connection was running/);
  assert.equal(told[1][1].code, "PROTOCOL_ERROR");
});

test("what comes in one frame before a violation is delivered", async () => {
  const { transport, told } = await running();
  transport.say(call(1, 1), { t: "what" });
  assert.deepEqual(told.map(([name]) => name), ["onAccepted", "onCall", "onLost"]);
});

test("a message beyond the daemon's bound is not sent", async () => {
  const { transport, connection } = await opened({ ...HELLO, max_message_bytes: 1000 });
  const { handler } = recorder();
  assert.throws(() => connection.begin({ ...RUN, code: "x".repeat(1000) }, handler), { code: "BAD_REQUEST" });
  assert.deepEqual(transport.all("run"), []);
});

test("draining: an idle connection leaves, a busy one after its run", async () => {
  const { transport, connection } = await opened();
  transport.say({ t: "draining", drain_s: 5 });
  assert.equal(transport.closed.code, 1000);
  assert.equal(connection.usable, false);
  const busy = await running();
  busy.transport.say({ t: "draining", drain_s: 5 });
  assert.equal(busy.transport.closed, undefined);
  busy.transport.say([{ t: "result", run: 1 }, "0"]);
  assert.equal(busy.told.at(-1)[0], "onEnd");
  assert.equal(busy.connection.usable, false);
});

test("a peer without a sign of life is given up; one that speaks, or takes what is sent, is not", async () => {
  const silent = await running({ ...HELLO, heartbeat_s: 0.1 });
  const alive = await running({ ...HELLO, heartbeat_s: 0.1 });
  const slow = await running({ ...HELLO, heartbeat_s: 0.1 });
  slow.transport.buffered = 1e9;
  const talk = setInterval(() => {
    alive.transport.say({ t: "logs", run: 1, lines: [] });
    slow.transport.buffered -= 1000;
  }, 20);
  while (!silent.told.some(([name]) => name === "onLost")) await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(talk);
  assert.match(silent.told.at(-1)[1].message, /no sign of life/);
  assert.ok(silent.transport.all("ping").length >= 2);
  assert.equal(silent.transport.closed.code, 1006);
  assert.equal(alive.told.filter(([name]) => name === "onLost").length, 0);
  assert.equal(slow.told.filter(([name]) => name === "onLost").length, 0);
  alive.connection.close();
  slow.connection.close();
});

test("answers are encoded only while what was sent before leaves", async () => {
  const { transport, connection } = await running();
  transport.buffered = 64 * 1024 * 1024;
  let ready = false;
  const waiting = connection.ready().then(() => (ready = true));
  await turn();
  assert.equal(ready, false);
  transport.drain();
  await waiting;
  connection.close();
});

test("a retained run holds the process only while it is called, and its end frees the connection", async () => {
  const { transport, connection } = await opened();
  const { told, handler } = recorder();
  const run = connection.begin({ ...RUN, retain: true }, handler);
  transport.say({ t: "accepted", run, token: "t" }, [{ t: "result", run, retained: true }, "1{}"]);
  assert.equal(connection.usable, false);
  assert.equal(transport.held, false);
  assert.equal(connection.invoke(run, 0, "1[]", undefined), 1);
  transport.say([{ t: "invoked", run, invocation: 1 }, "11"]);
  transport.say({ t: "over", run, message: "idle" });
  assert.deepEqual(told.map(([name]) => name), ["onAccepted", "onEnd", "onInvocation", "onOver"]);
  assert.equal(connection.usable, true);
  assert.equal(connection.invoke(run, 0, "1[]", undefined), undefined);
});

test("pauses grow, differ, and are never shorter than was asked for", () => {
  const first = Array.from({ length: 100 }, () => backoffMs(0));
  const later = Array.from({ length: 100 }, () => backoffMs(20));
  assert.ok(Math.max(...first) <= 50 && Math.min(...later) >= 1000 && Math.max(...later) <= 2000);
  assert.ok(new Set(later).size > 50);
  assert.ok(backoffMs(0, 5000) >= 5000);
});
