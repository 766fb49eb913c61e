// Decoders of UTF-8 and UTF-16. A decoder has `decode(bytes, output)`, which may leave an unfinished character for the next
// call, and `end(output)`. `error()` answers the replacement, or throws where errors are fatal.

const RUN = 16 // from here on, bytes of ASCII are cheaper together

export const utf8 = (error) => {
  // As the Encoding Standard has it: what the character is so far, how many bytes it wants and has, and the bounds of
  // the next one.
  let point = 0
  let needed = 0
  let seen = 0
  let lower = 0x80
  let upper = 0xbf

  const reset = () => {
    point = needed = seen = 0
    lower = 0x80
    upper = 0xbf
  }

  const begin = (byte, output) => {
    if (byte >= 0xc2 && byte <= 0xdf) {
      needed = 1
      point = byte & 0x1f
    } else if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) lower = 0xa0
      if (byte === 0xed) upper = 0x9f
      needed = 2
      point = byte & 0xf
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) lower = 0x90
      if (byte === 0xf4) upper = 0x8f
      needed = 3
      point = byte & 0x7
    } else {
      output.push(error())
    }
  }

  return {
    __proto__: null,
    reset,
    decode: (bytes, output) => {
      const { length } = bytes
      let at = 0
      while (at < length) {
        const byte = bytes[at]
        if (needed === 0) {
          if (byte < 0x80) {
            let end = at + 1
            while (end < length && bytes[end] < 0x80) end++
            if (end - at >= RUN) output.pushAll(bytes, at, end)
            else for (let i = at; i < end; i++) output.push(bytes[i])
            at = end
          } else {
            begin(byte, output)
            at++
          }
        } else if (byte < lower || byte > upper) {
          reset()
          output.push(error()) // the byte itself comes again
        } else {
          lower = 0x80
          upper = 0xbf
          point = (point << 6) | (byte & 0x3f)
          at++
          if (++seen === needed) {
            output.push(point)
            reset()
          }
        }
      }
    },
    end: (output) => {
      if (needed === 0) return
      reset()
      output.push(error())
    },
  }
}

export const utf16 = (isBigEndian) => (error) => {
  let first = -1 // the first byte of a unit
  let high = -1 // the first unit of a pair

  const take = (unit, output) => {
    const isLow = unit >= 0xdc00 && unit <= 0xdfff
    if (high >= 0) {
      const lead = high
      high = -1
      if (isLow) return output.push(0x10000 + ((lead - 0xd800) << 10) + (unit - 0xdc00))
      output.push(error())
    }
    if (isLow) output.push(error())
    else if (unit >= 0xd800 && unit <= 0xdbff) high = unit
    else output.push(unit)
  }

  return {
    __proto__: null,
    reset: () => {
      first = high = -1
    },
    decode: (bytes, output) => {
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i]
        if (first < 0) {
          first = byte
        } else {
          const unit = isBigEndian ? (first << 8) | byte : (byte << 8) | first
          first = -1
          take(unit, output)
        }
      }
    },
    end: (output) => {
      const isCut = first >= 0 || high >= 0
      first = high = -1
      if (isCut) output.push(error())
    },
  }
}
