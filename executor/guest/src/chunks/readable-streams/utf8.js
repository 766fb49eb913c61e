// UTF-8 as workerd writes and reads it where no TextEncoder is asked: a lone surrogate is written as its three bytes, and
// a byte order mark is text.
const PIECE = 4096

export const encode = (text) => {
  const { length } = text
  const bytes = new Uint8Array(length)
  let i = 0
  for (; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) break
    bytes[i] = unit
  }
  return i === length ? bytes : encodeRest(text, i, bytes)
}

const encodeRest = (text, from, start) => {
  const { length } = text
  const bytes = new Uint8Array(from + 3 * (length - from))
  bytes.set(start.subarray(0, from))
  let at = from
  for (let i = from; i < length; i++) {
    let unit = text.charCodeAt(i)
    if (unit < 0x80) {
      bytes[at++] = unit
      continue
    }
    if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >> 6)
    } else {
      const next = unit >= 0xd800 && unit < 0xdc00 && i + 1 < length ? text.charCodeAt(i + 1) : 0
      if (next >= 0xdc00 && next < 0xe000) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00)
        i++
        bytes[at++] = 0xf0 | (unit >> 18)
        bytes[at++] = 0x80 | ((unit >> 12) & 63)
      } else {
        bytes[at++] = 0xe0 | (unit >> 12)
      }
      bytes[at++] = 0x80 | ((unit >> 6) & 63)
    }
    bytes[at++] = 0x80 | (unit & 63)
  }
  return bytes.slice(0, at)
}

// How many bytes follow the first of a sequence, the least and greatest that its second byte may be; none for a byte that
// begins nothing.
const shape = (byte) => {
  if (byte >= 0xc2 && byte <= 0xdf) return [1, 0x80, 0xbf]
  if (byte >= 0xe0 && byte <= 0xef) return [2, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf]
  if (byte >= 0xf0 && byte <= 0xf4) return [3, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf]
  return undefined
}

const decodePiece = (bytes, from, end, units) => {
  let count = 0
  let i = from
  while (i < end && count < PIECE) {
    const byte = bytes[i++]
    if (byte < 0x80) {
      units[count++] = byte
      continue
    }
    const found = shape(byte)
    let code = 0xfffd
    if (found !== undefined) {
      let [more, low, high] = found
      let value = byte & (0x3f >> more)
      for (; more > 0 && i < end && bytes[i] >= low && bytes[i] <= high; more--) {
        value = (value << 6) | (bytes[i++] & 63)
        low = 0x80
        high = 0xbf
      }
      if (more === 0) code = value
    }
    if (code > 0xffff) {
      units[count++] = 0xd800 + ((code - 0x10000) >> 10)
      code = 0xdc00 + ((code - 0x10000) & 0x3ff)
    }
    units[count++] = code
  }
  return [i, count]
}

export const decode = (bytes) => {
  const end = bytes.length
  const units = new Uint16Array(PIECE + 1)
  let text = ''
  for (let i = 0; i < end;) {
    const [next, count] = decodePiece(bytes, i, end, units)
    text += String.fromCharCode.apply(undefined, count === units.length ? units : units.subarray(0, count))
    i = next
  }
  return text
}
