import assert from "node:assert/strict";
import { test } from "node:test";
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
