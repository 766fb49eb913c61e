// Hosts: names, IPv4 and IPv6 addresses, and the opaque hosts of schemes that are not special.
import { CONTROL, percentEncode } from './percent.js'

const FORBIDDEN = /[\0\t\n\r #/:<>?@[\\\]^|]/
const FORBIDDEN_IN_DOMAIN = /[\0-\x20<>\x7f]/
// What no mapping makes part of a name. Of the others a combining character may make something else.
const NEVER_IN_DOMAIN = /[\0\t\n\r #/:?@[\\\]^|]/
// A name that takes a table of Unicode: the worker is asked, which has one.
const NEEDS_TABLE = /[^\0-\x7f]|%|xn--/i
const ENDS_IN_NUMBER = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$/i

const parseNumber = (text) => {
  if (/^0x[0-9a-f]*$/i.test(text)) return text.length === 2 ? 0 : parseInt(text.slice(2), 16)
  if (/^0[0-7]*$/.test(text)) return parseInt(text, 8)
  return /^[1-9][0-9]*$/.test(text) ? parseInt(text, 10) : NaN
}

const parseIPv4 = (text) => {
  const parts = text.split('.')
  if (parts.length > 1 && parts[parts.length - 1] === '') parts.pop()
  if (parts.length > 4) return null
  const numbers = parts.map(parseNumber)
  let address = numbers.pop()
  if (!(address < 256 ** (4 - numbers.length))) return null
  for (let i = 0; i < numbers.length; i++) {
    if (!(numbers[i] < 256)) return null
    address += numbers[i] * 256 ** (3 - i)
  }
  return (address >>> 24) + '.' + ((address >>> 16) & 255) + '.' + ((address >>> 8) & 255) + '.' + (address & 255)
}

const parseEmbeddedIPv4 = (text) => {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return null
  const bytes = match.slice(1)
  if (bytes.some((byte) => byte > 255 || (byte.length > 1 && byte[0] === '0'))) return null
  return [bytes[0] * 256 + +bytes[1], bytes[2] * 256 + +bytes[3]]
}

const parsePieces = (text) => {
  if (text === '') return []
  const pieces = []
  const parts = text.split(':')
  for (let i = 0; i < parts.length; i++) {
    if (/^[0-9a-f]{1,4}$/i.test(parts[i])) {
      pieces.push(parseInt(parts[i], 16))
      continue
    }
    const embedded = i === parts.length - 1 ? parseEmbeddedIPv4(parts[i]) : null
    if (embedded === null) return null
    pieces.push(...embedded)
  }
  return pieces
}

const pieces = (text) => {
  const gap = text.indexOf('::')
  if (gap === -1) {
    const all = parsePieces(text)
    return all !== null && all.length === 8 ? all : null
  }
  const before = parsePieces(text.slice(0, gap))
  const after = parsePieces(text.slice(gap + 2))
  if (before === null || after === null || before.length + after.length > 7) return null
  // An embedded IPv4 address is the end of the whole.
  if (text.lastIndexOf('.', gap) !== -1) return null
  return [...before, ...new Array(8 - before.length - after.length).fill(0), ...after]
}

const parseIPv6 = (text) => {
  const numbers = pieces(text)
  if (numbers === null) return null
  // The first longest run of zeros becomes the gap.
  let start = -1
  let length = 1
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && numbers[end] === 0) end++
    if (end - i > length) {
      start = i
      length = end - i
    }
  }
  const hex = numbers.map((number) => number.toString(16))
  if (start === -1) return '[' + hex.join(':') + ']'
  return '[' + hex.slice(0, start).join(':') + '::' + hex.slice(start + length).join(':') + ']'
}

// The serialized host, or null for what is none. `toASCII` answers for names that take a table of Unicode.
export const parseHost = (text, special, toASCII) => {
  if (text[0] === '[') return text.endsWith(']') ? parseIPv6(text.slice(1, -1)) : null
  if (!special) return FORBIDDEN.test(text) ? null : percentEncode(text, CONTROL)
  if (NEVER_IN_DOMAIN.test(text)) return null
  if (NEEDS_TABLE.test(text)) return toASCII(text)
  if (FORBIDDEN_IN_DOMAIN.test(text)) return null
  if (ENDS_IN_NUMBER.test(text)) return parseIPv4(text)
  return text.toLowerCase()
}
