// KeyObject: a key outside of any algorithm. Secret ones are bytes, the others DER as the worker reads and writes it.
import { Stamp, stateOf } from './state.js'

const KEY_KINDS = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey', 'Object']
const SECRET_KINDS = ['string', 'ArrayBuffer', 'TypedArray', 'DataView']
const CURVES = { __proto__: null, 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' }
const BY_CURVE = {
  __proto__: null, prime256v1: 'P-256', secp256r1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521', 'P-256': 'P-256',
  'P-384': 'P-384', 'P-521': 'P-521',
}
const LABELS = {
  __proto__: null, pkcs8: 'PRIVATE KEY', spki: 'PUBLIC KEY', 'pkcs1 private': 'RSA PRIVATE KEY',
  'pkcs1 public': 'RSA PUBLIC KEY', sec1: 'EC PRIVATE KEY', encrypted: 'ENCRYPTED PRIVATE KEY',
}

export const createKeyObjects = (realm, { copy, fromText, output, readBytes }, later) => {
  const { CryptoKey, bytesOf, equalBytes, hostCall, inside } = realm.exports.subtle
  const { Uint8ArrayCtor, toBase64, viewLength } = realm.primordials
  const {
    invalidArgType, invalidArgValue, outOfRange, plainError, typeError, validateFunction, validateInteger, validateObject,
    validateOneOf, validateString,
  } = realm.exports['node-errors']

  const SECRET = {}
  const URL_SAFE = { __proto__: null, alphabet: 'base64url', omitPadding: true }
  const stateOfKey = (object) => stateOf(object)

  class KeyObject {
    constructor(token) {
      if (token !== SECRET) throw new Error('Illegal constructor')
    }

    static from(key) {
      const slots = inside(key)
      if (slots === undefined) throw invalidArgType('key', 'CryptoKey', key)
      const { type, material, extractable, algorithm } = slots
      return make({ __proto__: null, type, material, extractable, kind: kindOf(algorithm), details: algorithm })
    }

    get [Symbol.toStringTag]() {
      return 'KeyObject'
    }

    equals(other) {
      const a = own(this)
      const b = stateOfKey(other)
      if (b === undefined) throw invalidArgType('otherKeyObject', 'KeyObject', other)
      return a.type === b.type && equalBytes(a.material, b.material)
    }
  }

  const own = (object) => {
    const state = stateOfKey(object)
    if (state === undefined) throw new TypeError('the object is no KeyObject')
    return state
  }

  const readOptions = (options) => {
    if (options !== undefined) validateObject(options, 'options')
    return options ?? {}
  }

  const exportable = (state) => {
    if (!state.extractable) throw new TypeError('Unable to export non-extractable key')
  }

  class SecretKeyObject extends KeyObject {
    get type() {
      return 'secret'
    }

    get symmetricKeySize() {
      return viewLength(own(this).material)
    }

    export(options) {
      const { format = 'buffer' } = readOptions(options)
      const state = own(this)
      exportable(state)
      if (format === 'buffer') return output(state.material)
      if (format === 'jwk') return { kty: 'oct', ext: true, k: toBase64(state.material, URL_SAFE) }
      throw new TypeError(`Invalid format for secret key export: ${format}`)
    }
  }

  class AsymmetricKeyObject extends KeyObject {
    get type() {
      return own(this).type
    }

    get asymmetricKeyType() {
      return own(this).kind
    }

    get asymmetricKeyDetails() {
      return describe(own(this))
    }

    export(options) {
      const state = own(this)
      exportable(state)
      return write(state, readOptions(options))
    }
  }
  class PublicKeyObject extends AsymmetricKeyObject {}
  class PrivateKeyObject extends AsymmetricKeyObject {}

  const make = (state) => {
    const Made = state.type === 'secret' ? SecretKeyObject : state.type === 'public' ? PublicKeyObject : PrivateKeyObject
    const object = new Made(SECRET)
    new Stamp(object, state)
    realm.uncloneable(object)
    return object
  }

  const kindOf = ({ modulusLength, namedCurve, name }) => {
    if (modulusLength !== undefined) return 'rsa'
    if (name === 'X25519') return 'x25519'
    return namedCurve === undefined || name === 'NODE-ED25519' ? 'ed25519' : 'ec'
  }

  const describe = ({ kind, details }) => {
    if (kind === 'rsa') {
      let exponent = 0n
      const bytes = details.publicExponent
      for (let i = 0; i < viewLength(bytes); i++) exponent = exponent * 256n + BigInt(bytes[i])
      return { modulusLength: details.modulusLength, publicExponent: exponent }
    }
    return kind === 'ec' ? { namedCurve: CURVES[details.namedCurve] } : {}
  }

  // As the worker describes a key it has read.
  const fromHost = ({ value, bytes }) => ({
    __proto__: null,
    type: value.private ? 'private' : 'public',
    material: copy(bytes),
    extractable: true,
    kind: value.kind,
    details: value.kind === 'rsa'
      ? { __proto__: null, modulusLength: value.bits, publicExponent: hexBytes(value.exponent) }
      : { __proto__: null, namedCurve: value.curve },
  })

  const hexBytes = (text) => {
    const bytes = new Uint8ArrayCtor(text.length / 2)
    for (let i = 0; i < text.length / 2; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16)
    return bytes
  }

  // --- writing

  const pem = (label, bytes) => {
    const text = toBase64(bytes)
    let lines = ''
    for (let i = 0; i < text.length; i += 64) lines += text.slice(i, i + 64) + '\n'
    return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`
  }

  const write = (state, { format = 'buffer', type, cipher, passphrase }) => {
    if (format === 'jwk') return writeJwk(state)
    validateOneOf(format, 'options.format', ['jwk', 'pem', 'der'])
    const secret = state.type === 'private'
    validateOneOf(type, 'options.type', secret ? ['pkcs1', 'pkcs8', 'sec1'] : ['pkcs1', 'spki'])
    if ((type === 'pkcs1' && state.kind !== 'rsa') || (type === 'sec1' && state.kind !== 'ec')) {
      throw invalidArgValue('options.type', type, `can not be used with a key of type ${state.kind}`)
    }
    let bytes = state.material
    let label = LABELS[type] ?? LABELS[`${type} ${state.type}`]
    const locked = cipher !== undefined || passphrase !== undefined
    if (locked) {
      if (type !== 'pkcs8') throw plainError('ERR_METHOD_NOT_IMPLEMENTED', 'Only pkcs8 keys are written with a passphrase')
      label = LABELS.encrypted
    }
    if (locked || (type !== 'pkcs8' && type !== 'spki')) {
      const params = { __proto__: null, type, private: secret }
      const buffers = locked ? [bytes, readBytes(passphrase, 'options.passphrase')] : [bytes]
      bytes = hostCall('crypto.key.write', params, buffers).bytes
    }
    return format === 'pem' ? pem(label, bytes) : output(bytes)
  }

  const writeJwk = ({ type, kind, material, details }) => {
    const { value } = hostCall('crypto.key.to_jwk', { __proto__: null, private: type === 'private' }, [material])
    const { x, y, d, n, e, p, q, dp, dq, qi } = value
    const only = (jwk, more) => (type === 'private' ? { ...jwk, ...more } : jwk)
    if (kind === 'rsa') return only({ kty: 'RSA', n, e }, { d, p, q, dp, dq, qi })
    if (kind === 'ec') return only({ kty: 'EC', crv: details.namedCurve, x, y }, { d })
    const head = kind === 'x25519' ? { kty: 'OKP', crv: 'X25519' } : { kty: 'OKP', alg: 'EdDSA', crv: 'Ed25519' }
    return only({ ...head, x }, { d })
  }

  // --- reading

  const createSecretKey = function createSecretKey(key, encoding) {
    const bytes = readBytes(key, 'key', encoding, SECRET_KINDS)
    return make({ __proto__: null, type: 'secret', material: copy(bytes), extractable: true })
  }

  // A key in whatever form programs give one: the state of a KeyObject, `wanted` public or private.
  const readKey = (given, wanted, name = 'key') => {
    const known = stateOfKey(given) ?? stateOfCryptoKey(given)
    if (known !== undefined) return suit(known, wanted)
    if (typeof given === 'string' || bytesOf(given) !== undefined) return parse({ key: given }, wanted, name)
    if (typeof given !== 'object' || given === null) {
      throw invalidArgType(name, KEY_KINDS, given)
    }
    const inner = stateOfKey(given.key) ?? stateOfCryptoKey(given.key)
    return inner === undefined ? parse(given, wanted, `${name}.key`) : suit(inner, wanted)
  }

  const stateOfCryptoKey = (key) => {
    const slots = inside(key)
    return slots === undefined ? undefined : stateOfKey(KeyObject.from(key))
  }

  const suit = (state, wanted) => {
    if (state.type === wanted) return state
    if (wanted === 'public' && state.type === 'private') {
      return fromHost(hostCall('crypto.key.public', { __proto__: null }, [state.material]))
    }
    throw typeError('ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${state.type}, expected ${wanted}.`)
  }

  const parse = ({ key, format = 'pem', type, encoding, passphrase }, wanted, name) => {
    if (format === 'jwk') return suit(parseJwk(key), wanted)
    validateOneOf(format, 'format', ['pem', 'der', 'jwk'])
    const bytes = readBytes(key, name, encoding)
    const params = { __proto__: null, format, type: type ?? null, private: wanted === 'private' }
    const buffers = passphrase === undefined ? [bytes] : [bytes, readBytes(passphrase, 'passphrase')]
    return suit(fromHost(hostCall('crypto.key.read', params, buffers)), wanted)
  }

  const parseJwk = (jwk) => {
    validateObject(jwk, 'key.key')
    const { kty, crv } = jwk
    const kind = kty === 'RSA' ? 'rsa' : kty === 'EC' ? 'ec' : crv === 'X25519' ? 'x25519' : 'ed25519'
    if (kind === 'ec' && crv === undefined) throw new Error('EC JWK missing crv parameter')
    const members = { __proto__: null }
    for (const name of ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'x', 'y']) {
      if (jwk[name] !== undefined) members[name] = `${jwk[name]}`
    }
    return fromHost(hostCall('crypto.key.jwk', { __proto__: null, kind, curve: `${crv}`, jwk: members }, []))
  }

  // --- making

  const generateSecret = (type, options) => {
    validateOneOf(type, 'type', ['hmac', 'aes'])
    validateObject(options, 'options')
    const { length } = options
    if (type === 'aes') validateOneOf(length, 'options.length', [128, 192, 256])
    else validateInteger(length, 'options.length', 8, 65536)
    return () => {
      const material = new Uint8ArrayCtor(length >> 3)
      realm.randomFill(material)
      return make({ __proto__: null, type: 'secret', material, extractable: true })
    }
  }

  const pairParams = (type, options) => {
    if (type === 'rsa') {
      const { modulusLength, publicExponent = 65537 } = options
      validateInteger(modulusLength, 'options.modulusLength', 0, 4294967295)
      validateInteger(publicExponent, 'options.publicExponent', 0, 4294967295)
      if (publicExponent !== 3 && publicExponent !== 65537) {
        throw outOfRange('options.publicExponent', '3 or 65537', publicExponent)
      }
      return { __proto__: null, kind: 'rsa', bits: modulusLength, exponent: publicExponent }
    }
    if (type === 'ec') {
      const { namedCurve } = options
      validateString(namedCurve, 'options.namedCurve')
      const curve = BY_CURVE[namedCurve]
      if (curve === undefined) throw new Error(`Unsupported named curve: ${namedCurve}`)
      return { __proto__: null, kind: 'ec', curve }
    }
    return { __proto__: null, kind: type }
  }

  const generatePair = (type, options = {}) => {
    validateOneOf(type, 'type', ['rsa', 'ec', 'ed25519', 'x25519', 'dh'])
    if (type === 'dh') throw plainError('ERR_METHOD_NOT_IMPLEMENTED', 'Keys of type dh are not implemented')
    validateObject(options, 'options')
    const params = pairParams(type, options)
    const { publicKeyEncoding, privateKeyEncoding } = options
    return () => {
      const { value: at, bytes } = hostCall('crypto.key.generate', params, [])
      const [secret, open] = [bytes.subarray(0, at), bytes.subarray(at)]
      const privateState = fromHost(hostCall('crypto.key.pkcs8', { __proto__: null }, [secret]))
      const publicState = fromHost(hostCall('crypto.key.spki', { __proto__: null }, [open]))
      const shown = (state, encoding) => (encoding === undefined ? make(state) : write(state, encoding))
      return { publicKey: shown(publicState, publicKeyEncoding), privateKey: shown(privateState, privateKeyEncoding) }
    }
  }

  // The bytes of a secret key object or CryptoKey; undefined for anything else.
  const secretOf = (key) => {
    const state = stateOfKey(key) ?? inside(key)
    if (state === undefined) return undefined
    if (state.type !== 'secret') {
      throw typeError('ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${state.type}, expected secret.`)
    }
    return state.material
  }

  // For what would write the key down.
  const openSecretOf = (key) => {
    const state = stateOfKey(key) ?? inside(key)
    if (state?.type === 'secret' && !state.extractable) throw new Error('Failed to get raw secret key data')
    return secretOf(key)
  }

  return {
    __proto__: null,
    readKey, secretOf, openSecretOf,
    members: {
      CryptoKey, KeyObject, PrivateKeyObject, PublicKeyObject, SecretKeyObject, createSecretKey,
      createPrivateKey: function createPrivateKey(key) { return make(readKey(key, 'private')) },
      createPublicKey: function createPublicKey(key) { return make(readKey(key, 'public')) },
      generateKey: function generateKey(type, options, callback) {
        const generate = generateSecret(type, options)
        validateFunction(callback, 'callback')
        later(callback, generate)
      },
      generateKeySync: function generateKeySync(type, options) { return generateSecret(type, options)() },
      generateKeyPair: function generateKeyPair(type, options, callback) {
        const [given, done] = typeof options === 'function' ? [undefined, options] : [options, callback]
        const generate = generatePair(type, given)
        validateFunction(done, 'callback')
        later((error, pair) => (error ? done(error) : done(null, pair.publicKey, pair.privateKey)), generate)
      },
      generateKeyPairSync: function generateKeyPairSync(type, options) { return generatePair(type, options)() },
    },
  }
}
