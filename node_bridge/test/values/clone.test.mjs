import assert from "node:assert/strict";
import { test } from "node:test";
import { CloneRefused, encodeClone } from "../../dist/values/clone.js";
import { Form, decodeResult } from "../../dist/values/result.js";
import { encodeResult } from "../harness.mjs";
import { randomValues } from "../random.mjs";
import { assertSame, cloned } from "../same.mjs";

const through = (value) => {
  const { form, text } = encodeClone(value);
  return decodeResult(form, text);
};

/** A view crosses with its own part of its buffer: then its clone is not the measure. */
function showsPart(root) {
  const seen = new Set();
  const visit = (value) => {
    if (typeof value !== "object" || value === null || seen.has(value)) return false;
    seen.add(value);
    if (ArrayBuffer.isView(value)) return value.byteLength !== value.buffer.byteLength;
    if (value instanceof Map) return [...value].flat().some(visit);
    if (value instanceof Set) return [...value].some(visit);
    return visit(value.cause) || Object.values(value).some(visit);
  };
  return visit(root);
}

test("what structured clone carries arrives as it would by structured clone", () => {
  const { value } = randomValues(21);
  let compared = 0;
  for (let i = 0; i < 4000; i += 1) {
    const original = value();
    const arrived = through(original);
    if (showsPart(original)) continue;
    assertSame(arrived, original);
    const clone = cloned(original);
    if (clone === undefined) continue;
    assertSame(arrived, clone);
    compared += 1;
  }
  assert.ok(compared > 3000, `${compared} were compared`);
});

test("plain values are written as the harness writes them", () => {
  for (const value of [undefined, null, 1, "a", [1, { b: [] }], { a: [1, 2], "": null }]) {
    assert.deepEqual(encodeClone(value), { ...encodeResult(value) });
  }
  assert.equal(encodeClone({ a: 1 }).form, Form.PLAIN);
  assert.equal(encodeClone([undefined]).form, Form.RICH);
  const shared = {};
  const [one, other] = through([shared, shared]);
  assert.equal(one, other);
});

test("of a buffer nothing leaves but what the value shows", () => {
  const memory = new TextEncoder().encode("secret of the host").buffer;
  const { text } = encodeClone(new Uint8Array(memory, 0, 3));
  assert.ok(!text.includes(btoa("secret of the host").slice(4, 20)));
  const arrived = decodeResult(Form.RICH, text);
  assert.equal(new TextDecoder().decode(arrived), "sec");
  assert.equal(arrived.buffer.byteLength, 3);
  const small = Buffer.from("abc");
  assert.ok(small.buffer.byteLength > 3, "the test needs a Buffer that is part of a pool");
  assert.equal(through(small).buffer.byteLength, 3);
  assert.equal(through(small).constructor, Uint8Array);
});

test("nothing recurses, and a chain of any length crosses", () => {
  let value = 0;
  for (let i = 0; i < 200_000; i += 1) value = [value];
  let depth = 0;
  for (let at = through(value); Array.isArray(at); [at] = at) depth += 1;
  assert.equal(depth, 200_000);
});

test("a DOMException and errors keep their names, and the host keeps its stacks", () => {
  const gone = through(new DOMException("gone", "NotFoundError"));
  assert.deepEqual([gone.name, gone.message, gone.code], ["NotFoundError", "gone", 8]);
  const { text } = encodeClone(new TypeError("bad", { cause: new Error("inner") }));
  assert.ok(!text.includes("clone.test"), text);
  const arrived = decodeResult(Form.RICH, text);
  assert.ok(arrived instanceof TypeError && arrived.cause.message === "inner");
});

const REFUSED = [
  ["a function", { a: { b: () => 1 } }, /type "Function".*It is result\.a\.b\./],
  ["a symbol", [Symbol("s")], /Symbol\(s\) could not be cloned\. It is result\[0\]\./],
  ["an instance of a class", { a: [new (class Account {})()] }, /type "Account".*It is result\.a\[0\]\./],
  ["a promise", new Map([["k", Promise.resolve()]]), /type "Promise".*It is result \(a value\)\./],
  ["a weak map", { "odd key": new WeakMap() }, /type "WeakMap".*It is result\["odd key"\]\./],
  ["what pretends to be a Map", { [Symbol.toStringTag]: "Map", __proto__: { __proto__: null } }, /could not|Could not/i],
  ["a request", new Request("http://x/"), /type "Request"/],
];

for (const [what, value, message] of REFUSED) {
  test(`refused: ${what}`, () => {
    assert.throws(() => encodeClone(value), (error) => error instanceof CloneRefused && message.test(error.message));
  });
}

test("getters that throw, and toJSON, are the value's own", () => {
  assert.throws(() => encodeClone({ get a() { throw new RangeError("mine"); } }), /mine/);
  assert.throws(() => encodeClone({ toJSON: () => "x" }), /type "Function"/);
});
