// Text to bytes and back, in the encodings that Buffer knows. An encoding is { size, write, slice }: how many bytes a text
// takes, writing it into a view (which may be too short: what does not fit is left out), and reading it back.

const { fromCharCode } = String
const CHUNK = 8192

// `units` are code units or bytes.
const textOf = (units, start, end) => {
  if (end - start <= CHUNK) return fromCharCode.apply(undefined, units.subarray(start, end))
  let text = ''
  for (let i = start; i < end; i += CHUNK) text += fromCharCode.apply(undefined, units.subarray(i, Math.min(end, i + CHUNK)))
  return text
}

const utf8Size = (text) => {
  let size = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0x800) size += 1
    else {
      size += 2
      // A pair is two units and four bytes.
      if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i += 1
    }
  }
  return size
}

const utf8Write = (text, bytes, at, limit) => {
  const end = at + limit
  let to = at
  for (let i = 0; i < text.length; i++) {
    let unit = text.charCodeAt(i)
    if (unit < 0x80) {
      if (to === end) break
      bytes[to++] = unit
    } else if (unit < 0x800) {
      if (end - to < 2) break
      bytes[to++] = 0xc0 | (unit >> 6)
      bytes[to++] = 0x80 | (unit & 63)
    } else {
      if (unit >= 0xd800 && unit < 0xe000) {
        const low = unit < 0xdc00 ? text.charCodeAt(i + 1) : 0
        if ((low & 0xfc00) === 0xdc00) {
          if (end - to < 4) break
          unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff)
          i += 1
          bytes[to++] = 0xf0 | (unit >> 18)
          bytes[to++] = 0x80 | ((unit >> 12) & 63)
          bytes[to++] = 0x80 | ((unit >> 6) & 63)
          bytes[to++] = 0x80 | (unit & 63)
          continue
        }
        unit = 0xfffd
      }
      if (end - to < 3) break
      bytes[to++] = 0xe0 | (unit >> 12)
      bytes[to++] = 0x80 | ((unit >> 6) & 63)
      bytes[to++] = 0x80 | (unit & 63)
    }
  }
  return to - at
}

// Maximal subparts of ill-formed sequences become one U+FFFD each, as the Encoding Standard decodes.
const utf8Slice = (bytes, start, end) => {
  let ascii = start
  while (ascii < end && bytes[ascii] < 0x80) ascii += 1
  if (ascii === end) return textOf(bytes, start, end)
  const units = new Uint16Array(end - start)
  let to = 0
  let i = start
  while (i < end) {
    const lead = bytes[i++]
    if (lead < 0x80) {
      units[to++] = lead
      continue
    }
    let needed
    let low = 0x80
    let high = 0xbf
    let point
    if (lead >= 0xc2 && lead <= 0xdf) {
      needed = 1
      point = lead & 0x1f
    } else if (lead >= 0xe0 && lead <= 0xef) {
      needed = 2
      point = lead & 0xf
      if (lead === 0xe0) low = 0xa0
      else if (lead === 0xed) high = 0x9f
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      needed = 3
      point = lead & 7
      if (lead === 0xf0) low = 0x90
      else if (lead === 0xf4) high = 0x8f
    } else {
      units[to++] = 0xfffd
      continue
    }
    while (needed > 0 && i < end && bytes[i] >= low && bytes[i] <= high) {
      point = (point << 6) | (bytes[i++] & 63)
      low = 0x80
      high = 0xbf
      needed -= 1
    }
    if (needed > 0) units[to++] = 0xfffd
    else if (point < 0x10000) units[to++] = point
    else {
      units[to++] = 0xd7c0 + (point >> 10)
      units[to++] = 0xdc00 | (point & 0x3ff)
    }
  }
  return textOf(units, 0, to)
}

const byteWrite = (text, bytes, at, limit) => {
  const count = Math.min(text.length, limit)
  for (let i = 0; i < count; i++) bytes[at + i] = text.charCodeAt(i)
  return count
}

const asciiSlice = (bytes, start, end) => {
  const low = new Uint8Array(end - start)
  for (let i = 0; i < low.length; i++) low[i] = bytes[start + i] & 0x7f
  return textOf(low, 0, low.length)
}

