import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolDispatcher, sanitizeToolName } from "../../dist/node/index.js";

const dispatcher = new ToolDispatcher({
  args: async (...args) => args,
  bytes: async (given) => [given instanceof Uint8Array, new Uint8Array([1]).buffer],
  nothing: async () => undefined,
  boom: async () => { throw new Error("bad"); },
  empty: async () => { throw new Error(""); },
  text: async () => { throw "a text"; },
  nil: async () => { throw null; },
  cyclic: async () => { const a = {}; a.a = a; return a; },
});
const call = async (name, args) => JSON.parse(await dispatcher.call(name, args));

test("arguments and results are JSON, bytes among them", async () => {
  assert.deepEqual(await call("args", '[1,{"a":2}]'), { result: [1, { a: 2 }] });
  assert.deepEqual(await call("args", '{"a":2}'), { result: [{ a: 2 }] });
  assert.deepEqual(await call("args"), { result: [] });
  assert.deepEqual(await call("args", ""), { result: [] });
  assert.deepEqual(await call("nothing"), {});
  const tagged = { __codemode_binary_v1__: "Uint8Array", data: "AQI=" };
  assert.deepEqual(await call("bytes", JSON.stringify([tagged])), { result: [true, { __codemode_binary_v1__: "ArrayBuffer", data: "AQ==" }] });
});

test("failures are texts, never empty", async () => {
  assert.deepEqual(await call("boom"), { error: "bad" });
  assert.deepEqual(await call("empty"), { error: "Error" });
  assert.deepEqual(await call("text"), { error: "a text" });
  assert.deepEqual(await call("nil"), { error: "null" });
  assert.match((await call("cyclic")).error, /circular/);
  assert.match((await call("args", "{")).error, /JSON/);
});

test("only its own functions can be called", async () => {
  for (const name of ["nope", "toString", "constructor", "__proto__", "hasOwnProperty"]) {
    assert.deepEqual(await call(name), { error: `Tool "${name}" not found` });
  }
});

test("names are made into identifiers as upstream makes them", () => {
  const names = { "issues.list": "issues_list", "a-b c\u00a0d": "a_b_c_d", "2fa": "_2fa", delete: "delete_", undefined: "undefined_", "": "_", "\u540d": "_", "a/b": "ab", $x: "$x", await: "await_" };
  for (const [name, expected] of Object.entries(names)) assert.equal(sanitizeToolName(name), expected);
});
