// Keys that are just bytes: AES, HMAC, and what others are derived from.
import { has } from './key.js'

const AES_LENGTHS = [128, 192, 256]
const BLOCK_BYTES = { __proto__: null, MD5: 64, 'SHA-1': 64, 'SHA-256': 64, 'SHA-384': 128, 'SHA-512': 128 }
const DERIVATION = ['deriveKey', 'deriveBits']
const SIGNING = ['sign', 'verify']
const WRAPPING = ['wrapKey', 'unwrapKey']
const AES_USAGES = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']

export const blockBits = (hash) => BLOCK_BYTES[hash] * 8

export const createSecrets = ({ primordials, randomFill }, { allowedUsages, copyOf, error, hashName, unbase64 }) => {
  // A key's length is read like this: the accessor that `.length` finds may be the program's, and would be given the key.
  const { Uint8ArrayCtor, viewLength } = primordials

  const slots = (algorithm, material, extractable, usages) =>
    ({ __proto__: null, type: 'secret', algorithm, material, extractable, usages })

  const random = (bits) => {
    const bytes = new Uint8ArrayCtor((bits + 7) >> 3)
    if (viewLength(bytes) > 65536) {
      throw error('NotSupportedError', `A key of ${bits} bits is longer than any that is generated here.`)
    }
    randomFill(bytes)
    return bytes
  }

  const clearTail = (bytes, bits) => {
    const length = viewLength(bytes)
    const extra = length * 8 - bits
    if (extra > 0) bytes[length - 1] &= 0xff << extra
    return bytes
  }

  const required = (value, field) => {
    if (value === undefined) throw new TypeError(`Missing field "${field}" in "algorithm".`)
    return value
  }

  const lengthField = (bits) => bits & 0xffff // as wide as workerd's

  // --- AES

  const aesUsages = (doing, name, asked) => allowedUsages(doing, name, asked, name === 'AES-KW' ? WRAPPING : AES_USAGES)

  const generateAes = (name, { length }, extractable, asked) => {
    const usages = aesUsages('generate', name, asked)
    required(length, 'length')
    if (!has(AES_LENGTHS, length)) {
      throw error('OperationError', `Generated AES key length must be 128, 192, or 256 bits but requested ${length}.`)
    }
    return slots({ __proto__: null, name, length }, random(length), extractable, usages)
  }

  const importAes = (name, format, { bytes, jwk }, _, extractable, asked) => {
    const usages = aesUsages('import secret', name, asked)
    let material = bytes
    if (format === 'jwk') material = aesFromJwk(name, jwk, extractable, asked)
    else if (format !== 'raw') throw error('NotSupportedError', `Unrecognized key import format "${format}".`)
    const length = checkedAesBits(material)
    return slots({ __proto__: null, name, length }, material, extractable, usages)
  }

  const checkedAesBits = (material) => {
    const bits = viewLength(material) * 8
    if (!has(AES_LENGTHS, bits)) {
      throw error('DataError', `Imported AES key length must be 128, 192, or 256 bits but provided ${bits}.`)
    }
    return bits
  }

  const aesFromJwk = (name, jwk, extractable, asked) => {
    if (jwk.kty !== 'oct') {
      throw error(
        'DataError',
        'Symmetric "jwk" key import requires a JSON Web Key with Key Type parameter "kty" equal to "oct" ' +
          `(encountered "${jwk.kty}").`,
      )
    }
    const material = unbase64(jwk.k)
    if (material === undefined) {
      throw error('DataError', 'Symmetric "jwk" key import requires a base64Url encoding of the key.')
    }
    const bits = checkedAesBits(material)
    const expected = `A${bits}${aesMode(name)}`
    if (jwk.alg !== undefined && jwk.alg !== expected) {
      throw error('DataError', `Symmetric "jwk" key contains invalid "alg" value "${jwk.alg}", expected "${expected}".`)
    }
    if (asked.length > 0 && jwk.use !== undefined && jwk.use !== 'enc') {
      throw error('DataError', `Symmetric "jwk" key must have a "use" of "enc", not "${jwk.use}".`)
    }
    if (jwk.key_ops !== undefined) {
      const twice = duplicate(jwk.key_ops)
      if (twice !== undefined) {
        throw error('DataError', `Symmetric "jwk" key contains duplicate value "${twice}", in "key_op".`)
      }
      for (let i = 0; i < asked.length; i++) {
        if (!has(jwk.key_ops, asked[i])) {
          throw error('DataError', `"jwk" key missing usage "${asked[i]}", in "key_ops".`)
        }
      }
    }
    return material
  }

  // --- HMAC

  const generateHmac = (name, { hash, length }, extractable, asked) => {
    const digest = hashName(required(hash, 'hash'))
    const usages = allowedUsages('generate', name, asked, SIGNING)
    const bits = length === undefined ? blockBits(digest) : length
    if (bits <= 0) {
      throw error('OperationError', `HMAC key length must be a non-zero unsigned long integer (requested ${bits}).`)
    }
    const material = clearTail(random(bits), bits)
    return slots({ __proto__: null, name, hash: digest, length: lengthField(bits) }, material, extractable, usages)
  }

  const importHmac = (name, format, { bytes, jwk }, { hash, length }, extractable, asked) => {
    const usages = allowedUsages('import secret', name, asked, SIGNING)
    required(hash, 'hash')
    let material = bytes
    if (format === 'jwk') material = hmacFromJwk(hash, jwk)
    else if (format !== 'raw') throw error('NotSupportedError', `Unrecognized key import format "${format}".`)
    const size = viewLength(material) * 8
    const bits = length === undefined ? size : length
    if (bits === 0 || bits > size || bits <= size - 8) {
      throw error(
        'DataError',
        `Imported HMAC key length (${bits}) must be a non-zero value up to 7 bits less than, and no greater than, the ` +
          `bit length of the raw key data (${size}).`,
      )
    }
    const digest = hashName(hash)
    clearTail(material, bits)
    return slots({ __proto__: null, name, hash: digest, length: lengthField(bits) }, material, extractable, usages)
  }

  const hmacFromJwk = (hash, jwk) => {
    if (jwk.kty !== 'oct') {
      throw error(
        'DataError',
        'HMAC "jwk" key import requires a JSON Web Key with Key Type parameter ("kty") equal to "oct" ' +
          `(encountered "${jwk.kty}").`,
      )
    }
    const material = unbase64(jwk.k)
    if (material === undefined) {
      throw error('DataError', 'HMAC "jwk" key import requires a base64Url encoding of the key')
    }
    if (jwk.alg !== undefined) {
      const digest = hashName(hash)
      if (digest === 'MD5') {
        throw error('NotSupportedError', `Unrecognized or unimplemented hash algorithm requested${jwk.alg}`)
      }
      const expected = `HS${shaBits(digest)}`
      if (jwk.alg !== expected) {
        throw error(
          'DataError',
          'HMAC "jwk" key import specifies "alg" that is incompatible with the hash name ' +
            `(encountered "${jwk.alg}", expected "${expected}").`,
        )
      }
    }
    return material
  }

  // --- what others are derived from

  const importBase = (name, format, { bytes }, _, extractable, asked) => {
    const usages = allowedUsages('import secret', name, asked, DERIVATION)
    if (extractable) throw error('SyntaxError', `${name} key cannot be extractable.`)
    if (format !== 'raw') {
      const end = name === 'PBKDF2' ? '.' : ''
      throw error('NotSupportedError', `${name} key must be imported in "raw" format (requested "${format}")${end}`)
    }
    return slots({ __proto__: null, name }, bytes, false, usages)
  }

  // --- export

  const exportSecret = (slots, format, toBase64Url) => {
    const { algorithm, material, usages } = slots
    const aes = algorithm.hash === undefined
    if (format === 'raw') return copyOf(material)
    if (format !== 'jwk') {
      throw error('NotSupportedError', aes
        ? `${algorithm.name} key only supports exporting "raw" & "jwk", not "${format}".`
        : `Unimplemented key export format "${format}".`)
    }
    if (algorithm.hash === 'MD5') {
      throw error('NotSupportedError', 'Unimplemented JWK key export format for key algorithm "MD5".')
    }
    const alg = aes ? `A${algorithm.length}${aesMode(algorithm.name)}` : `HS${shaBits(algorithm.hash)}`
    return { kty: 'oct', key_ops: [...usages], alg, ext: true, k: toBase64Url(material) }
  }

  return { __proto__: null, exportSecret, generateAes, generateHmac, importAes, importBase, importHmac }
}

const aesMode = (name) => (name === 'AES-GCM' ? 'GCM' : name === 'AES-CBC' ? 'CBC' : name === 'AES-CTR' ? 'CTR' : 'KW')

// 'SHA-256' is 256 in the names of JSON Web Keys.
export const shaBits = (hash) => (hash === 'SHA-1' ? '1' : hash === 'SHA-256' ? '256' : hash === 'SHA-384' ? '384' : '512')

export const duplicate = (list) => {
  for (let i = 0; i < list.length; i++) for (let j = 0; j < i; j++) if (list[i] === list[j]) return list[i]
  return undefined
}