const utf16Write = (text, bytes, at, limit) => {
  const count = Math.min(text.length, limit >> 1)
  for (let i = 0; i < count; i++) {
    const unit = text.charCodeAt(i)
    bytes[at + 2 * i] = unit & 255
    bytes[at + 2 * i + 1] = unit >> 8
  }
  return 2 * count
}

const utf16Slice = (bytes, start, end) => {
  const units = new Uint16Array((end - start) >> 1)
  for (let i = 0; i < units.length; i++) units[i] = bytes[start + 2 * i] | (bytes[start + 2 * i + 1] << 8)
  return textOf(units, 0, units.length)
}

const digit = (unit) => {
  if (unit >= 48 && unit <= 57) return unit - 48
  const lower = unit | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

// Up to the first two units that are no hexadecimal digits.
const hexWrite = (text, bytes, at, limit) => {
  const count = Math.min(text.length >> 1, limit)
  for (let i = 0; i < count; i++) {
    const high = digit(text.charCodeAt(2 * i))
    const low = digit(text.charCodeAt(2 * i + 1))
    if (high < 0 || low < 0) return i
    bytes[at + i] = (high << 4) | low
  }
  return count
}

const hexSlice = (bytes, start, end) => Uint8Array.prototype.toHex.call(bytes.subarray(start, end))

const sextet = (unit) => {
  if (unit >= 65 && unit <= 90) return unit - 65
  if (unit >= 97 && unit <= 122) return unit - 71
  if (unit >= 48 && unit <= 57) return unit + 4
  if (unit === 43 || unit === 45) return 62
  if (unit === 47 || unit === 95) return 63
  return -1
}

const base64Size = (text) => {
  let length = text.length
  if (length > 1 && text.charCodeAt(length - 1) === 61) length -= text.charCodeAt(length - 2) === 61 ? 2 : 1
  return Math.floor(length * 3 / 4)
}

// Both alphabets; what is in neither is passed over, and the first padding ends it.
const base64Write = (text, bytes, at, limit) => {
  let held = 0
  let bits = 0
  let to = 0
  for (let i = 0; i < text.length && to < limit; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 61) break
    const value = sextet(unit)
    if (value < 0) continue
    held = ((held << 6) | value) & 0xfff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[at + to++] = held >> bits
    }
  }
  return to
}

const base64Slice = (bytes, start, end) => Uint8Array.prototype.toBase64.call(bytes.subarray(start, end))
const URL_ALPHABET = { __proto__: null, alphabet: 'base64url', omitPadding: true }
const base64urlSlice = (bytes, start, end) => Uint8Array.prototype.toBase64.call(bytes.subarray(start, end), URL_ALPHABET)

const unitSize = (text) => text.length

export const utf8 = { name: 'utf8', size: utf8Size, write: utf8Write, slice: utf8Slice }
const latin1 = { name: 'latin1', size: unitSize, write: byteWrite, slice: textOf }
const ascii = { name: 'ascii', size: unitSize, write: byteWrite, slice: asciiSlice }
const utf16le = { name: 'utf16le', size: (text) => text.length * 2, write: utf16Write, slice: utf16Slice }
const hex = { name: 'hex', size: (text) => text.length >>> 1, write: hexWrite, slice: hexSlice }
const base64 = { name: 'base64', size: base64Size, write: base64Write, slice: base64Slice }
const base64url = { name: 'base64url', size: base64Size, write: base64Write, slice: base64urlSlice }

const ENCODINGS = {
  __proto__: null,
  'utf8': utf8,
  'utf-8': utf8,
  'latin1': latin1,
  'binary': latin1,
  'ascii': ascii,
  'ucs2': utf16le,
  'ucs-2': utf16le,
  'utf16le': utf16le,
  'utf-16le': utf16le,
  hex,
  base64,
  base64url,
}

// undefined for a name that is none.
export const findEncoding = (name) => {
  const text = `${name}`
  return ENCODINGS[text] ?? ENCODINGS[text.toLowerCase()]
}

const bytesOfString = (text, encoding) => {
  if (encoding === base64 || encoding === base64url) {
    // The engine's own decoder is ten times as quick; what it does not take is decoded leniently.
    try {
      return Uint8Array.fromBase64(text)
    } catch {
      // below
    }
  }
  const bytes = new Uint8Array(encoding.size(text))
  const written = encoding.write(text, bytes, 0, bytes.length)
  return written === bytes.length ? bytes : bytes.slice(0, written)
}
export { bytesOfString }
