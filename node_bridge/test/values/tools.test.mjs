import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ToolValueRefused,
  decodeToolArguments,
  decodeToolValue,
  encodeToolAnswer,
  encodeToolFailure,
  encodeToolValue,
} from "../../dist/values/tools.js";
import { encodeArguments, parseMessage } from "../harness.mjs";
import { randomValues } from "../random.mjs";

const TAG = "__codemode_binary_v1__";
const refuseNothing = (_, error) => {
  throw error;
};
/** A tool's result as the program gets it. */
const intoTheProgram = (value) => parseMessage(`[{"kind":0,"id":0,"value":${encodeToolValue(value)}}]`, refuseNothing)[0].value;
const outOfTheProgram = (...args) => decodeToolArguments(encodeArguments(args));

const SAME = [
  null, true, 0, -1.5, "", "é\ud800\u0000", [], [1, [2]], {}, { a: { b: [null] } }, new Uint8Array([0, 255]),
  { bytes: new Uint8Array([1]), list: [new Uint8Array(0)] }, { [TAG]: "Uint8Array", data: "AQI=" },
  { [TAG]: "Uint8Array", data: "%%%" }, { [TAG]: 1 }, { [TAG]: "escaped", value: 1 },
  { [TAG]: "escaped", value: { [TAG]: "Uint8Array", data: "AQI=" } }, [{ [TAG]: { [TAG]: new Uint8Array([3]) } }],
  { [TAG]: new Uint8Array([3]), data: "AQI=" }, JSON.parse(`{"__proto__":{"${TAG}":"x","data":"AQI="},"a":1}`),
  { text: TAG }, { [TAG]: null, value: [new Uint8Array([4])] },
];

test("values come as they were, into the program and out of it", () => {
  for (const value of SAME) {
    assert.deepStrictEqual(decodeToolValue(encodeToolValue(value)), value);
    assert.deepStrictEqual(intoTheProgram(value), value);
    assert.deepStrictEqual(outOfTheProgram(value, [value]), [value, [value]]);
  }
});

test("buffers stay buffers, other views become Uint8Array", () => {
  const { buffer } = new Uint8Array([1, 2, 3, 4]);
  for (const go of [intoTheProgram, (value) => outOfTheProgram(value)[0], (v) => decodeToolValue(encodeToolValue(v))]) {
    assert.deepStrictEqual(go(buffer), buffer);
    assert.deepStrictEqual(go(new Uint16Array([258])), new Uint8Array([2, 1]));
    assert.deepStrictEqual(go(new DataView(buffer, 1, 2)), new Uint8Array([2, 3]));
    assert.deepStrictEqual(go(new Uint8Array(buffer, 2)), new Uint8Array([3, 4]));
  }
  assert.deepStrictEqual(intoTheProgram(Buffer.from("hi")), new Uint8Array([104, 105]));
});

test("what JSON.stringify does to a value happens here too", () => {
  assert.equal(encodeToolValue(undefined), undefined);
  assert.equal(encodeToolValue(() => 1), undefined);
  assert.equal(encodeToolValue([undefined, NaN, -0, new Date(0), new Map([[1, 2]])]), '[null,null,0,"1970-01-01T00:00:00.000Z",{}]');
  assert.throws(() => encodeToolValue(1n), { name: "TypeError", message: "Do not know how to serialize a BigInt" });
  const cycle = { [TAG]: 1 };
  cycle.self = cycle;
  assert.throws(() => encodeToolValue(cycle), { name: "TypeError", message: /circular structure/ });
});

test("both ends write the same text for random values", () => {
  const { value } = randomValues(23);
  const outcome = (encode) => {
    try {
      return encode();
    } catch (error) {
      return error.name;
    }
  };
  let encoded = 0;
  for (let i = 0; i < 3000; i += 1) {
    const one = value();
    const theirs = outcome(() => encodeArguments([one]));
    assert.equal(outcome(() => encodeToolValue([one])), theirs);
    if (!theirs.startsWith("[")) continue;
    encoded += 1;
    assert.deepStrictEqual(intoTheProgram([one]), decodeToolArguments(theirs));
  }
  assert.ok(encoded > 1000, `${encoded} were encoded`);
});

test("a key named __proto__ is data", () => {
  const value = decodeToolValue(`{"__proto__":{"${TAG}":"Uint8Array","data":"AQI="},"polluted":{"${TAG}":"escaped","value":{"__proto__":1}}}`);
  assert.deepEqual(Object.keys(value), ["__proto__", "polluted"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.getOwnPropertyDescriptor(value, "__proto__").value, new Uint8Array([1, 2]));
  assert.deepEqual(Object.keys(value.polluted), ["__proto__"]);
});

test("an inherited tag is none", (t) => {
  Object.prototype[TAG] = "Uint8Array";
  Object.prototype.data = "AQI=";
  t.after(() => {
    delete Object.prototype[TAG];
    delete Object.prototype.data;
  });
  assert.deepEqual(Object.keys(decodeToolValue(`{"a":{"b":"${TAG}"}}`).a), ["b"]);
  assert.equal(encodeToolValue({ a: 1 }), '{"a":1}');
});

test("refused", () => {
  for (const text of ["", "{", "undefined", `{"${TAG}":"Uint8Array","data":"%%%"}`, `[{"${TAG}":"x","data":"A"}]`]) {
    assert.throws(() => decodeToolValue(text), ToolValueRefused, text);
  }
  for (const text of ["{}", "1", "null", `{"${TAG}":"Uint8Array","data":"AQI="}`]) {
    assert.throws(() => decodeToolArguments(text), ToolValueRefused, text);
  }
});

test("nesting needs no stack", () => {
  const depth = 200_000;
  let value = decodeToolValue(`${"[".repeat(depth)}{"${TAG}":"Uint8Array","data":"AQ=="}${"]".repeat(depth)}`);
  while (Array.isArray(value)) [value] = value;
  assert.deepEqual(value, new Uint8Array([1]));
});

test("answers", () => {
  assert.equal(encodeToolAnswer(undefined), "{}");
  assert.equal(encodeToolAnswer({ error: "data" }), '{"result":{"error":"data"}}');
  const failure = (thrown) => JSON.parse(encodeToolFailure(thrown));
  assert.deepEqual(failure(new Error("boom")), { error: "boom", name: "Error" });
  assert.deepEqual(failure(Object.assign(new TypeError("t"), { code: "E", details: { b: new Uint8Array([1]) } })), {
    error: "t", name: "TypeError", code: "E", details: { b: { [TAG]: "Uint8Array", data: "AQ==" } },
  });
  assert.deepEqual(failure(Object.assign(new Error("m"), { code: 1n, details: () => 1 })), { error: "m", name: "Error" });
  assert.deepEqual(failure(new Error("o", { cause: new RangeError("i") })), { error: "o", name: "Error", cause: "RangeError: i" });
  assert.deepEqual(failure(new Error("")), { error: "Error", name: "Error" });
  assert.deepEqual(failure("plain"), { error: "plain" });
  assert.deepEqual(failure(null), { error: "null" });
  assert.deepEqual(failure(""), { error: "an empty value was thrown" });
});
