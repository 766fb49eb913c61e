// Arguments and dictionaries as workerd converts them, in its order and with its texts.
import { badArgument, badField } from '../texts.js'

const { isArray } = Array

export const OWNER = 'SubtleCrypto'

// How the C++ names of dictionaries come out in a text.
const mangled = (name) => `N7workerd3api12SubtleCrypto${name.length}${name}E`

export const noDictionary = (name) =>
  new TypeError(
    `Cannot initialize ${mangled(name)} with required members from an undefined or null value.`,
  )

const INT_MIN = -2147483648
const INT_MAX = 2147483647

const toInt = (value) => {
  if (typeof value === 'bigint') throw new TypeError('Cannot convert a BigInt value to a number')
  const number = +value
  if (number !== number || number === Infinity || number === -Infinity) return 0
  if (number < INT_MIN || number > INT_MAX) {
    throw new TypeError(`Value out of range. Must be between ${INT_MIN} and ${INT_MAX} (inclusive).`)
  }
  return number | 0
}

export const createConversions = ({ primordials }, keyOf) => {
  const { Uint8ArrayCtor, byteLengthOfBuffer, isView, viewBuffer, viewLength, viewOffset } = primordials

  // The bytes of a buffer or a view, not copied; undefined for anything else.
  const bytesOf = (value) => {
    if (typeof value !== 'object' || value === null) return undefined
    if (isView(value)) return new Uint8ArrayCtor(viewBuffer(value), viewOffset(value), viewLength(value))
    if (byteLengthOfBuffer(value) !== undefined || isShared(value)) return new Uint8ArrayCtor(value)
    return undefined
  }

  const copyOf = (view) => new Uint8ArrayCtor(view)

  // As many fields as `fields` names, of `value`, which is a dictionary called `name`.
  const dictionary = (value, name, fields) => {
    const read = { __proto__: null }
    for (const field in fields) {
      const given = value[field]
      if (given !== undefined) read[field] = fields[field](given, field, name)
    }
    return read
  }

  const kinds = {
    __proto__: null,
    int: toInt,
    string: (value) => `${value}`,
    boolean: (value) => !!value,
    bytes: (value, field, name) => {
      const bytes = bytesOf(value)
      if (bytes === undefined) throw badField(field, name, 'BufferSource')
      return bytes
    },
    key: (value, field, name) => {
      const key = keyOf(value)
      if (key === undefined) throw badField(field, name, 'CryptoKey')
      return key
    },
    // A hash by its name, or in a dictionary.
    hash: (value) => nameOf(value, 'HashAlgorithm'),
    strings: (value, field, name) => {
      if (!isArray(value)) throw badField(field, name, 'Array')
      return texts(value)
    },
    list: (value, field, name) => {
      if (!isArray(value)) throw badField(field, name, 'Array')
      return value
    },
  }

  const nameOf = (value, dictionaryName) => {
    if (value === null || value === undefined) throw noDictionary(dictionaryName)
    if (typeof value !== 'object' && typeof value !== 'function') return `${value}`
    return `${value.name}`
  }

  const texts = (list) => {
    const result = []
    for (let i = 0; i < list.length; i++) result[i] = `${list[i]}`
    return result
  }

  // Reads the arguments of one method in turn.
  const reader = (method, args) => ({
    __proto__: null,
    algorithm: (index, name, fields) => {
      if (args.length <= index) throw badArgument(method, OWNER, index + 1, `string or ${name}`)
      const value = args[index]
      const read = typeof value === 'object' && value !== null || typeof value === 'function'
        ? dictionary(value, name, fields)
        : { __proto__: null }
      read.name = nameOf(value, name)
      return read
    },
    string: (index) => {
      if (args.length <= index) throw badArgument(method, OWNER, index + 1, 'string')
      return `${args[index]}`
    },
    boolean: (index) => {
      if (args.length <= index) throw badArgument(method, OWNER, index + 1, 'boolean')
      return !!args[index]
    },
    usages: (index) => {
      if (!isArray(args[index])) throw badArgument(method, OWNER, index + 1, 'Array')
      return texts(args[index])
    },
    key: (index) => {
      const key = keyOf(args[index])
      if (key === undefined) throw badArgument(method, OWNER, index + 1, 'CryptoKey')
      return key
    },
    bytes: (index, type = 'Array') => {
      const bytes = bytesOf(args[index])
      if (bytes === undefined) throw badArgument(method, OWNER, index + 1, type)
      return bytes
    },
    // Bytes, or the members of a JSON Web Key.
    keyData: (index) => {
      const value = args[index]
      const bytes = bytesOf(value)
      if (bytes !== undefined) return { __proto__: null, bytes: copyOf(bytes), jwk: undefined }
      if (args.length > index) {
        if (value === null || value === undefined) throw noDictionary('JsonWebKey')
        if (typeof value === 'object' || typeof value === 'function') {
          return { __proto__: null, bytes: undefined, jwk: jsonWebKey(value) }
        }
      }
      throw badArgument(method, OWNER, index + 1, 'ArrayBuffer or ArrayBufferView or JsonWebKey')
    },
    int: (index) => (args[index] === undefined || args[index] === null ? undefined : toInt(args[index])),
  })

  const { string, boolean, strings, list } = kinds
  const JWK = {
    __proto__: null,
    use: string, key_ops: strings, alg: string, ext: boolean, crv: string, x: string, y: string, d: string, n: string,
    e: string, p: string, q: string, dp: string, dq: string, qi: string, oth: list, k: string,
  }
  const jsonWebKey = (value) => {
    const jwk = dictionary(value, 'JsonWebKey', JWK)
    jwk.kty = `${value.kty}`
    return jwk
  }

  return { __proto__: null, bytesOf, copyOf, jsonWebKey, kinds, reader }
}

const sharedLength = Function.prototype.call.bind(
  Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength').get,
)
const isShared = (value) => {
  try {
    sharedLength(value)
    return true
  } catch {
    return false
  }
}
