// Signatures, encryption and agreement with pairs of keys.
import { SIZES, digestNamed } from './digests.js'
import { constructorOf, stateOf } from './state.js'

const PKCS1 = 1
const OAEP = 4
const PSS = 6
const SALT_DIGEST = -1
const SALT_MAX = -2

export const createSigning = (realm, { copy, fromText, isView, output, readBytes }, { readKey }, Writable) => {
  const { bytesOf, hostCall } = realm.exports.subtle
  const { Uint8ArrayCtor, viewLength } = realm.primordials
  const { invalidArgType, invalidArgValue, typeError, validateFunction, validateString } = realm.exports['node-errors']
  const DATA = ['string', 'Buffer', 'TypedArray', 'DataView']
  const MAX_MESSAGE = 32 * 1024 * 1024

  const own = (object) => {
    const state = stateOf(object)
    if (state === undefined) throw new TypeError('the object is no Sign and no Verify')
    return state
  }

  const dataOf = (data, encoding) => {
    if (typeof data === 'string') return fromText(data, encoding === 'buffer' ? 'utf8' : encoding ?? 'utf8')
    if (!isView(data)) throw invalidArgType('data', DATA, data)
    return bytesOf(data)
  }

  const gathered = (kept) => {
    let size = 0
    for (const part of kept) size += viewLength(part)
    const whole = new Uint8ArrayCtor(size)
    let at = 0
    for (const part of kept) {
      whole.set(part, at)
      at += viewLength(part)
    }
    return whole
  }

  const add = (state, bytes) => {
    state.size += viewLength(bytes)
    if (state.size > MAX_MESSAGE) {
      throw new RangeError(`a message to be signed may be at most ${MAX_MESSAGE} bytes long here`)
    }
    state.kept.push(copy(bytes))
  }

  // What the worker has to know, from the key and what came with it.
  const schemeOf = (key, options, hash) => {
    const { kind, details } = key
    if (kind === 'ed25519') {
      if (hash !== undefined) throw new Error('Ed25519 signs the message itself: the algorithm has to be null')
      return { __proto__: null, scheme: 'ed25519' }
    }
    const digest = hash ?? 'sha256'
    if (kind === 'ec') {
      const { dsaEncoding = 'der' } = options
      if (dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363') throw invalidArgValue('options.dsaEncoding', dsaEncoding)
      return { __proto__: null, scheme: 'ecdsa', hash: digest, der: dsaEncoding === 'der' }
    }
    if (kind !== 'rsa') throw new Error(`a key of type ${kind} does not sign`)
    const { padding = PKCS1, saltLength } = options
    if (padding === PKCS1) return { __proto__: null, scheme: 'pkcs1', hash: digest }
    if (padding !== PSS) throw invalidArgValue('options.padding', padding)
    const most = details.modulusLength / 8 - SIZES[digest] - 2
    let salt = saltLength
    if (saltLength === undefined || saltLength === SALT_MAX) salt = most
    else if (saltLength === SALT_DIGEST) salt = SIZES[digest]
    return { __proto__: null, scheme: 'pss', hash: digest, salt }
  }

  const optionsOf = (key) => (typeof key === 'object' && key !== null && bytesOf(key) === undefined ? key : {})

  const signature = (hash, data, privateKey) => {
    const key = readKey(privateKey, 'private', 'privateKey')
    return hostCall('crypto.sign', schemeOf(key, optionsOf(privateKey), hash), [key.material, data]).bytes
  }

  const verified = (hash, data, publicKey, given) => {
    const key = readKey(publicKey, 'public', 'key')
    const params = schemeOf(key, optionsOf(publicKey), hash)
    return hostCall('crypto.verify', params, [key.material, given, data]).value
  }

  const create = (algorithm, options) => {
    validateString(algorithm, 'algorithm')
    const hash = digestNamed(algorithm)
    if (hash === undefined) throw new Error(`Unknown digest: ${algorithm}`)
    return { state: { __proto__: null, hash, kept: [], size: 0 }, options }
  }

  const shared = {
    _write(chunk, encoding, callback) {
      this.update(chunk, encoding)
      callback()
    },
    update(data, encoding) {
      add(own(this), dataOf(data, encoding))
      return this
    },
  }

  const Sign = constructorOf('Sign', 2, Writable, create, {
    ...shared,
    sign(privateKey, outputEncoding) {
      const { hash, kept } = own(this)
      return output(signature(hash, gathered(kept), privateKey), outputEncoding)
    },
  })

  const Verify = constructorOf('Verify', 2, Writable, create, {
    ...shared,
    verify(publicKey, given, encoding) {
      const { hash, kept } = own(this)
      return verified(hash, gathered(kept), publicKey, readBytes(given, 'signature', encoding))
    },
  })

  const oneShotHash = (algorithm) => {
    if (algorithm === null || algorithm === undefined) return undefined
    validateString(algorithm, 'algorithm')
    const hash = digestNamed(algorithm)
    if (hash === undefined) throw new Error(`Unknown digest: ${algorithm}`)
    return hash
  }

  const callOrReturn = (callback, make) => {
    if (callback === undefined) return make()
    validateFunction(callback, 'callback')
    new Promise((resolve) => resolve(make())).then((value) => callback(null, value), (error) => callback(error))
    return undefined
  }

  const sealing = (options) => {
    const { padding = OAEP, oaepHash = 'sha1', oaepLabel } = options
    const hash = digestNamed(oaepHash)
    if (hash === undefined) throw new Error(`Unknown digest: ${oaepHash}`)
    if (padding !== PKCS1 && padding !== OAEP) throw invalidArgValue('options.padding', padding)
    const label = readBytes(oaepLabel ?? '', 'options.oaepLabel', options.encoding)
    return { params: { __proto__: null, padding: padding === PKCS1 ? 'pkcs1' : 'oaep', hash }, label }
  }

  const rsa = (operation, given, wanted, buffer) => {
    const key = readKey(given, wanted)
    const options = optionsOf(given)
    const { params, label } = sealing(options)
    return output(hostCall(operation, params, [key.material, readBytes(buffer, 'buffer', options.encoding), label]).bytes)
  }

  return {
    __proto__: null,
    Sign,
    Verify,
    createSign: function createSign(algorithm, options) { return new Sign(algorithm, options) },
    createVerify: function createVerify(algorithm, options) { return new Verify(algorithm, options) },
    sign: function sign(algorithm, data, key, callback) {
      const hash = oneShotHash(algorithm)
      const bytes = dataOf(data)
      return callOrReturn(callback, () => output(signature(hash, bytes, key)))
    },
    verify: function verify(algorithm, data, key, given, callback) {
      const hash = oneShotHash(algorithm)
      const bytes = dataOf(data)
      return callOrReturn(callback, () => verified(hash, bytes, key, readBytes(given, 'signature')))
    },
    publicEncrypt: function publicEncrypt(key, buffer) { return rsa('crypto.rsa.encrypt', key, 'public', buffer) },
    privateDecrypt: function privateDecrypt(key, buffer) { return rsa('crypto.rsa.decrypt', key, 'private', buffer) },
    diffieHellman: function diffieHellman(options) {
      const mine = readKey(options.privateKey, 'private', 'options.privateKey')
      const theirs = readKey(options.publicKey, 'public', 'options.publicKey')
      if (mine.kind !== theirs.kind) {
        const both = `${mine.kind} and ${theirs.kind}`
        throw typeError('ERR_CRYPTO_INCOMPATIBLE_KEY', `Incompatible key types for Diffie-Hellman: ${both}`)
      }
      return output(hostCall('crypto.agree', { __proto__: null }, [mine.material, theirs.material]).bytes)
    },
  }
}
