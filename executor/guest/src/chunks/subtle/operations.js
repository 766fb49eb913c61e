// What is done with a key, by the name of its algorithm. Bytes come in as views that are not copied: nothing of the program
// runs between a method's call and its end.
import { sameName } from './pairs.js'
import { blockBits, shaBits } from './secrets.js'

const TAG_BITS = [32, 64, 96, 104, 112, 120, 128]
const AES_BITS = [128, 192, 256]
const ED25519_SIGNATURE = 64
const X25519_BITS = 256

const missing = (field, where = 'algorithm') => new TypeError(`Missing field "${field}" in "${where}".`)

const includes = (list, item) => {
  for (let i = 0; i < list.length; i++) if (list[i] === item) return true
  return false
}

export const createOperations = ({ hostCall, primordials }, { error, hashName }) => {
  const { Uint8ArrayCtor, viewBuffer, viewLength, viewOffset } = primordials
  const EMPTY = new Uint8ArrayCtor(0)

  const head = (view, count) => new Uint8ArrayCtor(viewBuffer(view), viewOffset(view), count)

  // --- encrypting

  const gcmParams = ({ iv, tagLength = 128 }) => {
    if (iv === undefined) throw missing('iv')
    if (viewLength(iv) === 0) throw error('OperationError', 'AES-GCM IV must not be empty.')
    if (!includes(TAG_BITS, tagLength)) throw error('OperationError', `Invalid AES-GCM tag length ${tagLength}.`)
    return { __proto__: null, mode: 'gcm', tag: tagLength }
  }

  const cbcParams = ({ iv }, unit) => {
    if (iv === undefined) throw missing('iv')
    const length = viewLength(iv)
    if (length !== 16) throw error('OperationError', `AES-CBC IV must be 16 bytes long (provided ${length}${unit}).`)
    return { __proto__: null, mode: 'cbc' }
  }

  const ctrParams = ({ counter, length }) => {
    if (counter === undefined) throw new TypeError('Missing "counter" member in "algorithm".')
    const size = viewLength(counter)
    if (size !== 16) throw error('OperationError', `Counter must have length of 16 bytes (provided ${size}).`)
    if (length === undefined) throw new TypeError('Missing "length" member in "algorithm".')
    if (length <= 0 || length > 128) throw error('OperationError', `Invalid counter of ${length} bits length provided.`)
    return { __proto__: null, mode: 'ctr', counter: length }
  }

  const decryptionFailed = (name, input, output) => error(
    'OperationError',
    'Decryption failed. This could be due to a ciphertext authentication failure, bad padding, incorrect CryptoKey, or ' +
      `another algorithm-specific reason. Input length was ${input}, output length expected to be ${output} for ${name}`,
  )

  const cipher = {
    __proto__: null,
    'AES-GCM': {
      __proto__: null,
      encrypt: ({ material }, algorithm, data) => {
        const { iv, additionalData = EMPTY } = algorithm
        return hostCall('crypto.encrypt', gcmParams(algorithm), [material, iv, data, additionalData]).bytes
      },
      decrypt: ({ material }, algorithm, data) => {
        const params = gcmParams(algorithm)
        const { iv, additionalData = EMPTY } = algorithm
        const length = viewLength(data)
        if (length < params.tag / 8) {
          throw error(
            'OperationError',
            `Ciphertext length of ${length * 8} bits must be greater than or equal to the size of the AES-GCM tag length of ` +
              `${params.tag} bits.`,
          )
        }
        const { value, bytes } = hostCall('crypto.decrypt', params, [material, iv, data, additionalData])
        if (value !== null) throw decryptionFailed('AES-GCM', length - params.tag / 8, value)
        return bytes
      },
    },
    'AES-CBC': {
      __proto__: null,
      encrypt: ({ material }, algorithm, data) =>
        hostCall('crypto.encrypt', cbcParams(algorithm, ' bytes'), [material, algorithm.iv, data]).bytes,
      decrypt: ({ material }, algorithm, data) => {
        const { value, bytes } = hostCall('crypto.decrypt', cbcParams(algorithm, ''), [material, algorithm.iv, data])
        if (value !== null) throw decryptionFailed('AES-CBC', viewLength(data), value)
        return bytes
      },
    },
    'AES-CTR': {
      __proto__: null,
      encrypt: ({ material }, algorithm, data) =>
        hostCall('crypto.encrypt', ctrParams(algorithm), [material, algorithm.counter, data]).bytes,
      decrypt: (slots, algorithm, data) => cipher['AES-CTR'].encrypt(slots, algorithm, data),
    },
    'RSA-OAEP': {
      __proto__: null,
      encrypt: (slots, { label = EMPTY }, data) => {
        if (slots.type !== 'public') {
          throw error('InvalidAccessError', `Encryption/key wrapping only works with public keys, not "${slots.type}".`)
        }
        return hostCall('crypto.rsa.encrypt', oaep(slots), [slots.material, data, label]).bytes
      },
      decrypt: (slots, { label = EMPTY }, data) => {
        if (slots.type !== 'private') {
          throw error('InvalidAccessError', `Decryption/key unwrapping only works with private keys, not "${slots.type}".`)
        }
        return hostCall('crypto.rsa.decrypt', oaep(slots), [slots.material, data, label]).bytes
      },
    },
  }
  const oaep = ({ algorithm }) => ({ __proto__: null, padding: 'oaep', hash: hostHash(algorithm.hash) })

  const wrapping = {
    __proto__: null,
    wrap: (slots, algorithm, data) => {
      const { name } = slots.algorithm
      if (name !== 'AES-KW') return cipher[name].encrypt(slots, algorithm, data)
      const length = viewLength(data)
      if (length % 8 !== 0) {
        throw error(
          'OperationError',
          `Unwrapped key bit length must be a multiple of 64 bits but unwrapped key has a length of ${length * 8} bits.`,
        )
      }
      if (length < 16) {
        throw error(
          'OperationError',
          `Unwrapped key has length ${length} bytes but it should be greater than or equal to 16 and less than or equal to ` +
            '18446744073709551607',
        )
      }
      return hostCall('crypto.wrap', { __proto__: null }, [slots.material, data]).bytes
    },
    unwrap: (slots, algorithm, data) => {
      const { name } = slots.algorithm
      if (name !== 'AES-KW') return cipher[name].decrypt(slots, algorithm, data)
      const bits = viewLength(data) * 8
      if (bits % 64 !== 0) {
        throw error(
          'OperationError', `Provided a wrapped key to unwrap that is ${bits} bits which isn't a multiple of 64 bits.`,
        )
      }
      if (bits < 192) {
        throw error(
          'OperationError',
          `Provided a wrapped key to unwrap this is ${bits} bits that is less than the minimal length of 192 bits.`,
        )
      }
      return hostCall('crypto.unwrap', { __proto__: null }, [slots.material, data]).bytes
    },
  }

  // --- signing

  const SCHEMES = { __proto__: null, 'RSASSA-PKCS1-v1_5': 'pkcs1', 'RSA-PSS': 'pss', ECDSA: 'ecdsa' }

  const signatureParams = ({ algorithm: own }, { hash, saltLength }, signing) => {
    const { name } = own
    if (name === 'Ed25519' || name === 'NODE-ED25519') return { __proto__: null, scheme: 'ed25519' }
    const params = { __proto__: null, scheme: SCHEMES[name], hash: undefined, salt: undefined }
    if (name === 'ECDSA') {
      if (hash === undefined) {
        throw new TypeError(
          'Missing "hash" in AlgorithmIdentifier. (ECDSA requires that the hash algorithm be specified at call time rather ' +
            'than on the key. This differs from other WebCrypto algorithms for historical reasons.)',
        )
      }
      params.hash = hostHash(hashName(hash))
      return params
    }
    params.hash = hostHash(own.hash)
    if (name === 'RSA-PSS') {
      if (saltLength === undefined) {
        const text = 'Failed to provide salt for RSA-PSS key operation which requires a salt'
        throw signing ? error('DataError', text) : new TypeError(text)
      }
      if (saltLength < 0) {
        throw error('DataError', `SaltLength for RSA-PSS must be non-negative (provided ${saltLength}).`)
      }
      params.salt = saltLength
    }
    return params
  }

  const sign = (slots, algorithm, data) => {
    const { name, hash } = slots.algorithm
    if (name === 'HMAC') return code(hostHash(hash), slots.material, data)
    if (name === 'RSA-RAW') return hostCall('crypto.rsa.raw', { __proto__: null }, [slots.material, data]).bytes
    return hostCall('crypto.sign', signatureParams(slots, algorithm, true), [slots.material, data]).bytes
  }

  const verify = (slots, algorithm, signature, data) => {
    const { name, hash } = slots.algorithm
    if (name === 'HMAC') return equalBytes(code(hostHash(hash), slots.material, data), signature)
    const length = viewLength(signature)
    if ((name === 'Ed25519' || name === 'NODE-ED25519') && length !== ED25519_SIGNATURE) {
      throw error('OperationError', `Invalid ${name} signature length ${length}`)
    }
    return hostCall('crypto.verify', signatureParams(slots, algorithm, false), [slots.material, signature, data]).value
  }

  // Whatever they hold, it takes as long as they are long.
  const equalBytes = (a, b) => {
    const length = viewLength(a)
    if (viewLength(b) !== length) return false
    let difference = 0
    for (let i = 0; i < length; i++) difference |= a[i] ^ b[i]
    return difference === 0
  }

  // --- digests: a long message goes in pieces, so that no second copy of it is ever made

  const PIECE = 1 << 20

  const inPieces = (params, key, data) => {
    const { value: handle } = hostCall('crypto.digest.start', params, key)
    const feeding = { __proto__: null, handle }
    const length = viewLength(data)
    for (let from = 0; from < length; from += PIECE) {
      const count = length - from < PIECE ? length - from : PIECE
      hostCall('crypto.digest.update', feeding, [new Uint8ArrayCtor(viewBuffer(data), viewOffset(data) + from, count)])
    }
    return hostCall('crypto.digest.finish', feeding, []).bytes
  }

  const digest = (hash, data) => {
    const params = { __proto__: null, hash }
    return viewLength(data) > PIECE ? inPieces(params, [], data) : hostCall('crypto.digest', params, [data]).bytes
  }

  const code = (hash, key, data) => {
    const params = { __proto__: null, hash }
    return viewLength(data) > PIECE ? inPieces(params, [key], data) : hostCall('crypto.hmac', params, [key, data]).bytes
  }

  // --- deriving

  const deriveBits = (slots, algorithm, bits) => {
    const { name } = slots.algorithm
    if (name === 'PBKDF2' || name === 'HKDF') return deriveFromBase(slots, algorithm, bits)
    if (name === 'ECDH' || name === 'X25519') return agree(slots, algorithm, bits)
    throw error('NotSupportedError', `The deriveBits operation is not implemented for "${name}".`)
  }

  const deriveFromBase = ({ algorithm: { name }, material }, { hash, salt, info, iterations }, bits) => {
    if (hash === undefined) throw missing('hash')
    const digest = hostHash(hashName(hash))
    if (salt === undefined) throw missing('salt')
    if (name === 'HKDF' && info === undefined) throw missing('info')
    if (name === 'PBKDF2' && iterations === undefined) throw missing('iterations')
    if (bits === undefined) throw error('OperationError', `${name} cannot derive a key with null length.`)
    if (bits % 8 !== 0) {
      throw error(
        'OperationError', `${name} requires a derived key length that is a multiple of eight (requested ${bits}).`,
      )
    }
    const length = bits / 8
    if (name === 'HKDF') {
      return hostCall('crypto.hkdf', { __proto__: null, hash: digest, length }, [material, salt, info]).bytes
    }
    if (iterations <= 0) {
      throw error('OperationError', `PBKDF2 requires a positive iteration count (requested ${iterations}).`)
    }
    return hostCall('crypto.pbkdf2', { __proto__: null, hash: digest, iterations, length }, [material, salt]).bytes
  }

  const agree = (slots, { public: peer }, bits) => {
    const { name, namedCurve } = slots.algorithm
    if (slots.type !== 'private') {
      throw error('InvalidAccessError', `The deriveBits operation is only valid for a private key, not "${slots.type}".`)
    }
    if (peer === undefined) throw missing('public', 'derivedKeyParams')
    if (peer.type !== 'public') {
      throw error('InvalidAccessError', `The provided key has type "${peer.type}", not "public"`)
    }
    const other = peer.algorithm
    if ((namedCurve === undefined) !== (other.namedCurve === undefined) || other.hash !== undefined) {
      throw error(
        'InvalidAccessError', `Base ${name} private key cannot be used to derive a key from a peer ${other.name} public key`,
      )
    }
    if (other.name !== name) {
      throw error(
        'InvalidAccessError', `Private key for derivation is using "${name}" while public key is using "${other.name}".`,
      )
    }
    if (other.namedCurve !== namedCurve) {
      throw error(
        'InvalidAccessError',
        `Private key for derivation is using curve "${namedCurve}" while public key is using "${other.namedCurve}".`,
      )
    }
    if (name === 'X25519' && bits > X25519_BITS) throw tooLong(bits, X25519_BITS)
    const secret = hostCall('crypto.agree', { __proto__: null }, [slots.material, peer.material]).bytes
    const most = viewLength(secret) * 8
    const wanted = bits === undefined ? most : bits
    if (wanted > most) throw tooLong(wanted, most)
    const bytes = new Uint8ArrayCtor(head(secret, (wanted + 7) >> 3))
    if (wanted % 8 !== 0) bytes[viewLength(bytes) - 1] &= 0xff << (8 - (wanted % 8))
    return bytes
  }

  const tooLong = (bits, most) =>
    error('OperationError', `Derived key length (${bits} bits) is too long (should be at most ${most} bits).`)

  // How many bits a key of this algorithm is made of; undefined where all that there are.
  const lengthOfKey = ({ name, length, hash }) => {
    const found = findName(['AES-CTR', 'AES-CBC', 'AES-GCM', 'AES-KW', 'HMAC', 'HKDF', 'PBKDF2'], name)
    if (found === undefined) throw error('NotSupportedError', `Unrecognized derived key type "${name}" requested.`)
    if (found === 'HKDF' || found === 'PBKDF2') return undefined
    if (found === 'HMAC') {
      if (length !== undefined) {
        if (length > 0) return length
        throw new TypeError('HMAC key length must be a non-zero unsigned long integer.')
      }
      if (hash === undefined) throw missing('hash', 'derivedKeyParams')
      return blockBits(hashName(hash))
    }
    if (length === undefined) throw missing('length', 'derivedKeyParams')
    if (!includes(AES_BITS, length)) {
      throw error('OperationError', `Derived AES key must be 128, 192, or 256 bits in length but provided ${length}.`)
    }
    return length
  }

  return { __proto__: null, cipher, deriveBits, digest, equalBytes, lengthOfKey, sign, verify, wrapping }
}

// The worker's names of hashes.
export const hostHash = (hash) => (hash === 'MD5' ? 'md5' : 'sha' + shaBits(hash))

export const findName = (names, name) => {
  for (let i = 0; i < names.length; i++) if (sameName(names[i], name)) return names[i]
  return undefined
}
