// Bytes as strings of one unit for each, in which HTML can be looked for without being decoded: what nobody looks at goes
// through as it came.
const PIECE = 8192
const BEYOND_ASCII = /[^\x00-\x7f]/

export const createUnits = ({ decode, encode }) => {
  const ofBytes = (bytes) => {
    let units = ''
    for (let from = 0; from < bytes.length; from += PIECE) {
      units += String.fromCharCode.apply(undefined, bytes.subarray(from, from + PIECE))
    }
    return units
  }

  const toBytes = (units) => {
    const bytes = new Uint8Array(units.length)
    for (let i = 0; i < units.length; i++) bytes[i] = units.charCodeAt(i)
    return bytes
  }

  return {
    ofBytes,
    toBytes,
    ofText: (text) => (BEYOND_ASCII.test(text) ? ofBytes(encode(text)) : text),
    // Of a program's, which has to be text.
    ofGiven(text) {
      if (text.isWellFormed()) return this.ofText(text)
      const at = encode(text.slice(0, text.search(/[\ud800-\udfff]/u))).length
      throw new TypeError(`Parser error: invalid utf-8 sequence of 1 bytes from index ${at}`)
    },
    toText: (units) => (BEYOND_ASCII.test(units) ? decode(toBytes(units)) : units),
  }
}

// How many units at the end are the beginning of a character whose rest is still to come.
export const incompleteTail = (units) => {
  for (let back = 1; back <= 3 && back <= units.length; back++) {
    const unit = units.charCodeAt(units.length - back)
    if (unit < 0x80) return 0
    if (unit >= 0xc0) return (unit >= 0xf0 ? 4 : unit >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}
