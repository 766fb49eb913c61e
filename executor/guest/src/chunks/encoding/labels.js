// From a label to an encoding: { name, decoder }. The usual ones are known here; the worker knows all.
import { big5, eucJp, eucKr, gb18030, iso2022Jp, shiftJis, singleByte } from './legacy.js'
import { utf16, utf8 } from './unicode.js'

const MAX_LABEL = 64 // the longest has 19 characters
const UTF_8 = { __proto__: null, name: 'utf-8', decoder: utf8 }
const UTF_16LE = { __proto__: null, name: 'utf-16le', decoder: utf16(false) }
const UTF_16BE = { __proto__: null, name: 'utf-16be', decoder: utf16(true) }

const byKind = { __proto__: null, single: singleByte, big5, eucJp, eucKr, gb18030, iso2022Jp, shiftJis }

const known = new Map([
  ['utf-8', UTF_8],
  ['utf8', UTF_8],
  ['utf-16le', UTF_16LE],
  ['utf-16', UTF_16LE],
  ['utf-16be', UTF_16BE],
])

// undefined for what is no label.
export const findEncoding = (text, hostCall) => {
  const found = known.get(text)
  if (found !== undefined) return found
  if (text.length > MAX_LABEL) return undefined
  const { value, bytes } = hostCall('encoding', { __proto__: null, label: text })
  if (value === null) return undefined
  const { name, kind } = value
  let encoding = known.get(name)
  if (encoding === undefined) {
    const table = new Uint32Array(bytes.slice().buffer) // the bytes begin where they happen to
    encoding = { __proto__: null, name, decoder: byKind[kind](table) }
    known.set(name, encoding)
  }
  known.set(text, encoding)
  return encoding
}
