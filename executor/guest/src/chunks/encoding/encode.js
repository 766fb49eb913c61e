// UTF-8 from strings. Half of a pair becomes U+FFFD.

const REPLACEMENT = 0xfffd

// The code point at `at`.
const pointAt = (text, at) => {
  const unit = text.charCodeAt(at)
  if (unit < 0xd800 || unit > 0xdfff) return unit
  if (unit < 0xdc00 && at + 1 < text.length) {
    const next = text.charCodeAt(at + 1)
    if (next >= 0xdc00 && next <= 0xdfff) return 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00)
  }
  return REPLACEMENT
}

const sizeOf = (point) => (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4)

const write = (bytes, at, point, size) => {
  if (size === 1) {
    bytes[at] = point
  } else if (size === 2) {
    bytes[at] = 0xc0 | (point >> 6)
    bytes[at + 1] = 0x80 | (point & 0x3f)
  } else if (size === 3) {
    bytes[at] = 0xe0 | (point >> 12)
    bytes[at + 1] = 0x80 | ((point >> 6) & 0x3f)
    bytes[at + 2] = 0x80 | (point & 0x3f)
  } else {
    bytes[at] = 0xf0 | (point >> 18)
    bytes[at + 1] = 0x80 | ((point >> 12) & 0x3f)
    bytes[at + 2] = 0x80 | ((point >> 6) & 0x3f)
    bytes[at + 3] = 0x80 | (point & 0x3f)
  }
}

// As much of `text` as fits whole: { read, written }.
export const encodeInto = (text, bytes) => {
  const { length } = text
  let read = 0
  let written = 0
  while (read < length) {
    const point = pointAt(text, read)
    const size = sizeOf(point)
    if (written + size > bytes.length) break
    write(bytes, written, point, size)
    written += size
    read += size === 4 ? 2 : 1
  }
  return { read, written }
}

const sizeOfText = (text) => {
  const { length } = text
  let size = 0
  for (let at = 0; at < length; at++) {
    const count = sizeOf(pointAt(text, at))
    if (count === 4) at++
    size += count
  }
  return size
}

export const encode = (text) => {
  const { length } = text
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x80) {
      const exact = new Uint8Array(sizeOfText(text))
      encodeInto(text, exact)
      return exact
    }
    bytes[at] = unit
  }
  return bytes
}
