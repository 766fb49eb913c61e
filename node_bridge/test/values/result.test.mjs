import assert from "node:assert/strict";
import { test } from "node:test";
import { Form, MAX_BIGINT_DIGITS, ResultRefused, decodeResult } from "../../dist/values/result.js";
import { encodeResult } from "../harness.mjs";
import { randomValues } from "../random.mjs";
import { assertSame, cloned } from "../same.mjs";

const through = (value) => {
  const { form, text } = encodeResult(value);
  return decodeResult(form, text);
};
const rich = (root, ...table) => decodeResult(Form.RICH, JSON.stringify({ root, table }));
const ref = (r) => ({ r });

test("undefined", () => {
  assert.equal(decodeResult(Form.UNDEFINED, undefined), undefined);
  assert.equal(decodeResult(Form.UNDEFINED, ""), undefined);
  assert.equal(through(undefined), undefined);
});

test("plain JSON keeps its keys, __proto__ among them", () => {
  const value = decodeResult(Form.PLAIN, '{"__proto__":{"polluted":1},"a":[1,"x",null,true]}');
  assert.deepEqual(Object.keys(value), ["__proto__", "a"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal({}.polluted, undefined);
});

test("what the harness encodes comes back as it was", () => {
  const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  const shared = { n: 1 };
  const cycle = [shared, new Map([[shared, new Set([shared])]])];
  cycle.push(cycle);
  const sparse = [];
  sparse[5] = "five";
  sparse.length = 4294967295;
  for (const value of [
    null, -0, NaN, Infinity, -Infinity, 10n, -(2n ** 200n), "\ud800", [undefined, -0], { a: undefined },
    cycle, sparse, [, 1, ,], new Date(0), new Date(NaN), /a\/b/giu, new RegExp(""), new TypeError("t"),
    new Error("outer", { cause: new RangeError("inner") }), new Error("", { cause: undefined }),
    buffer, [buffer, new Uint16Array(buffer, 2, 3), new DataView(buffer, 1, 4)], new BigUint64Array([1n]),
    Object(-0), Object("s"), Object(5n), Object(false), JSON.parse('{"__proto__":1,"constructor":{"x":-0}}'),
    new Map([[NaN, 1], [-0, 2], [{}, 3]]), new Set([[], [], "a"]),
  ]) {
    assertSame(through(value), value);
  }
});

test("the harness' encoding and structured clone agree on random values", () => {
  const { value } = randomValues(20);
  let compared = 0;
  for (let i = 0; i < 4000; i += 1) {
    const original = value();
    assertSame(through(original), original);
    const clone = cloned(original);
    if (clone === undefined) continue;
    assertSame(through(original), clone);
    compared += 1;
  }
  assert.ok(compared > 3600, `${compared} were compared`);
});

test("a long chain needs no stack", () => {
  const depth = 200_000;
  const table = Array.from({ length: depth }, (_, i) => ["a", i + 1 < depth ? ref(i + 1) : 0]);
  let value = decodeResult(Form.RICH, JSON.stringify({ root: ref(0), table }));
  let seen = 0;
  for (; Array.isArray(value); [value] = value) seen += 1;
  assert.equal(seen, depth);
});

const REFUSED = [
  ["an unknown form", () => decodeResult(3, "1"), /form 3 is unknown/],
  ["a form that is no number", () => decodeResult("1", "1"), /form 1 is unknown/],
  ["undefined with text", () => decodeResult(Form.UNDEFINED, "1"), /undefined comes with text/],
  ["no text", () => decodeResult(Form.PLAIN, undefined), /without text/],
  ["no JSON", () => decodeResult(Form.PLAIN, "{"), /not JSON/],
  ["no document", () => decodeResult(Form.RICH, "[]"), /rich result must be/],
  ["no table", () => decodeResult(Form.RICH, '{"root":1}'), /rich result must be/],
  ["a table that is no array", () => decodeResult(Form.RICH, '{"root":1,"table":{}}'), /rich result must be/],
  ["more than a document", () => decodeResult(Form.RICH, '{"root":1,"table":[],"x":1}'), /rich result must be/],
  ["an inherited table", () => decodeResult(Form.RICH, '{"root":1,"__proto__":{"table":[]}}'), /rich result must be/],
  ["a root that is no value", () => rich(["x"]), /the root holds an array of 1/],
  ["a root outside the table", () => rich(ref(0)), /the root names/],
  ["a negative index", () => rich(ref(-1), ["a"]), /the root names/],
  ["a fraction as index", () => rich(ref(0.5), ["a", 1]), /the root names/],
  ["a string as index", () => rich(ref("0"), ["a"]), /the root names/],
  ["minus zero as index", () => decodeResult(Form.RICH, '{"root":{"r":-0},"table":[["a"]]}'), /the root names/],
  ["a reference with more in it", () => rich({ r: 0, x: 1 }, ["a"]), /the root names/],
  ["a plain object as value", () => rich({ a: 1 }), /the root names/],
  ["an inherited reference", () => decodeResult(Form.RICH, '{"root":{"__proto__":{"r":0}},"table":[["a"]]}'), /names/],
  ["an infinite number", () => decodeResult(Form.RICH, '{"root":1e999,"table":[]}'), /too large/],
  ["an entry that is no array", () => rich(1, { 0: "a" }), /entry 0 of the table is not an array/],
  ["an empty entry", () => rich(1, []), /unknown tag undefined/],
  ["an unknown tag", () => rich(1, ["q"]), /unknown tag "q"/],
  ["a long tag", () => rich(1, ["q".repeat(1e6)]), /unknown tag "q{40}…"/],
  ["a tag that is an array", () => rich(1, [["a"]]), /unknown tag an array of 1/],
  ["an object's key without value", () => rich(1, ["o", "a"]), /key without a value/],
  ["an object's key that is a number", () => rich(1, ["o", 1, 2]), /not a string/],
  ["an object's key twice", () => rich(1, ["o", "a", 1, "a", 2]), /key "a" twice/],
  ["__proto__ twice", () => rich(1, ["o", "__proto__", 1, "__proto__", 2]), /key "__proto__" twice/],
  ["a bad element", () => rich(1, ["a", ["n", "1"]]), /entry 0 of the table holds/],
  ["a sparse array's bad length", () => rich(1, ["s", 2 ** 32]), /array of length 4294967296/],
  ["a sparse array's negative length", () => rich(1, ["s", -1]), /array of length -1/],
  ["a sparse array's index beyond it", () => rich(1, ["s", 2, 2, 1]), /index 2/],
  ["a sparse array's index twice", () => rich(1, ["s", 2, 0, 1, 0, 1]), /index 0/],
  ["a sparse array's indexes out of order", () => rich(1, ["s", 3, 1, 1, 0, 1]), /index 0/],
  ["a sparse array's named property", () => rich(1, ["s", 3, "length", 1]), /index "length"/],
  ["a sparse array's index without value", () => rich(1, ["s", 3, 0]), /index without a value/],
  ["a map's key without value", () => rich(1, ["m", 1]), /key without a value/],
  ["a map's key twice", () => rich(1, ["m", 1, 1, 1, 2]), /key twice/],
  ["a set's element twice", () => rich(1, ["e", "a", "a"]), /element twice/],
  ["a date that is text", () => rich(1, ["d", "now"]), /date of "now"/],
  ["a date beyond dates", () => rich(1, ["d", 8.64e15 + 1]), /date of/],
  ["a date of half a millisecond", () => rich(1, ["d", 0.5]), /date of 0.5/],
  ["a date without time", () => rich(1, ["d"]), /has 1 parts/],
  ["a RegExp that is none", () => rich(1, ["x", "(", ""]), /RegExp that this engine refuses/],
  ["a RegExp with unknown flags", () => rich(1, ["x", "a", "q"]), /RegExp that this engine refuses/],
  ["a RegExp that is not text", () => rich(1, ["x", 1, ""]), /not strings/],
  ["an error of another class", () => rich(1, ["E", "AggregateError", "m", ""]), /error named "AggregateError"/],
  ["an error of an object's name", () => rich(1, ["E", "constructor", "m", ""]), /error named "constructor"/],
  ["an error whose message is no text", () => rich(1, ["E", "Error", 1, ""]), /no string/],
  ["an error whose stack is no text", () => rich(1, ["E", "Error", "m", null]), /no string/],
  ["an error with more in it", () => rich(1, ["E", "Error", "m", "", 1, 2]), /has 6 parts/],
  ["a buffer that is no base64", () => rich(1, ["b", "%%%%"]), /not base64/],
  ["a buffer that is no text", () => rich(1, ["b", [1]]), /not base64/],
  ["a view of an unknown type", () => rich(1, ["b", ""], ["v", "Array", 0, 0, 0]), /type "Array"/],
  ["a view of an inherited type", () => rich(1, ["b", ""], ["v", "constructor", 0, 0, 0]), /type "constructor"/],
  ["a view of no buffer", () => rich(1, ["a"], ["v", "Uint8Array", 0, 0, 0]), /entry 0, which is no buffer/],
  ["a view of a view", () => rich(1, ["b", ""], ["v", "Uint8Array", 0, 0, 0], ["v", "Uint8Array", 1, 0, 0]), /no buffer/],
  ["a view of itself", () => rich(1, ["v", "Uint8Array", 0, 0, 0]), /no buffer/],
  ["a view of what is not there", () => rich(1, ["v", "Uint8Array", 7, 0, 0]), /no buffer/],
  ["a view that is too long", () => rich(1, ["b", "AAAA"], ["v", "Uint8Array", 0, 1, 3]), /outside its buffer/],
  ["a view that starts too late", () => rich(1, ["b", "AAAA"], ["v", "Uint8Array", 0, 4, 0]), /outside its buffer/],
  ["a view that is not aligned", () => rich(1, ["b", "AAAA"], ["v", "Int16Array", 0, 1, 1]), /outside its buffer/],
  ["a view of negative length", () => rich(1, ["b", "AAAA"], ["v", "Int8Array", 0, 0, -1]), /outside its buffer/],
  ["a view of enormous length", () => rich(1, ["b", "AAAA"], ["v", "Int8Array", 0, 0, 1e300]), /outside its buffer/],
  ["a boxed object", () => rich(1, ["a"], ["w", ref(0)]), /entry 1 of the table holds an object/],
  ["a boxed null", () => rich(1, ["w", null]), /boxes null/],
  ["a boxed undefined", () => rich(1, ["w", ["u"]]), /boxes undefined/],
  ["a number that is none", () => rich(["n", "5"]), /the root holds/],
  ["a number of an object's name", () => rich(["n", "constructor"]), /the root holds/],
  ["an undefined with more in it", () => rich(["u", 1]), /the root holds/],
  ["a bigint in hexadecimal", () => rich(["i", "0x10"]), /the root holds/],
  ["a bigint with white space", () => rich(["i", " 1"]), /the root holds/],
  ["a bigint with leading zeros", () => rich(["i", "01"]), /the root holds/],
  ["a bigint as number", () => rich(["i", 1]), /the root holds/],
  ["a bigint without end", () => rich(["i", "9".repeat(MAX_BIGINT_DIGITS + 1)]), /1000001 digits; the limit is 1000000/],
  ["nesting without end", () => decodeResult(Form.RICH, `{"root":${"[".repeat(1e5)}${"]".repeat(1e5)},"table":[]}`), /root/],
];
for (const [name, decode, message] of REFUSED) {
  test(`refused: ${name}`, () => {
    assert.throws(decode, (error) => error instanceof ResultRefused && message.test(error.message));
  });
}

test("nothing is looked up or set through a prototype", () => {
  const value = rich(ref(0), ["o", "__proto__", ref(1), "constructor", 1, "toString", 2], ["o", "polluted", true]);
  assert.deepEqual(Object.keys(value), ["__proto__", "constructor", "toString"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(value.polluted, undefined);
  assert.equal({}.polluted, undefined);
  assert.equal({}.constructor, Object);
});

test("a setter on Object.prototype does not see the members", (t) => {
  const seen = [];
  Object.defineProperty(Object.prototype, "trap", { set: (value) => seen.push(value), configurable: true });
  t.after(() => delete Object.prototype.trap);
  assert.equal(rich(ref(0), ["o", "trap", 5, "x", ["u"]]).trap, 5);
  assert.deepEqual(seen, []);
});

test("damaged results are decoded or refused, and nothing else", () => {
  const { value, below, pick } = randomValues(21);
  const junk = [null, -1, 1e999, "a", "__proto__", [], ["u"], ["n", "NaN"], { r: 0 }, { r: 99 }, {}, "v", "E", 4294967296];
  let decoded = 0;
  let refused = 0;
  for (let i = 0; i < 4000; i += 1) {
    const { form, text } = encodeResult([value(), -0]);
    const document = JSON.parse(text);
    for (let n = 1 + below(3); n > 0; n -= 1) {
      const entry = pick(document.table);
      if (Array.isArray(entry)) entry[below(entry.length + 1)] = pick(junk);
      else document.root = pick(junk);
    }
    try {
      decodeResult(form, JSON.stringify(document));
      decoded += 1;
    } catch (error) {
      assert.ok(error instanceof ResultRefused, `${error?.stack}\n${JSON.stringify(document)}`);
      refused += 1;
    }
  }
  assert.ok(decoded > 100 && refused > 100, `${decoded} decoded, ${refused} refused`);
  assert.deepEqual(Object.keys(Object.prototype), []);
});

test("texts of random bytes are refused", () => {
  const { below } = randomValues(22);
  for (let i = 0; i < 2000; i += 1) {
    const text = String.fromCharCode(...Array.from({ length: below(40) }, () => 32 + below(95)));
    assert.throws(() => decodeResult(Form.RICH, text), ResultRefused);
  }
});
