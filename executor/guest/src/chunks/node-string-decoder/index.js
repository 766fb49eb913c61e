// node:string_decoder: text from bytes that arrive in pieces; an unfinished character waits for its rest.

// How many bytes at the end belong to a character that is not whole, and how many it would have.
const unfinishedUtf8 = (bytes) => {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back]
    if ((byte & 0xc0) === 0x80) continue
    const whole = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1
    if (whole <= back) return { count: 0, whole: 0 }
    // What can no longer become a character is not waited for.
    const next = back > 1 ? bytes[length - back + 1] : undefined
    const low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80
    const high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf
    if (next !== undefined && (next < low || next > high)) return { count: 0, whole: 0 }
    return { count: back, whole }
  }
  return { count: 0, whole: 0 }
}

const unfinishedUtf16 = (bytes) => {
  const odd = bytes.length % 2
  const last = bytes.length - odd
  // The first half of a pair waits for the second.
  if (last >= 2 && (bytes[last - 1] & 0xfc) === 0xd8) return { count: odd + 2, whole: 4 }
  return { count: odd, whole: odd === 0 ? 0 : 2 }
}

const unfinishedBase64 = (bytes) => {
  const count = bytes.length % 3
  return { count, whole: count === 0 ? 0 : 3 }
}

const UNFINISHED = {
  __proto__: null, utf8: unfinishedUtf8, utf16le: unfinishedUtf16, base64: unfinishedBase64, base64url: unfinishedBase64,
}

export default function install(realm) {
  realm.lazyModule('string_decoder', () => {
    const { Buffer, encodingNamed } = realm.exports.buffer
    const { invalidArgType, typeError } = realm.exports['node-errors']
    const states = new WeakMap()

    const stateOf = (decoder) => {
      const state = states.get(decoder)
      if (state === undefined) throw typeError('ERR_INVALID_THIS', 'Value of "this" must be of type StringDecoder')
      return state
    }

    function StringDecoder(encoding = 'utf8') {
      const { name } = encodingNamed(encoding)
      states.set(this, { encoding: encodingNamed(encoding), held: new Uint8Array(0), whole: 0 })
      this.encoding = name
    }

    const decode = (state, bytes) => {
      const joined = new Uint8Array(state.held.length + bytes.length)
      joined.set(state.held)
      joined.set(bytes, state.held.length)
      const { count, whole } = UNFINISHED[state.encoding.name]?.(joined) ?? { count: 0, whole: 0 }
      const end = joined.length - count
      state.held = joined.slice(end)
      state.whole = whole
      return state.encoding.slice(joined, 0, end)
    }

    Object.assign(StringDecoder.prototype, {
      write(buf) {
        const state = stateOf(this)
        if (typeof buf === 'string') return buf
        if (!ArrayBuffer.isView(buf)) throw invalidArgType('buf', ['string', 'Buffer', 'TypedArray', 'DataView'], buf)
        return decode(state, new Uint8Array(buf.buffer, buf.byteOffset, buf.byteLength))
      },
      end(buf) {
        const state = stateOf(this)
        let text = buf === undefined ? '' : this.write(buf)
        const { held } = state
        if (held.length > 0) {
          state.held = new Uint8Array(0)
          state.whole = 0
          text += state.encoding.name === 'utf8' ? '\ufffd' : state.encoding.slice(held, 0, held.length)
        }
        return text
      },
      text(buf, offset) {
        const state = stateOf(this)
        state.held = new Uint8Array(0)
        state.whole = 0
        return this.write(buf.slice(offset))
      },
    })
    const accessor = (name, get) => Object.defineProperty(StringDecoder.prototype, name, {
      get, enumerable: true, configurable: true,
    })
    accessor('lastChar', function lastChar() {
      const { held } = stateOf(this)
      const shown = Buffer.alloc(4)
      shown.set(held)
      return shown
    })
    accessor('lastNeed', function lastNeed() {
      const { held, whole } = stateOf(this)
      return held.length === 0 ? 0 : whole - held.length
    })
    accessor('lastTotal', function lastTotal() {
      const { held, whole } = stateOf(this)
      return held.length === 0 ? 0 : whole
    })
    Object.defineProperty(StringDecoder, 'length', { value: 0 })
    return { StringDecoder }
  })
}
