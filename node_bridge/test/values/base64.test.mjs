import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";
import { fromBase64, toBase64 } from "../../dist/values/base64.js";

test("bytes of every length come back", () => {
  for (const length of [0, 1, 2, 3, 4, 255, 0x8000, 0x8001, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7) & 255);
    assert.equal(toBase64(bytes), Buffer.from(bytes).toString("base64"));
    assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
  }
});

test("what is not padded base64 is refused", () => {
  for (const text of ["A", "AA", "AAA", "AA=", "A===", "====", "AA==AA==", "AA A", "AA\n==", "-_==", "%%%=", "é==="]) {
    assert.equal(fromBase64(text), undefined, text);
  }
});

test("so it is where a platform has neither base64 of its own nor Buffer", () => {
  const context = vm.createContext({ atob, btoa });
  vm.runInContext("delete Uint8Array.fromBase64; delete Uint8Array.prototype.toBase64", context);
  const source = readFileSync(new URL("../../dist/values/base64.js", import.meta.url), "utf8").replaceAll("export function", "function");
  const bare = vm.runInContext(`${source}; ({ fromBase64, toBase64 })`, context);
  for (const length of [0, 1, 2, 3, 0x8001, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7) & 255);
    assert.equal(bare.toBase64(bytes), toBase64(bytes));
    assert.deepEqual([...bare.fromBase64(toBase64(bytes))], [...bytes]);
  }
  assert.equal(bare.fromBase64("AA="), undefined);
});
