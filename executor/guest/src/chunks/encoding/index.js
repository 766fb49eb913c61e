// TextEncoder and TextDecoder.
import { publish } from '../shape.js'
import { badArgument, badConstructorArgument, illegalInvocation, isDictionary } from '../texts.js'
import { encode, encodeInto } from './encode.js'
import { findEncoding } from './labels.js'
import { Output } from './output.js'

const BOM = 0xfeff
const REPLACEMENT = 0xfffd

const isObject = (value) => typeof value === 'object' && value !== null

const missingMembers = (options) =>
  new TypeError(
    `Cannot initialize N7workerd3api11TextDecoder${options}E with required members from an undefined or null value.`,
  )

const fail = () => {
  throw new TypeError('Failed to decode input.')
}
const replace = () => REPLACEMENT

// One for all: decoding runs nothing of the program's.
const output = new Output()

const decode = (state, bytes, isStream) => {
  const { decoder, ignoreBOM, isUnicode } = state
  let text
  let isWhole = false
  try {
    decoder.decode(bytes, output)
    if (!isStream) decoder.end(output)
    isWhole = true
  } finally {
    text = output.take()
    if (!isWhole) {
      decoder.reset()
      state.isStarted = false
    }
  }
  if (text !== '' && !state.isStarted) {
    state.isStarted = true
    if (isUnicode && !ignoreBOM && text.charCodeAt(0) === BOM) text = text.slice(1)
  }
  if (!isStream) state.isStarted = false
  return text
}

export default function install(realm) {
  const { byteLengthOfBuffer, isView, typedArrayTag, uncurry, viewBuffer, viewLength, viewOffset } = realm.primordials
  const sharedLength = uncurry(Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength').get)

  const lengthOfBuffer = (source) => {
    const length = byteLengthOfBuffer(source)
    if (length !== undefined) return length
    try {
      return sharedLength(source)
    } catch {
      throw badArgument('decode', 'TextDecoder', 1, 'Array')
    }
  }

  // A detached buffer has no bytes, and no view can be made of it.
  const bytesOf = (source) => {
    if (isView(source)) {
      const length = viewLength(source)
      return length === 0 ? new Uint8Array(0) : new Uint8Array(viewBuffer(source), viewOffset(source), length)
    }
    return lengthOfBuffer(source) === 0 ? new Uint8Array(0) : new Uint8Array(source)
  }

  let isEncoder
  let stateOf

  const checkEncoder = (value) => {
    if (!isEncoder(value)) throw illegalInvocation()
  }

  class TextEncoderInner {
    #brand

    encode(text) {
      checkEncoder(this)
      return text === undefined ? new Uint8Array(0) : encode(`${text}`)
    }

    encodeInto(...args) {
      checkEncoder(this)
      if (args.length === 0) throw badArgument('encodeInto', 'TextEncoder', 1, 'JsString')
      const text = `${args[0]}`
      const [, bytes] = args
      if (!isView(bytes) || typedArrayTag(bytes) !== 'Uint8Array') {
        throw badArgument('encodeInto', 'TextEncoder', 2, 'JsUint8Array')
      }
      return encodeInto(text, bytes)
    }

    get encoding() { return checkEncoder(this), 'utf-8' }

    static {
      isEncoder = (value) => isObject(value) && #brand in value
    }
  }

  const state = (decoder) => {
    const found = stateOf(decoder)
    if (found === undefined) throw illegalInvocation()
    return found
  }

  class TextDecoderInner {
    #state

    constructor(label = 'utf-8', options) {
      const text = `${label}`
      if (!isDictionary(options)) throw badConstructorArgument('TextDecoder', 2, 'ConstructorOptions')
      if (options === null) throw missingMembers('18ConstructorOptions')
      const encoding = findEncoding(text, realm.hostCall)
      if (encoding === undefined) throw new RangeError(`"${text}" is not a valid encoding.`)
      const { name, decoder } = encoding
      const isFatal = !!options?.fatal
      this.#state = {
        __proto__: null,
        name,
        isUnicode: name.startsWith('utf-'),
        isFatal,
        ignoreBOM: !!options?.ignoreBOM,
        decoder: decoder(isFatal ? fail : replace),
        isStarted: false, // a first character has been seen
      }
    }

    decode(...args) {
      const [source, options] = args
      const current = state(this)
      const bytes = source === undefined ? new Uint8Array(0) : bytesOf(source)
      if (!isDictionary(options)) throw badArgument('decode', 'TextDecoder', 2, 'DecodeOptions')
      if (options === null) throw missingMembers('13DecodeOptions')
      return decode(current, bytes, !!options?.stream)
    }

    get encoding() { return state(this).name }
    get fatal() { return state(this).isFatal }
    get ignoreBOM() { return state(this).ignoreBOM }

    static {
      stateOf = (value) => (isObject(value) && #state in value ? value.#state : undefined)
    }
  }

  realm.define('TextEncoder', publish(TextEncoderInner, 'TextEncoder'))
  realm.define('TextDecoder', publish(TextDecoderInner, 'TextDecoder'))
  return { __proto__: null, encode, encodeInto }
}
