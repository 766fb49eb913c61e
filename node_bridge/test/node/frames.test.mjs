// Frames that leave, read by the other end of `ws`, which judges every one.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Receiver } from "ws";
import { textFrame } from "../../dist/node/frames.js";

async function received(bytes) {
  const receiver = new Receiver({ isServer: true });
  const message = once(receiver, "message");
  receiver.write(Buffer.from(bytes));
  const [data, isBinary] = await message;
  assert.equal(isBinary, false);
  return data.toString();
}

const LENGTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 124, 125, 126, 127, 4095, 4096, 4097, 65_534, 65_535, 65_536, 65_537, 300_000];
const FILLS = ["x", "é", "€", "😀", "a€"];

test("frames of every length arrive as the text that was sent", async () => {
  for (const length of LENGTHS) {
    for (const fill of FILLS) {
      const text = fill.repeat(length);
      for (const [head, tail] of [[text, ""], ["{}\n", text], [text, "?"]]) {
        const { bytes, done } = textFrame(head, tail);
        assert.equal(await received(bytes), head + tail);
        done?.();
      }
    }
  }
});

test("what is no text is replaced", async () => {
  assert.equal(await received(textFrame("a\ud800b", "\udc00").bytes), "a\ufffdb\ufffd");
});

test("no two frames have the same key, and no key is zero for long", () => {
  const keys = new Set();
  for (let i = 0; i < 5000; i += 1) {
    const { bytes } = textFrame("abc", "");
    assert.equal(bytes[0], 0x81);
    assert.equal(bytes[1], 0x80 | 3);
    keys.add(Buffer.from(bytes.subarray(2, 6)).readUInt32LE());
  }
  assert.ok(keys.size > 4990, `${keys.size} different keys`);
});

test("memory of a long frame is not used again before it has left", async () => {
  const first = textFrame("1".repeat(100_000), "");
  const second = textFrame("2".repeat(100_000), "");
  assert.equal(await received(first.bytes), "1".repeat(100_000));
  assert.equal(second.done, undefined, "it has memory of its own");
  first.done();
  const third = textFrame("3".repeat(90_000), "");
  assert.equal(third.bytes.buffer, first.bytes.buffer);
  assert.equal(await received(second.bytes), "2".repeat(100_000));
  assert.equal(await received(third.bytes), "3".repeat(90_000));
  third.done();
});
