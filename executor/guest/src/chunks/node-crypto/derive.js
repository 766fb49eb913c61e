// pbkdf2, scrypt, hkdf.
import { SIZES, digestNamed } from './digests.js'

const MAX_LENGTH = 2147483647
const MAX_INFO = 1024
const IKM_KINDS = ['string', 'SecretKeyObject', 'ArrayBuffer', 'TypedArray', 'DataView', 'Buffer']
const HKDF_KINDS = ['string', 'ArrayBuffer', 'TypedArray', 'DataView', 'Buffer']

export const createDerivation = (realm, { copy, output, readBytes }, { secretOf }, later) => {
  const { hostCall } = realm.exports.subtle
  const { viewBuffer, viewLength } = realm.primordials
  const { invalidArgType, invalidArgValue, outOfRange, validateFunction, validateInteger, validateString } =
    realm.exports['node-errors']

  const readPbkdf2 = (password, salt, iterations, keylen, digest) => {
    validateString(digest, 'digest')
    const buffers = [readBytes(password, 'password'), readBytes(salt, 'salt')]
    validateInteger(iterations, 'iterations', 1, MAX_LENGTH)
    validateInteger(keylen, 'keylen', 0, MAX_LENGTH)
    return () => {
      const hash = digestNamed(digest)
      if (hash === undefined || hash === 'md5-sha1') throw new TypeError(`Invalid Pbkdf2 digest: ${digest}.`)
      return output(hostCall('crypto.pbkdf2', { __proto__: null, hash, iterations, length: keylen }, buffers).bytes)
    }
  }

  const OPTIONS = [['N', 'cost'], ['r', 'blockSize'], ['p', 'parallelization']]
  const DEFAULTS = { __proto__: null, N: 16384, r: 8, p: 1, maxmem: 32 << 20 }

  const readScrypt = (password, salt, keylen, options) => {
    const buffers = [readBytes(password, 'password'), readBytes(salt, 'salt')]
    validateInteger(keylen, 'keylen', 0, MAX_LENGTH)
    const chosen = { ...DEFAULTS }
    if (options !== undefined && options !== null) {
      for (const [short, long] of OPTIONS) {
        const has = options[short] !== undefined
        if (has) chosen[short] = uint(options[short], short)
        if (options[long] !== undefined) {
          if (has) throw invalidArgValue(long, options[long])
          chosen[short] = uint(options[long], long)
        }
        if (chosen[short] === 0) chosen[short] = DEFAULTS[short]
      }
      if (options.maxmem !== undefined) {
        validateInteger(options.maxmem, 'maxmem', 0)
        if (options.maxmem !== 0) chosen.maxmem = options.maxmem
      }
    }
    const { N, r, p, maxmem } = chosen
    const params = { __proto__: null, n: N, r, p, length: keylen, memory: maxmem }
    return () => output(hostCall('crypto.scrypt', params, buffers).bytes)
  }

  const uint = (value, name) => {
    validateInteger(value, name, 0, 4294967295)
    return value
  }

  const readHkdf = (digest, key, salt, info, length) => {
    validateString(digest, 'digest')
    const ikm = secretOf(key) ?? readBytes(key, 'ikm', undefined, IKM_KINDS)
    const saltBytes = readBytes(salt, 'salt', undefined, HKDF_KINDS)
    const infoBytes = readBytes(info, 'info', undefined, HKDF_KINDS)
    validateInteger(length, 'length', 0, MAX_LENGTH)
    if (viewLength(infoBytes) > MAX_INFO) {
      throw outOfRange('info', `must not contain more than ${MAX_INFO} bytes`, viewLength(infoBytes))
    }
    return () => {
      const hash = digestNamed(digest)
      if (hash === undefined || hash === 'md5-sha1') throw new TypeError(`Invalid Hkdf digest: ${digest}`)
      if (length > 255 * SIZES[hash]) throw new RangeError('Invalid Hkdf key length')
      return viewBuffer(copy(hostCall('crypto.hkdf', { __proto__: null, hash, length }, [ikm, saltBytes, infoBytes]).bytes))
    }
  }

  return {
    __proto__: null,
    pbkdf2: function pbkdf2(password, salt, iterations, keylen, digest, callback) {
      if (typeof digest === 'function') throw invalidArgType('digest', 'string', undefined)
      validateFunction(callback, 'callback')
      later(callback, readPbkdf2(password, salt, iterations, keylen, digest))
    },
    pbkdf2Sync: function pbkdf2Sync(password, salt, iterations, keylen, digest) {
      return readPbkdf2(password, salt, iterations, keylen, digest)()
    },
    scrypt: function scrypt(password, salt, keylen, options, callback) {
      const [given, done] = callback === undefined ? [undefined, options] : [options, callback]
      const make = readScrypt(password, salt, keylen, given)
      validateFunction(done, 'callback')
      later(done, make)
    },
    scryptSync: function scryptSync(password, salt, keylen, options) {
      return readScrypt(password, salt, keylen, options)()
    },
    hkdf: function hkdf(digest, key, salt, info, length, callback) {
      const make = readHkdf(digest, key, salt, info, length)
      validateFunction(callback, 'callback')
      later(callback, make)
    },
    hkdfSync: function hkdfSync(digest, key, salt, info, length) {
      return readHkdf(digest, key, salt, info, length)()
    },
  }
}
