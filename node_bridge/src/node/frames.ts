// Frames that leave a client: text, masked (RFC 6455, 5.2 and 5.3). `ws` would copy a text twice and mask it byte by byte,
// which for ten megabytes takes longer than everything else that happens to them.

import { randomFillSync } from "node:crypto";

// Between the start of a buffer and the payload: the longest head of a frame has 14 bytes, and a payload that begins at
// a multiple of four can be masked four bytes at a time.
const HEAD_ROOM = 16;
const MASK_BYTES = 4;
const SHORT = 4096;
// Memory of a long frame is kept for the next one: touching new memory costs more than all work on it.
const SPARE_BYTES = 16 * 1024 * 1024;
const SPARE_MS = 10_000;

const masks = new Int32Array(1024);
let nextMask = masks.length;

/** A key that nobody can foresee. */
function mask(): number {
  if (nextMask === masks.length) {
    randomFillSync(masks);
    nextMask = 0;
  }
  const key = masks[nextMask] as number;
  nextMask += 1;
  return key;
}

/** A frame, and what must be called when it has left. */
export interface Frame {
  readonly bytes: Uint8Array;
  readonly done: (() => void) | undefined;
}

/** The frame of a text of two parts. Halves of surrogate pairs become U+FFFD. */
export function textFrame(head: string, tail: string): Frame {
  const units = head.length + tail.length;
  if (units <= SHORT) return { bytes: written(Buffer.allocUnsafe(HEAD_ROOM + units * 3), head, tail), done: undefined };
  const room = HEAD_ROOM + Buffer.byteLength(head) + Buffer.byteLength(tail);
  const kept = spare.take(room);
  return { bytes: written(kept ?? Buffer.allocUnsafeSlow(room), head, tail), done: kept && (() => spare.giveBack(kept)) };
}

/** The part of `buffer` that is the frame. Buffers of Node begin at multiples of four, those of its pool too. */
function written(buffer: Buffer, head: string, tail: string): Uint8Array {
  let end = HEAD_ROOM + buffer.write(head, HEAD_ROOM, "utf8");
  if (tail !== "") end += buffer.write(tail, end, "utf8");
  const length = end - HEAD_ROOM;
  const start = writeHead(buffer, length);
  const key = mask();
  const words = new Int32Array(buffer.buffer, buffer.byteOffset + HEAD_ROOM - MASK_BYTES, 1 + (length >> 2));
  words[0] = key;
  for (let i = 1; i < words.length; i += 1) words[i] = (words[i] as number) ^ key;
  for (let i = HEAD_ROOM - MASK_BYTES + words.byteLength; i < end; i += 1) {
    buffer[i] = (buffer[i] as number) ^ (buffer[HEAD_ROOM - MASK_BYTES + (i & 3)] as number);
  }
  return buffer.subarray(start, end);
}

/** Writes the head so that it ends where the key begins. */
function writeHead(buffer: Buffer, length: number): number {
  const before = HEAD_ROOM - MASK_BYTES;
  if (length < 126) {
    buffer.writeUInt16BE(0x8180 | length, before - 2);
    return before - 2;
  }
  if (length < 65_536) {
    buffer.writeUInt16BE(0x81fe, before - 4);
    buffer.writeUInt16BE(length, before - 2);
    return before - 4;
  }
  buffer.writeUInt16BE(0x81ff, before - 10);
  buffer.writeUInt32BE(Math.floor(length / 2 ** 32), before - 8);
  buffer.writeUInt32BE(length >>> 0, before - 4);
  return before - 10;
}

/** One buffer of this process for long frames, while they are frequent. */
const spare = {
  kept: undefined as Buffer | undefined,
  taken: false,
  timer: undefined as NodeJS.Timeout | undefined,

  /** The buffer, if nobody has it; `undefined` for what it is not meant for. */
  take(room: number): Buffer | undefined {
    if (this.taken || room > SPARE_BYTES) return undefined;
    clearTimeout(this.timer);
    if (this.kept === undefined || this.kept.length < room) this.kept = Buffer.allocUnsafeSlow(room);
    this.taken = true;
    return this.kept;
  },

  giveBack(buffer: Buffer): void {
    this.taken = false;
    this.timer = setTimeout(() => {
      if (!this.taken && this.kept === buffer) this.kept = undefined;
    }, SPARE_MS);
    this.timer.unref();
  },
};
