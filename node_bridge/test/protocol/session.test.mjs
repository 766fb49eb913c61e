import assert from "node:assert/strict";
import { test } from "node:test";
import { Batch } from "../../dist/protocol/batch.js";
import { MAX_JOINED } from "../../dist/protocol/messages.js";
import { Violation, readFrame, write } from "../../dist/protocol/messages.js";
import { Session } from "../../dist/protocol/session.js";
import { bytesBeyond, utf8Length } from "../../dist/protocol/utf8.js";
import { HELLO, LIMITS, RUN, frame, parse } from "../scripted.mjs";

const receive = (session, ...messages) => [...session.receive(frame(...messages))];

function at(state, retain = false) {
  const session = new Session();
  if (state === "opening") return session;
  receive(session, HELLO);
  if (state === "idle") return session;
  session.run({ ...RUN, retain });
  if (state === "pending") return session;
  receive(session, { t: "accepted", run: 1, token: "parent" });
  if (state === "running") return session;
  receive(session, [{ t: "result", run: 1, retained: true }, "0"]);
  return session;
}

const call = (n, more) => [{ t: "call", run: 1, call: n, kind: "tool", provider: "p", tool: "t", ...more }, "[]"];

/** One message of every type that a daemon sends, as it stands in a frame. */
const MESSAGES = {
  hello: HELLO,
  accepted: { t: "accepted", run: 1, token: "t" },
  refused: { t: "refused", run: 1, code: "BUSY", message: "m" },
  call: call(1),
  cancel_call: { t: "cancel_call", run: 1, call: 1 },
  logs: { t: "logs", run: 1, lines: [["log", "x"]] },
  result: [{ t: "result", run: 1 }, "0"],
  error: { t: "error", run: 1, message: "m" },
  fault: { t: "fault", run: 1, code: "CLOSED", message: "m" },
  invoked: [{ t: "invoked", run: 1, invocation: 1 }, "0"],
  invoke_failed: { t: "invoke_failed", run: 1, invocation: 1, code: "BAD_REQUEST", message: "m" },
  over: { t: "over", run: 1, message: "m" },
  draining: { t: "draining", drain_s: 1 },
  pong: { t: "pong", n: 1 },
};
const ALLOWED = {
  opening: ["hello"],
  idle: ["draining"],
  pending: ["accepted", "refused", "draining"],
  running: ["call", "logs", "result", "error", "fault", "draining"],
  retained: ["call", "logs", "over", "draining"],
};

for (const [state, allowed] of Object.entries(ALLOWED)) {
  for (const [t, message] of Object.entries(MESSAGES)) {
    test(`${t} while ${state}: ${allowed.includes(t) ? "taken" : "a violation"}`, () => {
      const session = at(state);
      if (allowed.includes(t)) assert.equal(receive(session, message)[0].t, t);
      else {
        assert.throws(() => receive(session, message), Violation);
        assert.equal(session.state, "broken");
        assert.deepEqual(receive(session, HELLO), []);
      }
    });
  }
}

const MALFORMED = [
  ["an empty frame", ""],
  ["no JSON", "{"],
  ["an array", "[]"],
  ["null", "null"],
  ["a line too many", `${JSON.stringify({ t: "draining", drain_s: 1 })}\n`],
  ["no type", "{}"],
  ["an unknown type", '{"t":"helloo"}'],
  ["an inherited type", '{"__proto__":{"t":"draining","drain_s":1}}'],
  ["a type that is no string", '{"t":["hello"]}'],
  ["a call without its payload", JSON.stringify(call(1)[0])],
  ["a run that is no number", '{"t":"error","run":"1","message":"m"}'],
  ["a run of zero", '{"t":"error","run":0,"message":"m"}'],
  ["half a run", '{"t":"error","run":1.5,"message":"m"}'],
  ["a run that was not begun", '{"t":"error","run":2,"message":"m"}'],
  ["an error without a message", '{"t":"error","run":1}'],
  ["a fault with an odd code", '{"t":"fault","run":1,"code":"<b>","message":"m"}'],
  ["a call of an unknown kind", frame(call(1, { kind: "shell" }))],
  ["a call with a long name", frame(call(1, { tool: "t".repeat(257) }))],
  ["a call of no number", frame(call(-1))],
  ["log lines that are none", '{"t":"logs","run":1,"lines":[["log"]]}'],
  ["log lines that are numbers", '{"t":"logs","run":1,"lines":[["log",1]]}'],
  ["a cancelled call that never came", '{"t":"cancel_call","run":1,"call":9}'],
  ["retained that is no flag", '{"t":"result","run":1,"retained":1}\n0'],
];
for (const [what, text] of MALFORMED) {
  test(`violation: ${what}`, () => assert.throws(() => [...at("running").receive(text)], Violation));
}

