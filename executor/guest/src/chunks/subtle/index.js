// `crypto.subtle`. The mathematics is the worker's, asked synchronously; a promise is only the form of the answer.
import { publish } from '../shape.js'
import { illegalInvocation } from '../texts.js'
import { OWNER, createConversions } from './convert.js'
import { createKeys, has } from './key.js'
import { createOperations, findName, hostHash } from './operations.js'
import { createPairs } from './pairs.js'
import { createSecrets } from './secrets.js'

const HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512', 'MD5']

export default function install(realm) {
  const { DOMException } = realm.exports['dom-exception']
  const { late } = realm.exports.crypto
  const { Uint8ArrayCtor, charCodeAt, fromBase64, jsonParse, jsonStringify, stringSlice, toBase64, viewBuffer, viewLength } =
    realm.primordials

  const error = (name, message) => new DOMException(message, name)

  // What the worker refuses, as the program should see it.
  const hostCall = (name, params, buffers) => {
    try {
      return realm.hostCall(name, params, buffers)
    } catch (refused) {
      const { hostName, message } = refused
      if (hostName === undefined) throw refused
      if (hostName === 'TypeError') throw new TypeError(message)
      if (hostName === 'RangeError') throw new RangeError(message)
      throw hostName === 'Error' ? new Error(message) : error(hostName, message)
    }
  }

  const hashName = (name) => {
    const found = findName(HASHES, name)
    if (found === undefined) throw error('NotSupportedError', 'Unrecognized or unimplemented digest algorithm requested.')
    return found
  }

  const URL_SAFE = { __proto__: null, alphabet: 'base64url', omitPadding: true }
  const toBase64Url = (bytes) => toBase64(bytes, URL_SAFE)

  // Of either alphabet; undefined if it is none.
  const unbase64 = (text) => {
    if (text === undefined) return undefined
    let standard = ''
    for (let i = 0; i < text.length; i++) {
      const unit = charCodeAt(text, i)
      standard += unit === 0x2d ? '+' : unit === 0x5f ? '/' : text[i]
    }
    try {
      return fromBase64(standard)
    } catch {
      return undefined
    }
  }

  const unhex = (text) => {
    const bytes = new Uint8ArrayCtor(text.length / 2)
    for (let i = 0; i < bytes.length; i++) bytes[i] = +`0x${stringSlice(text, 2 * i, 2 * i + 2)}`
    return bytes
  }

  const { CryptoKey, allowedUsages, inside, make } = createKeys(realm, DOMException)
  const { bytesOf, copyOf, jsonWebKey, kinds, reader } = createConversions(realm, inside)
  const shared = { __proto__: null, allowedUsages, copyOf, error, hashName, make, unbase64, unhex }
  const host = { __proto__: null, hostCall, primordials: realm.primordials, randomFill: realm.randomFill }
  const secrets = createSecrets(host, shared)
  const pairs = createPairs(host, shared)
  const operations = createOperations(host, shared)

  const { int, string, bytes, key, hash } = kinds
  const ENCRYPT = {
    __proto__: null, iv: bytes, additionalData: bytes, tagLength: int, counter: bytes, length: int, label: bytes,
  }
  const SIGN = { __proto__: null, hash, saltLength: int }
  const GENERATE = { __proto__: null, hash, modulusLength: int, publicExponent: bytes, length: int, namedCurve: string }
  const DERIVE = { __proto__: null, salt: bytes, iterations: int, hash, public: key, info: bytes }
  const IMPORT = { __proto__: null, hash, length: int, namedCurve: string }

  // name: [generate, import]
  const { generateAes, importAes, importBase } = secrets
  const { generateRsa, importRsa, generateEdwards, importEdwards } = pairs
  const ALGORITHMS = {
    __proto__: null,
    'AES-CTR': [generateAes, importAes],
    'AES-CBC': [generateAes, importAes],
    'AES-GCM': [generateAes, importAes],
    'AES-KW': [generateAes, importAes],
    HMAC: [secrets.generateHmac, secrets.importHmac],
    PBKDF2: [undefined, importBase],
    HKDF: [undefined, importBase],
    'RSASSA-PKCS1-v1_5': [generateRsa, importRsa],
    'RSA-PSS': [generateRsa, importRsa],
    'RSA-OAEP': [generateRsa, importRsa],
    'RSA-RAW': [undefined, importRsa],
    ECDSA: [pairs.generateEcdsa, pairs.importCurve],
    ECDH: [pairs.generateEcdh, pairs.importCurve],
    'NODE-ED25519': [generateEdwards, importEdwards],
    Ed25519: [generateEdwards, importEdwards],
    X25519: [generateEdwards, importEdwards],
  }
  const NAMES = Object.keys(ALGORITHMS)

  const noUsage = () => error('SyntaxError', 'Secret/private CryptoKeys must have at least one usage.')

  const checkOperation = (slots, name, usage) => {
    const own = slots.algorithm.name
    if (findName([own], name) === undefined) {
      throw error('InvalidAccessError', `Requested algorithm "${name}" does not match this CryptoKey's algorithm "${own}".`)
    }
    if (!has(slots.usages, usage)) {
      throw error('InvalidAccessError', `Requested key usage "${usage}" does not match any usage listed in this CryptoKey.`)
    }
  }

  const importKey = (format, data, algorithm, extractable, usages) => {
    if (format === 'raw' || format === 'pkcs8' || format === 'spki') {
      if (data.bytes === undefined) {
        throw new TypeError(
          'Import data provided for "raw", "pkcs8", or "spki" import formats must be a buffer source.',
        )
      }
    } else if (format === 'jwk') {
      if (data.jwk === undefined) {
        throw new TypeError('Import data provided for "jwk" import format must be a JsonWebKey.')
      }
      if (data.jwk.ext === false && extractable) {
        throw error('DataError', `JWK ext field for "${algorithm.name}" is set to false but extractable is true`)
      }
    } else throw error('NotSupportedError', `Unrecognized key import format "${format}".`)
    const name = findName(NAMES, algorithm.name)
    if (name === undefined) {
      throw error('NotSupportedError', `Unrecognized key import algorithm "${algorithm.name}" requested.`)
    }
    const slots = ALGORITHMS[name][1](name, format, data, algorithm, extractable, usages)
    if (slots.usages.length === 0 && slots.type !== 'public') throw noUsage()
    return make(slots)
  }

  const exportKey = (format, slots) => {
    if (!slots.extractable) {
      throw error('InvalidAccessError', `Attempt to export non-extractable ${slots.algorithm.name} key.`)
    }
    return slots.type === 'secret' ? secrets.exportSecret(slots, format, toBase64Url) : pairs.exportPair(slots, format)
  }

  const isBytes = (value) => bytesOf(value) !== undefined
  const { fromUtf8, toUtf8 } = createUtf8(Uint8ArrayCtor, realm.primordials)

  // A buffer of its own: what the worker answers lies in a larger one.
  const buffer = (view) => viewBuffer(new Uint8ArrayCtor(view))

  const implementations = {
    __proto__: null,
    encrypt: (read) => {
      const algorithm = read.algorithm(0, 'EncryptAlgorithm', ENCRYPT)
      const slots = read.key(1)
      const data = read.bytes(2)
      checkOperation(slots, algorithm.name, 'encrypt')
      return buffer(operations.cipher[slots.algorithm.name].encrypt(slots, algorithm, data))
    },
    decrypt: (read) => {
      const algorithm = read.algorithm(0, 'EncryptAlgorithm', ENCRYPT)
      const slots = read.key(1)
      const data = read.bytes(2)
      checkOperation(slots, algorithm.name, 'decrypt')
      return buffer(operations.cipher[slots.algorithm.name].decrypt(slots, algorithm, data))
    },
    sign: (read) => {
      const algorithm = read.algorithm(0, 'SignAlgorithm', SIGN)
      const slots = read.key(1)
      const data = read.bytes(2)
      checkOperation(slots, algorithm.name, 'sign')
      return buffer(operations.sign(slots, algorithm, data))
    },
    verify: (read) => {
      const algorithm = read.algorithm(0, 'SignAlgorithm', SIGN)
      const slots = read.key(1)
      const signature = read.bytes(2)
      const data = read.bytes(3)
      checkOperation(slots, algorithm.name, 'verify')
      return operations.verify(slots, algorithm, signature, data)
    },
    digest: (read) => {
      const algorithm = read.algorithm(0, 'HashAlgorithm', { __proto__: null })
      const data = read.bytes(1)
      return buffer(operations.digest(hostHash(hashName(algorithm.name)), data))
    },
    generateKey: (read) => {
      const algorithm = read.algorithm(0, 'GenerateKeyAlgorithm', GENERATE)
      const extractable = read.boolean(1)
      const usages = read.usages(2)
      const name = findName(NAMES, algorithm.name)
      const generate = name === undefined ? undefined : ALGORITHMS[name][0]
      if (generate === undefined) {
        throw error('NotSupportedError', `Unrecognized key generation algorithm "${algorithm.name}" requested.`)
      }
      const made = generate(name, algorithm, extractable, usages)
      if (made.type !== 'secret') return made
      if (made.usages.length === 0) throw noUsage()
      return make(made)
    },
    deriveKey: (read) => {
      const algorithm = read.algorithm(0, 'DeriveKeyAlgorithm', DERIVE)
      const slots = read.key(1)
      const derived = read.algorithm(2, 'ImportKeyAlgorithm', IMPORT)
      const extractable = read.boolean(3)
      const usages = read.usages(4)
      checkOperation(slots, algorithm.name, 'deriveKey')
      const secret = operations.deriveBits(slots, algorithm, operations.lengthOfKey(derived))
      return importKey('raw', { __proto__: null, bytes: copyOf(secret) }, derived, extractable, usages)
    },
    deriveBits: (read) => {
      const algorithm = read.algorithm(0, 'DeriveKeyAlgorithm', DERIVE)
      const slots = read.key(1)
      const length = read.int(2)
      if (length < 0) throw new TypeError('deriveBits length must be an unsigned long integer.')
      checkOperation(slots, algorithm.name, 'deriveBits')
      return buffer(operations.deriveBits(slots, algorithm, length))
    },
    importKey: (read) => {
      const format = read.string(0)
      const data = read.keyData(1)
      const algorithm = read.algorithm(2, 'ImportKeyAlgorithm', IMPORT)
      return importKey(format, data, algorithm, read.boolean(3), read.usages(4))
    },
    exportKey: (read) => {
      const exported = exportKey(read.string(0), read.key(1))
      return isBytes(exported) ? buffer(exported) : exported
    },
    wrapKey: (read) => {
      const format = read.string(0)
      const slots = read.key(1)
      const wrapping = read.key(2)
      const algorithm = read.algorithm(3, 'EncryptAlgorithm', ENCRYPT)
      checkOperation(wrapping, algorithm.name, 'wrapKey')
      const exported = exportKey(format, slots)
      const data = isBytes(exported) ? exported : toUtf8(jsonStringify(exported))
      return buffer(operations.wrapping.wrap(wrapping, algorithm, data))
    },
    unwrapKey: (read) => {
      const format = read.string(0)
      const wrapped = read.bytes(1)
      const wrapping = read.key(2)
      const algorithm = read.algorithm(3, 'EncryptAlgorithm', ENCRYPT)
      const unwrapped = read.algorithm(4, 'ImportKeyAlgorithm', IMPORT)
      const extractable = read.boolean(5)
      const usages = read.usages(6)
      checkOperation(wrapping, algorithm.name, 'unwrapKey')
      const data = copyOf(operations.wrapping.unwrap(wrapping, algorithm, wrapped))
      if (format !== 'jwk') return importKey(format, { __proto__: null, bytes: data }, unwrapped, extractable, usages)
      const jwk = jsonParse(fromUtf8(data))
      if (typeof jwk !== 'object' || jwk === null) {
        throw error('DataError', 'Missing "kty" field or corrupt JSON unwrapping key?')
      }
      return importKey(format, { __proto__: null, jwk: jsonWebKey(jwk) }, unwrapped, extractable, usages)
    },
  }

  const attempt = async (implementation, read) => implementation(read)

  let isSubtle

  class SubtleCryptoInner {
    #brand

    static {
      isSubtle = (value) => typeof value === 'object' && value !== null && #brand in value
    }
  }

  const method = (holder) => {
    const name = Object.keys(holder)[0]
    Object.defineProperty(SubtleCryptoInner.prototype, name, {
      __proto__: null, value: holder[name], writable: true, enumerable: false, configurable: true,
    })
  }
  for (const name in implementations) {
    const implementation = implementations[name]
    method({
      [name](...args) {
        if (!isSubtle(this)) throw illegalInvocation()
        return attempt(implementation, reader(name, args))
      },
    })
  }
  method({
    timingSafeEqual(...args) {
      if (!isSubtle(this)) throw illegalInvocation()
      return timingSafeEqual(...args)
    },
  })

  const timingSafeEqual = (...args) => {
    const read = reader('timingSafeEqual', args)
    const a = read.bytes(0, 'BufferSource')
    const b = read.bytes(1, 'BufferSource')
    if (viewLength(a) !== viewLength(b)) {
      throw new TypeError('Input buffers must have the same byte length.')
    }
    return operations.equalBytes(a, b)
  }

  // The worker's name of the hash that a program means.
  const hashOf = (algorithm) => hostHash(hashName(kinds.hash(algorithm)))

  late.subtle = new SubtleCryptoInner()
  realm.define('SubtleCrypto', publish(SubtleCryptoInner, OWNER, { constructible: false }))
  realm.define('CryptoKey', CryptoKey)
  return {
    __proto__: null, CryptoKey, bytesOf, equalBytes: operations.equalBytes, hashOf, hostCall, inside, subtle: late.subtle,
    timingSafeEqual,
  }
}

const createUtf8 = (Uint8ArrayCtor, { charCodeAt, fromCharCode, viewLength }) => ({
  // A JSON Web Key as JSON: nothing in one that was exported is beyond ASCII.
  toUtf8: (text) => {
    const bytes = new Uint8ArrayCtor(text.length)
    for (let i = 0; i < text.length; i++) bytes[i] = charCodeAt(text, i)
    return bytes
  },
  // What is beyond ASCII can only be in members that are not read, or is an error.
  fromUtf8: (bytes) => {
    let text = ''
    const length = viewLength(bytes)
    for (let i = 0; i < length; i++) text += fromCharCode(bytes[i])
    return text
  },
})
