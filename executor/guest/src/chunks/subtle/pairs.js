// Keys that come in pairs: RSA, elliptic curves, Edwards curves. Their material is DER, which the worker reads and writes.
import { has, ofPrivate, ofPublic } from './key.js'
import { duplicate, shaBits } from './secrets.js'

const SIGNING = ['sign', 'verify']
const DERIVATION = ['deriveKey', 'deriveBits']
const OAEP = ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey']
const EXPONENTS = ['03', '11', '25', '010001']
const RSA_HASHES = ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']
const CURVES = ['P-256', 'P-384', 'P-521']
const JWK_CURVES = { __proto__: null, ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

const RSA_PREFIX = { __proto__: null, 'RSASSA-PKCS1-v1_5': 'RS', 'RSA-PSS': 'PS', 'RSA-OAEP': 'RSA-OAEP-', 'RSA-RAW': 'RS' }

export const createPairs = ({ hostCall, primordials }, { allowedUsages, error, hashName, make, unhex }) => {
  const { Uint8ArrayCtor, viewBuffer, viewLength, viewOffset } = primordials

  const slots = (type, algorithm, material, extractable, usages) =>
    ({ __proto__: null, type, algorithm, material, extractable, usages })

  const required = (value, field) => {
    if (value === undefined) throw new TypeError(`Missing field "${field}" in "algorithm".`)
    return value
  }

  const part = (view, from, to) =>
    new Uint8ArrayCtor(new Uint8ArrayCtor(viewBuffer(view), viewOffset(view) + from, to - from))

  const generatePair = (params, algorithm, extractable, privateUsages, publicUsages) => {
    if (privateUsages.length === 0) {
      throw error('SyntaxError', 'Attempt to generate asymmetric keys with no valid private key usages.')
    }
    const { value: at, bytes } = hostCall('crypto.key.generate', params, [])
    return {
      publicKey: make(slots('public', algorithm, part(bytes, at, viewLength(bytes)), true, publicUsages)),
      privateKey: make(slots('private', algorithm, part(bytes, 0, at), extractable, privateUsages)),
    }
  }

  // --- generating

  const rsaUsages = (name) => (name === 'RSA-OAEP' ? OAEP : SIGNING)

  const generateRsa = (name, algorithm, extractable, asked) => {
    const publicExponent = required(algorithm.publicExponent, 'publicExponent')
    required(algorithm.hash, 'hash')
    const bits = required(algorithm.modulusLength, 'modulusLength')
    if (bits <= 0) throw error('OperationError', `modulusLength must be greater than zero (requested ${bits}).`)
    const hash = hashName(algorithm.hash)
    const usages = allowedUsages('generate', name, asked, rsaUsages(name))
    if (bits % 8 !== 0 || bits < 256 || bits > 16384) throw badModulus(bits)
    const exponent = smallNumber(publicExponent)
    if (exponent !== 3 && exponent !== 65537) {
      const got = exponent === undefined ? 'a number larger than 2^32' : exponent
      throw error('OperationError', `The "publicExponent" must be either 3 or 65537, but got ${got}.`)
    }
    if (bits % 128 !== 0) {
      throw error('OperationError', "Can't generate key: RSA key size is required to be a multiple of 128")
    }
    const made = { __proto__: null, name, modulusLength: bits, publicExponent: new Uint8ArrayCtor(publicExponent), hash }
    const params = { __proto__: null, kind: 'rsa', bits, exponent }
    return generatePair(params, made, extractable, ofPrivate(usages), ofPublic(usages))
  }

  const badModulus = (bits) => error(
    'OperationError',
    `The modulus length must be a multiple of 8 and between 256 and 16k, but ${bits} was requested.`,
  )

  const smallNumber = (bytes) => {
    let number = 0
    for (let i = 0; i < bytes.length; i++) {
      if (bytes.length - i > 4 && bytes[i] !== 0) return undefined
      number = number * 256 + bytes[i]
    }
    return number
  }

  const generateEcdsa = (name, algorithm, extractable, asked) => {
    const usages = allowedUsages('generate', name, asked, SIGNING)
    return generateCurve(name, algorithm, extractable, ofPrivate(usages), ofPublic(usages))
  }

  const generateEcdh = (name, algorithm, extractable, asked) => {
    return generateCurve(name, algorithm, extractable, allowedUsages('generate', name, asked, DERIVATION), [])
  }

  const generateCurve = (name, algorithm, extractable, privateUsages, publicUsages) => {
    const namedCurve = curveName(algorithm)
    const params = { __proto__: null, kind: 'ec', curve: namedCurve }
    return generatePair(params, { __proto__: null, name, namedCurve }, extractable, privateUsages, publicUsages)
  }

  const curveName = (algorithm) => {
    const asked = required(algorithm.namedCurve, 'namedCurve')
    for (let i = 0; i < CURVES.length; i++) if (sameName(CURVES[i], asked)) return CURVES[i]
    throw error('NotSupportedError', `Unrecognized or unimplemented EC curve "${asked}" requested.`)
  }

  const edwardsAlgorithm = (name, { namedCurve }) => {
    if (name !== 'NODE-ED25519') return { __proto__: null, name }
    required(namedCurve, 'namedCurve')
    if (namedCurve !== name) throw error('NotSupportedError', `EDDSA curve "${namedCurve}" isn't supported.`)
    return { __proto__: null, name, namedCurve }
  }

  const kindOf = (name) => (name === 'X25519' ? 'x25519' : 'ed25519')

  const generateEdwards = (name, algorithm, extractable, asked) => {
    const usages = allowedUsages('generate', name, asked, name === 'X25519' ? DERIVATION : SIGNING)
    const made = edwardsAlgorithm(name, algorithm)
    const [mine, theirs] = name === 'X25519' ? [usages, []] : [ofPrivate(usages), ofPublic(usages)]
    return generatePair({ __proto__: null, kind: kindOf(name) }, made, extractable, mine, theirs)
  }

  // --- importing

  // What all pairs have in common: who may do what with it, and how the worker is asked to read it.
  const importPair = (name, format, { bytes, jwk }, asked, allowed, jwkParams) => {
    const agreeing = name === 'ECDH' || name === 'X25519'
    const publicAllowed = agreeing ? [] : ofPublic(allowed)
    if (format === 'jwk') {
      const secret = jwk.d !== undefined
      const usages = secret
        ? allowedUsages('import private', name, asked, ofPrivate(allowed))
        : allowedUsages('import public', name, asked, publicAllowed)
      if (secret && jwk.oth !== undefined) throw error('NotSupportedError', 'Multi-prime private keys not supported.')
      checkJwkUse(name, jwk, asked)
      const { value, bytes } = hostCall('crypto.key.jwk', jwkParams(jwk), [])
      return { __proto__: null, value, material: bytes, usages }
    }
    if (format !== 'spki' && format !== 'pkcs8') {
      throw error('NotSupportedError', `Unrecognized key import format "${format}".`)
    }
    const read = hostCall(`crypto.key.${format}`, { __proto__: null }, [bytes])
    const usages = format === 'spki'
      ? allowedUsages('import public', name, asked, publicAllowed)
      : allowedUsages('import private', name, asked, ofPrivate(allowed))
    return { __proto__: null, value: read.value, material: read.bytes, usages }
  }

  const importRaw = (name, params, bytes, asked, allowed) => {
    const usages = allowedUsages('import public', name, asked, allowed)
    if (params.kind !== 'ec' && bytes.length !== 32) {
      const curve = params.kind === 'x25519' ? 'X25519' : 'Ed25519'
      throw error('DataError', `${curve} raw keys must be exactly 32-bytes (provided ${bytes.length}).`)
    }
    const read = hostCall('crypto.key.raw', params, [bytes])
    return { __proto__: null, value: read.value, material: read.bytes, usages }
  }

  const checkJwkUse = (name, { use, key_ops: ops }, asked) => {
    const agreeing = name === 'ECDH' || name === 'X25519'
    const [expected, first, second] = name === 'RSA-OAEP'
      ? ['enc', 'encrypt', 'wrapKey']
      : agreeing ? ['enc', 'unused', 'unused'] : ['sig', 'sign', 'verify']
    if (asked.length > 0 && use !== undefined && use !== expected) {
      throw error(
        'DataError',
        'Asymmetric "jwk" key import with usages requires a JSON Web Key with Public Key Use parameter ' +
          `"use" ("${use}") equal to "sig".`,
      )
    }
    if (ops === undefined) return
    if (duplicate(ops) !== undefined) {
      throw error('DataError', 'A JSON Web Key\'s Key Operations parameter ("key_ops") must not contain duplicates.')
    }
    if (use !== undefined) {
      if (use !== expected) {
        throw error(
          'DataError',
          `Asymmetric "jwk" import requires a JSON Web Key with Public Key Use "use" ("${use}") equal to "${expected}".`,
        )
      }
      const consistent =
        'A JSON Web Key should have either a Public Key Use parameter ("use") or a Key Operations parameter ("key_ops"); ' +
        'otherwise, the parameters must be consistent with each other. '
      for (let i = 0; i < ops.length; i++) {
        if (agreeing) {
          throw error(
            'DataError',
            `${consistent}For public ${name} keys, there are no valid usages,so keys with a non-empty "key_ops" parameter ` +
              'are not allowed.',
          )
        }
        if (ops[i] !== first && ops[i] !== second) {
          throw error(
            'DataError',
            `${consistent}A Public Key Use for ${name} would allow a Key Operations array with only "${first}" and/or ` +
              `"${second}" values (not "${ops[i]}").`,
          )
        }
      }
    }
    for (let i = 0; i < asked.length; i++) {
      if (!has(ops, asked[i])) {
        throw error(
          'DataError',
          'All specified key usages must be present in the JSON Web Key\'s Key Operations parameter ("key_ops").',
        )
      }
    }
  }

  const numbersOf = (jwk, names) => {
    const numbers = { __proto__: null }
    for (let i = 0; i < names.length; i++) if (jwk[names[i]] !== undefined) numbers[names[i]] = jwk[names[i]]
    return numbers
  }

  const importRsa = (name, format, data, algorithm, extractable, asked) => {
    const raw = name === 'RSA-RAW'
    const hash = raw ? undefined : hashName(required(algorithm.hash, 'hash'))
    const { value, material, usages } = importPair(name, format, data, asked, rsaUsages(name), (jwk) => {
      if (jwk.kty !== 'RSA') {
        throw error(
          'DataError',
          `${raw ? 'RSA-RAW' : 'RSASSA-PKCS1-v1_5'} "jwk" key import requires a JSON Web Key with Key Type parameter ` +
            `"kty" ("${jwk.kty}") equal to "RSA".`,
        )
      }
      checkRsaAlg(name, hash, jwk.alg)
      const numbers = numbersOf(jwk, ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'])
      return { __proto__: null, kind: 'rsa', jwk: numbers }
    })
    if (value.kind !== 'rsa') throw error('DataError', 'Input was not an RSA key.')
    if (raw && !value.private) throw error('DataError', 'RSA-RAW only supports private keys but requested "public".')
    if (value.bits % 8 !== 0 || value.bits < 256) throw badModulus(value.bits)
    if (!has(EXPONENTS, value.exponent)) {
      const exponent = smallNumber(unhex(value.exponent))
      throw error('OperationError', `Imported RSA key has invalid publicExponent ${exponent}.`)
    }
    const made = {
      __proto__: null, name, modulusLength: value.bits, publicExponent: unhex(value.exponent), hash,
    }
    return slots(value.private ? 'private' : 'public', made, material, extractable, usages)
  }

  const rsaAlg = (name, hash) => (name === 'RSA-OAEP' && hash === 'SHA-1' ? 'RSA-OAEP' : RSA_PREFIX[name] + shaBits(hash))

  // workerd takes the name of any RSA scheme here: what counts is the hash in it.
  const checkRsaAlg = (name, hash, alg) => {
    if (alg === undefined) return
    const schemes = hash === undefined ? [name] : ['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'RSA-OAEP']
    for (let i = 0; i < schemes.length; i++) {
      for (let j = 0; j < RSA_HASHES.length; j++) {
        if (rsaAlg(schemes[i], RSA_HASHES[j]) !== alg) continue
        if (RSA_HASHES[j] === hash || hash === undefined) return
        throw error(
          'DataError',
          `JSON Web Key Algorithm parameter "alg" ("${alg}") does not match requested hash algorithm "${alg}".`,
        )
      }
    }
    throw error(
      'NotSupportedError', `Unrecognized or unimplemented algorithm "${alg}" listed in JSON Web Key Algorithm parameter.`,
    )
  }

  const importCurve = (name, format, data, algorithm, extractable, asked) => {
    const namedCurve = curveName(algorithm)
    const allowed = name === 'ECDSA' ? SIGNING : DERIVATION
    const params = { __proto__: null, kind: 'ec', curve: namedCurve }
    const { value, material, usages } = format === 'raw'
      ? importRaw(name, params, data.bytes, asked, name === 'ECDSA' ? ['verify'] : [])
      : importPair(name, format, data, asked, allowed, (jwk) => {
        checkCurveJwk(name, namedCurve, jwk)
        return { __proto__: null, kind: 'ec', curve: namedCurve, jwk: numbersOf(jwk, ['x', 'y', 'd']) }
      })
    if (value.kind !== 'ec') {
      const what = name === 'ECDSA' ? 'EC key' : 'EC public key nor a DH key'
      throw error('DataError', `Input was not an ${what}.`)
    }
    if (value.curve !== namedCurve) {
      const comma = name === 'ECDSA' ? '' : ','
      throw error(
        'DataError',
        `"algorithm.namedCurve" "${algorithm.namedCurve}"${comma} does not match the curve specified by the input key data.`,
      )
    }
    const made = { __proto__: null, name, namedCurve }
    return slots(value.private ? 'private' : 'public', made, material, extractable, usages)
  }

  const checkCurveJwk = (name, namedCurve, { kty, alg }) => {
    if (kty !== 'EC') {
      throw error(
        'DataError',
        'Elliptic curve "jwk" key import requires a JSON Web Key with Key Type parameter ' +
          `"kty" ("${kty}") equal to "EC".`,
      )
    }
    if (name !== 'ECDSA' || alg === undefined) return
    const curve = JWK_CURVES[alg]
    if (curve === undefined) {
      throw error(
        'NotSupportedError', `Unrecognized or unimplemented algorithm "${alg}" listed in JSON Web Key Algorithm parameter.`,
      )
    }
    if (curve !== namedCurve) {
      throw error('DataError', `JSON Web Key Algorithm parameter "alg" ("${alg}") does not match requested curve.`)
    }
  }

  const importEdwards = (name, format, data, algorithm, extractable, asked) => {
    const made = edwardsAlgorithm(name, algorithm)
    const kind = kindOf(name)
    const agreeing = kind === 'x25519'
    const { value, material, usages } = format === 'raw'
      ? importRaw(name, { __proto__: null, kind }, data.bytes, asked, agreeing ? [] : ['verify'])
      : importPair(name, format, data, asked, agreeing ? DERIVATION : SIGNING, (jwk) => {
        checkEdwardsJwk(agreeing ? 'X25519' : 'Ed25519', jwk)
        return { __proto__: null, kind, jwk: numbersOf(jwk, ['x', 'd']) }
      })
    if (value.kind !== kind) throw error('DataError', `Input was not an ${name} key.`)
    return slots(value.private ? 'private' : 'public', made, material, extractable, usages)
  }

  const checkEdwardsJwk = (curve, { kty, crv, alg }) => {
    if (kty !== 'OKP') {
      throw error(
        'DataError',
        `${curve} "jwk" key imports requires a JSON Web Key with Key Type parameter "kty" ("${kty}") equal to "OKP".`,
      )
    }
    if (crv === undefined) throw error('DataError', `Missing field "crv" for ${curve} key.`)
    if (crv !== curve) throw error('NotSupportedError', `Only ${curve} is supported but "${crv}" was requested.`)
    if (alg !== undefined && curve === 'Ed25519' && alg !== 'EdDSA') {
      throw error(
        'DataError', `JSON Web Key Algorithm parameter "alg" ("${alg}") does not match requested Ed25519 curve.`,
      )
    }
  }

  // --- exporting

  const exportPair = ({ type, algorithm, material, usages }, format) => {
    const { name } = algorithm
    const secret = type === 'private'
    if (format === 'pkcs8' || format === 'spki') {
      const wanted = format === 'pkcs8' ? 'private' : 'public'
      if (type !== wanted) {
        throw error('InvalidAccessError', `Asymmetric ${format} export requires ${wanted} key (not "${type}").`)
      }
      return new Uint8ArrayCtor(material)
    }
    if (format === 'raw') {
      if (algorithm.modulusLength !== undefined) {
        throw error('InvalidAccessError', `Cannot export "${name}" in "raw" format.`)
      }
      if (secret) {
        const what = name === 'ECDSA' || name === 'ECDH' ? 'elliptic curve' : name
        throw error('InvalidAccessError', `Raw export of ${what} keys is only allowed for public keys.`)
      }
      return new Uint8ArrayCtor(hostCall('crypto.key.to_raw', { __proto__: null }, [material]).bytes)
    }
    if (format !== 'jwk') throw error('InvalidAccessError', `Cannot export "${name}" in "${format}" format.`)
    if (algorithm.hash === 'MD5') {
      throw error('NotSupportedError', 'JWK export not supported for hash algorithm "MD5".')
    }
    const { value } = hostCall('crypto.key.to_jwk', { __proto__: null, private: secret }, [material])
    return describeJwk(algorithm, [...usages], value)
  }

  // The members in workerd's order.
  const describeJwk = ({ name, namedCurve, modulusLength, hash }, key_ops, numbers) => {
    if (modulusLength !== undefined) {
      const { n, e, d, p, q, dp, dq, qi } = numbers
      const alg = hash === undefined ? undefined : rsaAlg(name, hash)
      const head = alg === undefined ? { kty: 'RSA', key_ops, ext: true } : { kty: 'RSA', key_ops, alg, ext: true }
      return d === undefined ? { ...head, n, e } : { ...head, d, n, e, p, q, dp, dq, qi }
    }
    const { x, y, d } = numbers
    if (y !== undefined) {
      const jwk = { kty: 'EC', key_ops, ext: true, crv: namedCurve, x, y }
      return d === undefined ? jwk : { ...jwk, d }
    }
    const head = name === 'Ed25519' ? { kty: 'OKP', key_ops, alg: 'EdDSA', ext: true } : { kty: 'OKP', key_ops, ext: true }
    const jwk = { ...head, crv: name === 'X25519' ? name : 'Ed25519', x }
    return d === undefined ? jwk : { ...jwk, d }
  }

  return {
    __proto__: null,
    exportPair, generateEcdh, generateEcdsa, generateEdwards, generateRsa, importCurve, importEdwards, importRsa,
  }
}

// Names of algorithms and curves are the same whatever their case.
export const sameName = (a, b) => {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) {
    const one = lower(a, i)
    if (one !== lower(b, i)) return false
  }
  return true
}
const charCodeAt = Function.prototype.call.bind(String.prototype.charCodeAt)
const lower = (text, at) => {
  const unit = charCodeAt(text, at)
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit
}
