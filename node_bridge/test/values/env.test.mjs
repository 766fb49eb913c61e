// The option `bindings` as it is sent.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeCloneText } from "../../dist/run/serving.js";
import { encodeEnv } from "../../dist/values/env.js";
import { isService } from "../../dist/values/service.js";

test("bindings that are more than JSON are sent as by structured clone", () => {
  const shared = { n: 1 };
  const add = () => 1;
  const { text, functions } = encodeEnv({ map: new Map([["f", add]]), same: [shared, shared], add, none: undefined, "odd key": { add: () => 2 } });
  const { __codemode_binary_v1__: tag, data, handles } = JSON.parse(text);
  assert.equal(tag, "clone");
  assert.deepEqual(handles, [["function", "map (an entry)"], ["function", '["odd key"].add']]);
  assert.deepEqual([...functions.keys()], handles.map(([, path]) => path));
  const value = decodeCloneText(data, (number) => functions.get(handles[number][1]));
  assert.equal(value.add, add);
  assert.equal(value.map.get("f"), add);
  assert.equal(value.same[0], value.same[1]);
  assert.ok("none" in value);
  assert.equal(value["odd key"].add(), 2);
});

test("functions of bindings at one path have names of their own", () => {
  const { functions, text } = encodeEnv({ list: new Set([() => 1, () => 2]), ring: ring() });
  assert.deepEqual([...functions.keys()], ["list (an element)", "list (an element)#2"]);
  const { ring: made } = decodeCloneText(JSON.parse(text).data, (number) => ({ number }));
  assert.equal(made.self, made);
  function ring() {
    const value = {};
    value.self = value;
    return value;
  }
});

test("bindings that nest deeply, and names that are no identifiers", () => {
  let deep = 1;
  for (let i = 0; i < 5000; i += 1) deep = [deep];
  let value = decodeCloneText(JSON.parse(encodeEnv({ deep }).text).data).deep;
  let depth = 0;
  for (; Array.isArray(value); [value] = value) depth += 1;
  assert.equal(depth, 5000);
  const { functions } = encodeEnv({ "a.b": () => 1, a: { b: () => 2 } });
  assert.deepEqual([...functions].map(([path, call]) => [path, call()]), [['["a.b"]', 1], ["a.b", 2]]);
});

test("a value that throws when it is read is refused, or throws", () => {
  assert.throws(() => encodeEnv({ get a() { throw new Error("no"); } }), /no/);
  // Another function every time it is asked for.
  assert.throws(() => encodeEnv({ since: new Date(0), get f() { return () => 1; } }), { code: "BAD_REQUEST", message: /bindings\.f/ });
  assert.throws(() => encodeEnv({ get f() { return () => 1; } }), { code: "BAD_REQUEST", message: /another function each time/ });
  assert.throws(() => encodeEnv({ get db() { return { query: () => 1 }; } }), { code: "BAD_REQUEST", message: /another function each time/ });
});

test("nothing in Node is a service", () => {
  class Fetcher {
    fetch() {}
  }
  for (const value of [{}, new Fetcher(), fetch, new Request("http://a/")]) assert.equal(isService(value), false);
});
