// How long texts are when they are sent.

const { Buffer: nodes } = globalThis as { Buffer?: typeof Buffer };

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  if (nodes !== undefined) return nodes.byteLength(text); // tells it of long texts a hundred times faster
  let bytes = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    bytes += 1;
    // A pair is two units and four bytes; one alone is sent as a replacement of three.
    if (unit < 0x800 || (isLead(unit) && isTrail(text.charCodeAt(i + 1)))) continue;
    if (isTrail(unit) && isLead(text.charCodeAt(i - 1))) continue;
    bytes += 1;
  }
  return bytes;
}

/** The length of a text that is longer than `limit` bytes; `undefined` for any other. Counts only where it must. */
export function bytesBeyond(text: string, limit: number): number | undefined {
  if (text.length * 3 <= limit) return undefined;
  const bytes = utf8Length(text);
  return bytes > limit ? bytes : undefined;
}

const isTrail = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;
const isLead = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
