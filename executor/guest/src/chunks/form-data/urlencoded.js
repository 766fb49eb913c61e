// application/x-www-form-urlencoded, read as workerd does: a percent sign that begins no byte is dropped.
const hexDigit = (byte) => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

const unescape = (bytes) => {
  const out = new Uint8Array(bytes.length)
  let count = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === 0x2b) out[count++] = 0x20
    else if (byte !== 0x25) out[count++] = byte
    else {
      const high = hexDigit(bytes[i + 1])
      if (high === -1) continue
      i += 1
      const low = hexDigit(bytes[i + 1])
      if (low !== -1) i += 1
      out[count++] = low === -1 ? high : high * 16 + low
    }
  }
  return out.subarray(0, count)
}

// [name, value] pairs.
export const readUrlencoded = (bytes, decode) => {
  const pairs = []
  for (let from = 0; from <= bytes.length;) {
    let end = bytes.indexOf(0x26, from)
    if (end === -1) end = bytes.length
    if (end > from) {
      const pair = bytes.subarray(from, end)
      const equals = pair.indexOf(0x3d)
      const name = equals === -1 ? pair : pair.subarray(0, equals)
      const value = equals === -1 ? pair.subarray(pair.length) : pair.subarray(equals + 1)
      pairs.push([decode(unescape(name)), decode(unescape(value))])
    }
    from = end + 1
  }
  return pairs
}