for (const [what, hello] of [
  ["another protocol", { ...HELLO, protocol: 2 }],
  ["no limits", { ...HELLO, limits: undefined }],
  ["a limit of zero", { ...HELLO, limits: { ...LIMITS, timeout_s: 0 } }],
  ["a limit that is text", { ...HELLO, limits: { ...LIMITS, result_bytes: "1" } }],
  ["no bound of messages", { ...HELLO, max_message_bytes: null }],
]) {
  test(`violation: a hello with ${what}`, () => assert.throws(() => receive(at("opening"), hello), Violation));
}

test("members that nobody knows are ignored", () => {
  const [event] = receive(at("running"), { t: "error", run: 1, message: "m", future: {} });
  assert.equal(event.message, "m");
});

test("a call twice, or out of order, is a violation", () => {
  const session = at("running");
  receive(session, call(3));
  for (const n of [3, 2]) {
    const copy = at("running");
    receive(copy, call(3));
    assert.throws(() => receive(copy, call(n)), Violation);
  }
});

test("a call is answered once, and not after it was cancelled, nor by another run", () => {
  const session = at("running");
  receive(session, call(1), call(2), call(3));
  assert.deepEqual(parse(session.answer(1, 1, "7")), [{ t: "answer", run: 1, call: 1, payload: "7" }]);
  assert.equal(session.answer(1, 1, "7"), undefined);
  assert.equal(receive(session, { t: "cancel_call", run: 1, call: 2 })[0].t, "cancel_call");
  assert.equal(session.answer(1, 2, "7"), undefined);
  assert.deepEqual(receive(session, { t: "cancel_call", run: 1, call: 1 }), [], "it was answered as it was cancelled");
  receive(session, [{ t: "result", run: 1 }, "0"]);
  session.run(RUN);
  receive(session, { t: "accepted", run: 2, token: "t" }, [{ ...call(3)[0], run: 2 }, "[]"]);
  assert.equal(session.answer(1, 3, "late"), undefined, "a late answer of the run before");
  assert.equal(session.answerError(1, 3, { message: "late" }), undefined);
  assert.equal(session.cancel(1), undefined);
  assert.ok(session.answer(2, 3, "7"));
});

test("what an earlier run says after its end is ignored", () => {
  const session = at("running");
  receive(session, [{ t: "result", run: 1 }, "11"]);
  session.run(RUN);
  assert.deepEqual(receive(session, MESSAGES.logs, MESSAGES.call, MESSAGES.error), []);
  assert.equal(session.state, "pending");
});

test("several messages in one frame, payloads among them", () => {
  const session = at("running");
  const events = receive(session, call(1), MESSAGES.logs, [{ t: "call", run: 1, call: 2, kind: "env", provider: "", tool: "DB.q" }, "1[]"], [{ t: "result", run: 1 }, "1{}"]);
  assert.deepEqual(events.map(({ t, payload }) => [t, payload]), [["call", "[]"], ["logs", undefined], ["call", "1[]"], ["result", "1{}"]]);
  assert.equal(session.state, "idle");
});

test("what goes beyond the daemon's own bounds is a violation", () => {
  const bounded = (limits) => {
    const session = new Session();
    receive(session, { ...HELLO, limits: { ...LIMITS, ...limits } });
    session.run(RUN);
    receive(session, { t: "accepted", run: 1, token: "t" });
    return session;
  };
  const long = (n) => [call(1)[0], JSON.stringify("x".repeat(n - 2))];
  receive(bounded({ argument_bytes: 10 }), long(11));
  assert.throws(() => receive(bounded({ argument_bytes: 10 }), long(12)), /argument list of 12 characters/);
  receive(bounded({ tool_calls: 2 }), call(1), call(2));
  assert.throws(() => receive(bounded({ tool_calls: 2 }), call(3)), /tool_calls/);
  assert.throws(() => receive(bounded({ tool_calls_in_flight: 2 }), call(1), call(2), call(3)), /in_flight/);
  const answering = bounded({ tool_calls_in_flight: 1 });
  for (const n of [1, 2, 3]) {
    receive(answering, call(n));
    answering.answer(1, n, "1");
  }
  assert.throws(() => receive(bounded({ result_bytes: 10 }), [{ t: "result", run: 1 }, `1"${"x".repeat(10)}"`]), /a result of 13/);
  const lines = (n, text) => ({ t: "logs", run: 1, lines: Array(n).fill(["log", text]) });
  receive(bounded({ log_lines: 10 }), lines(26, ""));
  assert.throws(() => receive(bounded({ log_lines: 10 }), lines(20, ""), lines(7, "")), /log_lines/);
  assert.throws(() => receive(bounded({ log_bytes: 10 }), lines(1, "x".repeat(70_000))), /log_bytes/);
});

