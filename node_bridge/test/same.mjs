// Whether two values are the same graph: deeply equal, and wherever one holds an object for the second time, so does the
// other. What a reader of the result could tell apart is told apart.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";

/** Throws an AssertionError that names the place of the first difference. */
export function assertSame(actual, expected) {
  walk(actual, expected, "value", new Map(), new Map());
  // In some Node versions an invalid date does not equal a clone of itself: there this says nothing.
  const clone = cloned(expected);
  if (clone !== undefined && isEqual(expected, clone) === true) {
    assert.notEqual(isEqual(actual, expected), false, "not deeply equal");
  }
}

/** Whether Node finds two values equal, or undefined where it cannot tell: in some versions, errors that lead back to themselves. */
function isEqual(a, b) {
  try {
    return isDeepStrictEqual(a, b);
  } catch (error) {
    assert.match(error.message, /Maximum call stack/);
    return undefined;
  }
}

/** A structured clone, or undefined where V8 cannot make one although it should: of an error that is its own cause. */
export function cloned(value) {
  try {
    return structuredClone(value);
  } catch (error) {
    assert.match(error.message, /^Unable to deserialize cloned data/);
    return undefined;
  }
}

const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

function walk(actual, expected, path, forth, back) {
  if (typeof expected !== "object" || expected === null) {
    assert.ok(Object.is(actual, expected), `${path}: ${String(actual)} is not ${String(expected)}`);
    return;
  }
  assert.ok(typeof actual === "object" && actual !== null, `${path}: no object`);
  if (forth.has(expected) || back.has(actual)) {
    assert.ok(forth.get(expected) === actual && back.get(actual) === expected, `${path}: another object`);
    return;
  }
  forth.set(expected, actual);
  back.set(actual, expected);
  assert.equal(Object.getPrototypeOf(actual), Object.getPrototypeOf(expected), `${path}: another prototype`);
  const inner = (a, b, key) => walk(a, b, `${path}${key}`, forth, back);
  if (expected instanceof Map) {
    inner([...actual.keys()], [...expected.keys()], " keys");
    inner([...actual.values()], [...expected.values()], " values");
  } else if (expected instanceof Set) {
    inner([...actual], [...expected], " elements");
  } else if (expected instanceof Error) {
    for (const key of ["name", "message"]) assert.equal(actual[key], expected[key], `${path}.${key}`);
    assert.equal(Object.hasOwn(actual, "cause"), Object.hasOwn(expected, "cause"), `${path}.cause`);
    inner(actual.cause, expected.cause, ".cause");
  } else if (expected instanceof Date) {
    assert.ok(Object.is(actual.getTime(), expected.getTime()), `${path}: another time`);
  } else if (expected instanceof RegExp) {
    assert.equal(String(actual), String(expected), path);
  } else if (["Number", "String", "Boolean", "BigInt"].includes(kindOf(expected))) {
    inner(actual.valueOf(), expected.valueOf(), " unboxed");
  } else if (ArrayBuffer.isView(expected)) {
    for (const key of ["byteOffset", "byteLength"]) assert.equal(actual[key], expected[key], `${path}.${key}`);
    inner(actual.buffer, expected.buffer, ".buffer");
  } else if (expected instanceof ArrayBuffer) {
    assert.deepEqual([...new Uint8Array(actual)], [...new Uint8Array(expected)], path);
  }
  const keys = Object.keys(expected);
  assert.deepEqual(Object.keys(actual), keys, `${path}: other keys`);
  if (Array.isArray(expected)) assert.equal(actual.length, expected.length, `${path}.length`);
  for (const key of keys) inner(actual[key], expected[key], `.${key}`);
}
