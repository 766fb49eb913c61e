// What services of Workers answer with, and names that a program may use of them. There are no stubs outside of workerd:
// functions and objects stand for them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Answered } from "../../dist/run/answered.js";
import { encodeClone } from "../../dist/values/clone.js";
import { useMember } from "../../dist/values/service.js";

const write = (answered, result) =>
  answered.encode(result, (handle) => encodeClone(result, "result", { handle, shape: () => undefined }).text);

function disposable(value, log) {
  return Object.defineProperty(value, Symbol.dispose, { value: () => log.push(value), enumerable: false });
}

test("functions in what a service answers are kept, numbered, and called", async () => {
  const answered = new Answered();
  assert.equal(write(answered, (n) => n + 1), '{"root":["h",0],"table":[]}');
  const second = write(answered, { f: (n) => n * 2, g: [(n) => n * 3] });
  assert.equal(second, '{"root":{"r":0},"table":[["o","f",["h",1],"g",{"r":1}],["a",["h",2]]]}');
  assert.deepEqual(await Promise.all(["0", "1", "2"].map((name) => answered.use(name, [5]))), [6, 10, 15]);
  assert.equal(write(answered, [1, "a"]), '[1,"a"]');
});

test("what holds none is let go at once, the others when the run is over", async () => {
  const log = [];
  const answered = new Answered();
  const plain = disposable({ a: 1 }, log);
  write(answered, plain);
  assert.deepEqual(log, [plain]);
  const kept = disposable({ f: () => 1 }, log);
  write(answered, kept);
  const stub = disposable(() => 2, log);
  write(answered, stub);
  assert.deepEqual(log, [plain]);
  answered.end();
  assert.deepEqual(log, [plain, kept, stub]);
  await assert.rejects(answered.use("0", []), TypeError);
  // An answer that comes when the run is over.
  const late = disposable(() => 3, log);
  write(answered, late);
  assert.equal(log.at(-1), late);
  answered.end();
  assert.equal(log.length, 4);
});

test("what cannot be written is let go as well", () => {
  const log = [];
  const answered = new Answered();
  const result = disposable({ s: Symbol("s") }, log);
  assert.throws(() => write(answered, result), { name: "DataCloneError" });
  assert.deepEqual(log, [result]);
});

test("there is an end to how many are kept", () => {
  const answered = new Answered();
  for (let i = 0; i < 1000; i += 1) write(answered, () => i);
  assert.throws(() => write(answered, () => 1), { name: "RangeError", message: /more than 1000/ });
});

test("only what was answered can be used", async () => {
  const answered = new Answered();
  write(answered, () => 1);
  for (const name of ["1", "-1", "x", "", "0x0", "constructor", "__proto__"]) await assert.rejects(answered.use(name, []), TypeError);
  await assert.rejects(answered.use("0", undefined), TypeError); // a function is no value
  await assert.rejects(answered.use("0.call", []), TypeError); // of functions, not of the service
});

test("members of a service are its own: what the stub itself has is none", async () => {
  class Stub {
    connect() {
      return "reached";
    }
  }
  const names = { hello: (...args) => args, version: "1" };
  const stub = new Proxy(new Stub(), { get: (target, key) => names[key] ?? target[key], has: () => true });
  assert.deepEqual(await useMember(stub, "hello", [1]), [1]);
  assert.equal(await useMember(stub, "version", undefined), "1");
  for (const name of ["connect", "constructor", "toString", "__proto__", "hasOwnProperty", "__defineGetter__"]) {
    await assert.rejects(useMember(stub, name, []), { name: "TypeError", message: `The RPC receiver does not implement the method "${name}".` });
    await assert.rejects(useMember(stub, name, undefined), TypeError);
  }
});
