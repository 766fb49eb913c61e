// Base64 as both codecs write it: padded, without white space. `atob` alone would accept more.

declare function atob(text: string): string;
declare function btoa(binary: string): string;

// Newer engines do it themselves; the isolate that shares this file has nothing else. An older Node has its Buffer, which is
// many times faster than what every platform has.
const native = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
const { toBase64: encode } = Uint8Array.prototype as { toBase64?: (this: Uint8Array) => string };
const { Buffer: nodes } = (native.fromBase64 === undefined ? globalThis : {}) as { Buffer?: typeof Buffer };

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const CHUNK = 0x8000; // arguments of one call of String.fromCharCode

/** Bytes of a base64 text, or `undefined` if it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
  if (native.fromBase64 !== undefined) return native.fromBase64(text);
  if (nodes !== undefined) return new Uint8Array(nodes.from(text, "base64")); // a copy: small Buffers share their memory
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Base64 of bytes. */
export function toBase64(bytes: Uint8Array): string {
  if (encode !== undefined) return encode.call(bytes);
  if (nodes !== undefined) return nodes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}
