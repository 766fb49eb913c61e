// createECDH: a pair of keys on a curve, as points and numbers instead of key objects.
import { Stamp, stateOf } from './state.js'

const CURVES = { __proto__: null, prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }
// Curves that BoringSSL has a name for and nothing more.
const KNOWN = ['secp256k1', 'secp224r1']
const POINTS = ['compressed', 'uncompressed', 'hybrid']

export const createEcdh = (realm, { copy, output, readBytes }) => {
  const { hostCall } = realm.exports.subtle
  const { Uint8ArrayCtor, fromBase64, viewLength } = realm.primordials
  const { validateOneOf, validateString } = realm.exports['node-errors']
  const URL_SAFE = { __proto__: null, alphabet: 'base64url' }
  const nothing = { __proto__: null }

  const own = (object) => {
    const state = stateOf(object)
    if (state === undefined) throw new TypeError('the object is no ECDH')
    return state
  }

  const made = ({ secret }, what) => {
    if (secret === undefined) throw new Error(`Failed to get ECDH ${what} key`)
    return secret
  }

  const params = ({ curve }) => ({ __proto__: null, kind: 'ec', curve })

  const pointOf = (secret) => {
    const open = copy(hostCall('crypto.key.public', nothing, [secret]).bytes)
    return copy(hostCall('crypto.key.to_raw', nothing, [open]).bytes)
  }

  // `04` and both coordinates, or `02`/`03` by the parity of y and x alone, or `06`/`07` and both.
  const shape = (point, format = 'uncompressed') => {
    validateOneOf(format, 'format', POINTS)
    if (format === 'uncompressed') return point
    const length = viewLength(point)
    const odd = point[length - 1] & 1
    const shown = new Uint8ArrayCtor(format === 'compressed' ? (length + 1) / 2 : length)
    for (let i = 0; i < viewLength(shown); i++) shown[i] = point[i]
    shown[0] = (format === 'compressed' ? 2 : 6) + odd
    return shown
  }

  class ECDH {
    constructor(curve) {
      validateString(curve, 'curveName')
      if (CURVES[curve] === undefined) {
        throw new Error(KNOWN.includes(curve) ? 'Failed to create key using named curve' : 'Invalid curve')
      }
      new Stamp(this, { __proto__: null, curve: CURVES[curve], secret: undefined })
    }

    static convertKey(key, curve, inputEncoding, outputEncoding, format) {
      validateString(curve, 'curveName')
      if (CURVES[curve] === undefined) throw new Error('Invalid EC curve name')
      const read = hostCall('crypto.key.raw', params({ curve: CURVES[curve] }), [readBytes(key, 'key', inputEncoding)])
      const point = copy(hostCall('crypto.key.to_raw', nothing, [copy(read.bytes)]).bytes)
      return output(shape(point, format), outputEncoding)
    }

    computeSecret(otherPublicKey, inputEncoding, outputEncoding) {
      const state = own(this)
      if (state.secret === undefined) throw new Error('Invalid keypair')
      const { secret } = state
      const point = readBytes(otherPublicKey, 'otherPublicKey', inputEncoding ?? undefined)
      let theirs
      try {
        theirs = copy(hostCall('crypto.key.raw', params(state), [point]).bytes)
      } catch {
        throw new Error('Failed to set point')
      }
      return output(hostCall('crypto.agree', nothing, [secret, theirs]).bytes, outputEncoding)
    }

    generateKeys(encoding, format) {
      const state = own(this)
      const { value: length, bytes } = hostCall('crypto.key.generate', params(state), [])
      state.secret = copy(bytes.subarray(0, length))
      return this.getPublicKey(encoding, format)
    }

    getPrivateKey(encoding) {
      const { value } = hostCall('crypto.key.to_jwk', { __proto__: null, private: true }, [made(own(this), 'private')])
      const number = fromBase64(value.d, URL_SAFE)
      let zeros = 0
      while (zeros < number.length - 1 && number[zeros] === 0) zeros++
      return output(number.subarray(zeros), encoding)
    }

    getPublicKey(encoding, format) {
      return output(shape(pointOf(made(own(this), 'public')), format), encoding)
    }

    setPrivateKey(privateKey, encoding) {
      const state = own(this)
      const { bytes } = hostCall('crypto.key.scalar', params(state), [readBytes(privateKey, 'key', encoding)])
      state.secret = copy(bytes)
    }
  }
  for (const name of ['computeSecret', 'generateKeys', 'getPrivateKey', 'getPublicKey', 'setPrivateKey']) {
    Object.defineProperty(ECDH.prototype, name, { __proto__: null, enumerable: true })
  }

  return { __proto__: null, ECDH, createECDH: function createECDH(curve) { return new ECDH(curve) } }
}
