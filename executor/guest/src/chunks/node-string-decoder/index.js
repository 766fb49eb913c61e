// node:string_decoder: text from bytes that arrive in pieces; an unfinished character waits for its rest.

// How many bytes at the end belong to a character that is not whole, and how many it would have.
const unfinishedUtf8 = (bytes) => {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back]
    if ((byte & 0xc0) === 0x80) continue
    const whole = (byte & 0xf8) === 0xf0 ? 4 : (byte & 0xf0) === 0xe0 ? 3 : (byte & 0xe0) === 0xc0 ? 2 : 1
    if (whole <= back) return { count: 0, whole: 0 }
    return { count: back, whole }
  }
  return { count: 0, whole: 0 }
}

const unfinishedUtf16 = (bytes) => {
  if (bytes.length % 2 === 1) return { count: 1, whole: 2 }
  // The first half of a pair waits for the second.
  const half = bytes.length > 0 && (bytes[bytes.length - 1] & 0xfc) === 0xd8
  return { count: half ? 2 : 0, whole: half ? 4 : 0 }
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

    function StringDecoder(encoding) {
      const chosen = encodingNamed(`${encoding || ''}` === '' ? 'utf8' : encoding)
      const { name } = chosen
      states.set(this, { encoding: chosen, held: new Uint8Array(0), whole: 0 })
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