test("invocations are answered once", () => {
  const session = at("retained");
  assert.equal(session.invoke(1, 0, "1[]", 2).invocation, 1);
  assert.deepEqual(parse(session.invoke(1, 0, "1[]", 2).message)[0], { t: "invoke", run: 1, invocation: 2, handle: 0, timeout_s: 2, payload: "1[]" });
  assert.equal(receive(session, MESSAGES.invoked)[0].t, "invoked");
  assert.throws(() => receive(session, MESSAGES.invoked), Violation);
});

test("a pong that nobody asked for is a violation", () => {
  const session = at("idle");
  session.ping();
  assert.deepEqual(receive(session, { t: "pong", n: 1 }), []);
  assert.deepEqual(receive(session, { t: "pong", n: 0 }), []); // of a daemon that reads nothing for now
  assert.throws(() => receive(session, { t: "pong", n: 2 }), Violation);
});

test("a run says what it needs and no more", () => {
  const session = at("idle");
  const [plain] = parse(session.run(RUN).message);
  assert.deepEqual(plain, { t: "run", run: 1, code: "1", providers: [], payload: "{}" });
  receive(session, MESSAGES.refused);
  const spec = { ...RUN, functions: ["f"], modules: [{ name: "m", source: "" }], limits: { timeout_s: 1 }, outbound: true, retain: true, parent: "p" };
  const [full] = parse(session.run(spec).message);
  assert.deepEqual(full, { t: "run", run: 2, code: "1", providers: [], functions: ["f"], modules: [{ name: "m", source: "" }], limits: { timeout_s: 1 }, outbound: "client", retain: true, parent: "p", payload: "{}" });
});

test("half a surrogate pair in a header becomes U+FFFD, and nothing else changes", () => {
  const text = 'a\ud800b\\ud800 \\\\ud800 "\udfff" 😀 \ud83d';
  assert.equal(JSON.parse(write({ t: text })).t, text.toWellFormed());
});

test("frames are read lazily: what comes before a violation counts", () => {
  const seen = [];
  assert.throws(() => {
    for (const message of readFrame(`${frame(MESSAGES.draining)}\n{"t":"?"}`)) seen.push(message.t);
  }, Violation);
  assert.deepEqual(seen, ["draining"]);
});

test("messages of one turn leave together, up to a size and a number", () => {
  const frames = [];
  const later = [];
  const batch = new Batch((text) => frames.push(text), (flush) => later.push(flush));
  batch.add("a");
  batch.add("b");
  assert.deepEqual([frames.length, later.length], [0, 1]);
  later.pop()();
  assert.deepEqual(frames.splice(0), ["a\nb"]);
  batch.add("c");
  batch.add("x".repeat(MAX_JOINED)); // larger than a frame that is joined may be: alone
  batch.add("d");
  batch.flush();
  assert.deepEqual(frames.splice(0).map((text) => text.length), [1, MAX_JOINED, 1]);
  for (let i = 0; i < 2500; i += 1) batch.add("m");
  batch.flush();
  assert.deepEqual(frames.map((text) => text.split("\n").length), [1000, 1000, 500]);
});

test("lengths in UTF-8 are those of the encoder", () => {
  for (const text of ["", "a", "é", "€", "😀", "\ud800", "\udc00\ud800", "a\ud83d😀\ude00é€"]) {
    assert.equal(utf8Length(text), new TextEncoder().encode(text).length, JSON.stringify(text));
  }
  assert.equal(bytesBeyond("€€", 6), undefined);
  assert.equal(bytesBeyond("€€", 5), 6);
});
