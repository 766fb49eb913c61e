// Decoders of the older encodings, as the Encoding Standard has them. Their tables are the worker's: code points by
// pointer, 0 where there is none.

const ASCII_END = 0x80

export const singleByte = (table) => (error) => ({
  __proto__: null,
  reset: () => undefined,
  decode: (bytes, output) => {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte < ASCII_END) output.push(byte)
      else output.push(table[byte - ASCII_END] || error())
    }
  },
  end: () => undefined,
})

// A decoder whose characters are one ASCII byte, one byte that `single` knows (it answers a code point, -1 for a byte
// that leads, or undefined), or a lead and a trail that `double` knows (it answers a code point, or [two], or undefined).
const pairs = (single, double) => (error) => {
  let lead = 0
  return {
    __proto__: null,
    reset: () => {
      lead = 0
    },
    decode: (bytes, output) => {
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i]
        if (lead === 0) {
          const point = byte < ASCII_END ? byte : single(byte)
          if (point === -1) lead = byte
          else output.push(point ?? error())
          continue
        }
        const found = double(lead, byte)
        lead = 0
        if (typeof found === 'number') {
          output.push(found)
        } else if (found !== undefined) {
          for (let j = 0; j < found.length; j++) output.push(found[j])
        } else {
          output.push(error())
          if (byte < ASCII_END) output.push(byte) // ASCII is never swallowed
        }
      }
    },
    end: (output) => {
      if (lead === 0) return
      lead = 0
      output.push(error())
    },
  }
}

const within = (byte, low, high) => byte >= low && byte <= high

// Trail bytes from 0x40 on, without 0x7F.
const trailOffset = (byte) => (byte < 0x7f ? 0x40 : 0x41)

export const big5 = (table) =>
  pairs(
    (byte) => (within(byte, 0x81, 0xfe) ? -1 : undefined),
    (lead, byte) => {
      if (!within(byte, 0x40, 0x7e) && !within(byte, 0xa1, 0xfe)) return undefined
      const pointer = (lead - 0x81) * 157 + byte - (byte < 0x7f ? 0x40 : 0x62)
      switch (pointer) {
        case 1133: return [0xca, 0x304]
        case 1135: return [0xca, 0x30c]
        case 1164: return [0xea, 0x304]
        case 1166: return [0xea, 0x30c]
      }
      return table[pointer] || undefined
    },
  )

export const eucKr = (table) =>
  pairs(
    (byte) => (within(byte, 0x81, 0xfe) ? -1 : undefined),
    (lead, byte) => (within(byte, 0x41, 0xfe) ? table[(lead - 0x81) * 190 + byte - 0x41] || undefined : undefined),
  )

const PRIVATE_USE = 0xe000

export const shiftJis = (table) =>
  pairs(
    (byte) => {
      if (byte === 0x80) return byte
      if (within(byte, 0xa1, 0xdf)) return 0xff61 - 0xa1 + byte
      return within(byte, 0x81, 0x9f) || within(byte, 0xe0, 0xfc) ? -1 : undefined
    },
    (lead, byte) => {
      if (!within(byte, 0x40, 0x7e) && !within(byte, 0x80, 0xfc)) return undefined
      const pointer = (lead - (lead < 0xa0 ? 0x81 : 0xc1)) * 188 + byte - trailOffset(byte)
      if (within(pointer, 8836, 10715)) return PRIVATE_USE - 8836 + pointer
      return table[pointer] || undefined
    },
  )

const KATAKANA = 0xff61 - 0xa1
const JIS0212 = 94 * 94 // behind the table of JIS X 0208

// 0x8F leads three bytes; what is found by then is remembered as the lead 0x8F00 + byte.
export const eucJp = (table) => (error) => {
  let lead = 0
  let isThree = false
  return {
    __proto__: null,
    reset: () => {
      lead = 0
      isThree = false
    },
    decode: (bytes, output) => {
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i]
        const isTrail = within(byte, 0xa1, 0xfe)
        if (lead === 0) {
          if (byte < ASCII_END) output.push(byte)
          else if (isTrail || byte === 0x8e || byte === 0x8f) lead = byte
          else output.push(error())
          continue
        }
        if (lead === 0x8f && !isThree && isTrail) {
          isThree = true
          lead = byte
          continue
        }
        let point
        if (lead === 0x8e) {
          if (within(byte, 0xa1, 0xdf)) point = KATAKANA + byte
        } else if (isTrail && within(lead, 0xa1, 0xfe)) {
          point = table[(isThree ? JIS0212 : 0) + (lead - 0xa1) * 94 + byte - 0xa1]
        }
        lead = 0
        isThree = false
        if (point) {
          output.push(point)
        } else {
          output.push(error())
          if (byte < ASCII_END) output.push(byte)
        }
      }
    },
    end: (output) => {
      if (lead === 0) return
      lead = 0
      isThree = false
      output.push(error())
    },
  }
}

const ASCII = 0
const ROMAN = 1
const KANA = 2
const LEAD = 3

