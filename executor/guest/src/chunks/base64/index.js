// atob and btoa, by V8's own base64.
import { globalFunction } from '../shape.js'
import { SCOPE, badArgument } from '../texts.js'

const { apply } = Reflect
const PIECE = 8192 // arguments of one call

const invalidInput =
  "atob() called with invalid base64-encoded data. (Only whitespace, '+', '/', alphanumeric ASCII, and up to two terminal " +
  "'=' signs when the input data length is divisible by 4 are allowed.)"
const invalidCharacter = 'btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.'

export default function install(realm) {
  const { DOMException } = realm.exports['dom-exception']
  const { charCodeAt, fromBase64, fromCharCode, toBase64 } = realm.primordials
  const refuse = (message) => new DOMException(message, 'InvalidCharacterError')

  const atob = (...args) => {
    if (args.length === 0) throw badArgument('atob', SCOPE, 1, 'string')
    const encoded = `${args[0]}`
    let bytes
    try {
      bytes = fromBase64(encoded)
    } catch {
      throw refuse(invalidInput)
    }
    let text = ''
    for (let from = 0; from < bytes.length; from += PIECE) {
      text += apply(fromCharCode, undefined, bytes.subarray(from, from + PIECE))
    }
    return text
  }

  const btoa = (...args) => {
    if (args.length === 0) throw badArgument('btoa', SCOPE, 1, 'JsString')
    const text = `${args[0]}`
    const bytes = new Uint8Array(text.length)
    for (let i = 0; i < text.length; i++) {
      const unit = charCodeAt(text, i)
      if (unit > 0xff) throw refuse(invalidCharacter)
      bytes[i] = unit
    }
    return toBase64(bytes)
  }

  realm.defineEnumerable('atob', globalFunction(realm.global, 'atob', atob))
  realm.defineEnumerable('btoa', globalFunction(realm.global, 'btoa', btoa))
}