export const iso2022Jp = (table) => (error) => {
  let mode = ASCII
  let lead = 0
  let escape = [] // the bytes of an escape sequence so far
  let isFresh = false // an escape sequence has just ended

  const modeOf = (first, second) => {
    if (first === 0x28) return second === 0x42 ? ASCII : second === 0x4a ? ROMAN : second === 0x49 ? KANA : undefined
    return first === 0x24 && (second === 0x40 || second === 0x42) ? LEAD : undefined
  }

  const plain = (byte, output) => {
    isFresh = false
    if (mode === LEAD) {
      if (lead !== 0) {
        const pointer = (lead - 0x21) * 94 + byte - 0x21
        const point = within(byte, 0x21, 0x7e) ? table[pointer] : 0
        lead = 0
        output.push(point || error())
      } else if (within(byte, 0x21, 0x7e)) {
        lead = byte
      } else {
        output.push(error())
      }
    } else if (mode === KANA) {
      output.push(within(byte, 0x21, 0x5f) ? 0xff61 - 0x21 + byte : error())
    } else if (byte > 0x7f || byte === 0x0e || byte === 0x0f) {
      output.push(error())
    } else if (mode === ROMAN && (byte === 0x5c || byte === 0x7e)) {
      output.push(byte === 0x5c ? 0xa5 : 0x203e)
    } else {
      output.push(byte)
    }
  }

  const next = (byte, output) => {
    if (escape.length === 0) {
      if (byte !== 0x1b) return plain(byte, output)
      // An escape in the middle of a character ends it.
      if (lead !== 0) {
        lead = 0
        output.push(error())
      }
      escape = [byte]
      return
    }
    if (escape.length === 1) {
      if (byte === 0x24 || byte === 0x28) return void escape.push(byte)
      escape = []
      isFresh = false
      output.push(error())
      return next(byte, output)
    }
    const [, first] = escape
    escape = []
    const found = modeOf(first, byte)
    if (found === undefined) {
      isFresh = false
      output.push(error())
      plain(first, output)
      return next(byte, output)
    }
    mode = found
    // Two escape sequences with nothing between them are an error.
    if (isFresh) output.push(error())
    isFresh = true
  }

  return {
    __proto__: null,
    reset: () => {
      mode = ASCII
      lead = 0
      escape = []
      isFresh = false
    },
    decode: (bytes, output) => {
      for (let i = 0; i < bytes.length; i++) next(bytes[i], output)
    },
    end: (output) => {
      const rest = escape
      escape = []
      if (lead !== 0 || rest.length > 0) output.push(error())
      lead = 0
      if (rest.length > 1) plain(rest[1], output)
      if (lead !== 0) output.push(error())
      mode = ASCII
      lead = 0
      isFresh = false
    },
  }
}

const TWO_BYTES = 126 * 190 // behind it, what four bytes below the supplementary planes mean
const FOUR_BYTES_END = 39420
const SUPPLEMENTARY = 189000
const LAST = 1237575

export const gb18030 = (table) => (error) => {
  let held = [] // up to three bytes of a character

  const fourBytes = (third, byte) => {
    const pointer = ((held[0] - 0x81) * 10 + held[1] - 0x30) * 1260 + (third - 0x81) * 10 + byte - 0x30
    if (pointer < FOUR_BYTES_END) return table[TWO_BYTES + pointer] || undefined
    return within(pointer, SUPPLEMENTARY, LAST) ? 0x10000 - SUPPLEMENTARY + pointer : undefined
  }

  const next = (byte, output) => {
    const [first, , third] = held
    if (held.length === 0) {
      if (byte < ASCII_END) output.push(byte)
      else if (within(byte, 0x81, 0xfe)) held.push(byte)
      else output.push(error())
    } else if (held.length === 3) {
      const point = within(byte, 0x30, 0x39) ? fourBytes(third, byte) : undefined
      const again = [held[1], third, byte]
      held = []
      if (point !== undefined) return output.push(point)
      output.push(error())
      if (!within(byte, 0x30, 0x39)) for (let i = 0; i < again.length; i++) next(again[i], output)
    } else if (held.length === 2) {
      if (within(byte, 0x81, 0xfe)) return void held.push(byte)
      const [, second] = held
      held = []
      output.push(error())
      next(second, output)
      next(byte, output)
    } else if (within(byte, 0x30, 0x39)) {
      held.push(byte)
    } else {
      held = []
      const isTrail = within(byte, 0x40, 0x7e) || within(byte, 0x80, 0xfe)
      const point = isTrail ? table[(first - 0x81) * 190 + byte - trailOffset(byte)] : 0
      if (point) return output.push(point)
      output.push(error())
      if (byte < ASCII_END) output.push(byte)
    }
  }

  return {
    __proto__: null,
    reset: () => {
      held = []
    },
    decode: (bytes, output) => {
      for (let i = 0; i < bytes.length; i++) next(bytes[i], output)
    },
    end: (output) => {
      if (held.length > 0) output.push(error())
      held = []
    },
  }
}
