// createCipheriv and createDecipheriv. The worker holds the cipher; here is what a program may not see of it.
import { constructorOf, stateOf } from './state.js'

const MODES = ['cbc', 'ctr', 'ecb', 'ofb', 'gcm']
const LENGTHS = [128, 192, 256]
const NIDS = {
  __proto__: null,
  cbc: [419, 423, 427], ctr: [904, 905, 906], ecb: [418, 422, 426], ofb: [420, 424, 428], gcm: [895, 898, 901],
}

const find = (name) => {
  for (const mode of MODES) {
    for (let i = 0; i < LENGTHS.length; i++) {
      const own = `aes-${LENGTHS[i]}-${mode}`
      if (name === own || name === own.toUpperCase() || name === NIDS[mode][i]) {
        return { name: own, mode, keyLength: LENGTHS[i] / 8, nid: NIDS[mode][i] }
      }
    }
  }
  return undefined
}

export const createCiphers = (realm, { fromText, output, readBytes }, { secretOf }, Transform) => {
  const { bytesOf, hostCall } = realm.exports.subtle
  const { Buffer } = realm.exports.buffer
  const { Uint8ArrayCtor, viewLength } = realm.primordials
  const { invalidArgType, invalidArgValue, validateInteger, validateObject, validateString } = realm.exports['node-errors']
  const DATA = ['string', 'Buffer', 'TypedArray', 'DataView']

  const params = (state) => ({ __proto__: null, handle: state.handle })

  const create = (decrypt) => (algorithm, key, iv, options = {}) => {
    validateString(algorithm, 'algorithm')
    const secret = secretOf(key) ?? readBytes(key, 'key', undefined, [...DATA, 'KeyObject', 'CryptoKey'])
    const vector = readBytes(iv, 'iv', undefined, [...DATA, 'null'])
    const found = find(algorithm)
    if (found === undefined) throw new Error(`Unknown or unsupported cipher: ${algorithm}`)
    const start = { __proto__: null, cipher: found.name, decrypt }
    const { value: handle } = hostCall('crypto.cipher.start', start, [secret, vector])
    const state = { __proto__: null, handle, mode: found.mode, decrypt, tag: undefined, tagSet: false, finished: false }
    return { state, options: typeof options === 'object' ? options : undefined }
  }

  const own = (object) => {
    const state = stateOf(object)
    if (state === undefined) throw new TypeError('the object is no Cipheriv and no Decipheriv')
    return state
  }

  const running = (object) => {
    const state = own(object)
    if (state.finished) throw new Error('Cipher/decipher context has already been finalized')
    return state
  }

  const needsTag = (state) => {
    if (state.decrypt && state.mode === 'gcm' && !state.tagSet) throw new Error('No auth tag provided')
  }

  const feed = (state, bytes) => {
    needsTag(state)
    return hostCall('crypto.cipher.update', params(state), [bytes]).bytes
  }

  const end = (state) => {
    needsTag(state)
    state.finished = true
    const { value, bytes } = hostCall('crypto.cipher.finish', params(state), [])
    if (value !== null) {
      state.tag = new Uint8ArrayCtor(value.length / 2)
      for (let i = 0; i < viewLength(state.tag); i++) state.tag[i] = parseInt(value.slice(2 * i, 2 * i + 2), 16)
    }
    return bytes
  }

  const shared = {
    update(data, inputEncoding, outputEncoding) {
      const state = running(this)
      let bytes
      if (typeof data === 'string') {
        if (inputEncoding === undefined) {
          throw invalidArgValue(
            'inputEncoding', inputEncoding, 'If inputEncoding is not provided then the data must be a Buffer',
          )
        }
        bytes = fromText(data, inputEncoding)
      } else {
        bytes = bytesOf(data)
        if (bytes === undefined) throw invalidArgType('data', DATA, data)
      }
      return output(feed(state, bytes), outputEncoding)
    },
    final(outputEncoding) {
      return output(end(running(this)), outputEncoding)
    },
    setAAD(buffer, options = {}) {
      validateObject(options, 'options')
      const { plaintextLength, encoding } = options
      if (plaintextLength !== undefined) validateInteger(plaintextLength, 'options.plaintextLength', 0, 4294967295)
      if (encoding !== undefined) validateString(encoding, 'options.encoding')
      const state = running(this)
      if (state.mode !== 'gcm') throw new Error('Cipher does not support authenticated mode')
      hostCall('crypto.cipher.authenticate', params(state), [readBytes(buffer, 'buffer', encoding)])
      return this
    },
    setAutoPadding(autoPadding) {
      const state = running(this)
      hostCall('crypto.cipher.padding', { ...params(state), on: !!autoPadding }, [])
      return this
    },
    _transform(chunk, encoding, callback) {
      const bytes = typeof chunk === 'string' ? fromText(chunk, encoding) : bytesOf(chunk)
      this.push(output(feed(running(this), bytes)))
      callback()
    },
    _flush(callback) {
      this.push(output(end(running(this))))
      callback()
    },
  }

  const Cipheriv = constructorOf('Cipheriv', 3, Transform, create(false), {
    ...shared,
    getAuthTag() {
      const state = own(this)
      if (!state.finished) throw new Error('Auth tag is only available once cipher context has been finalized')
      return state.tag === undefined ? Buffer.alloc(0) : output(state.tag)
    },
  })

  const Decipheriv = constructorOf('Decipheriv', 3, Transform, create(true), {
    ...shared,
    setAuthTag(buffer, encoding) {
      const state = running(this)
      if (state.mode !== 'gcm') throw new Error('Cipher does not support authenticated mode')
      if (state.tagSet) throw new Error('Auth tag is already set')
      hostCall('crypto.cipher.tag', params(state), [readBytes(buffer, 'buffer', encoding)])
      state.tagSet = true
      return this
    },
  })

  const getCipherInfo = function getCipherInfo(nameOrId, options = {}) {
    if (typeof nameOrId !== 'string' && typeof nameOrId !== 'number') {
      throw invalidArgType('nameOrId', ['string', 'number'], nameOrId)
    }
    validateObject(options, 'options')
    const found = find(nameOrId)
    if (found === undefined) return undefined
    const { name, mode, keyLength, nid } = found
    const ivLength = mode === 'ecb' ? 0 : mode === 'gcm' ? 12 : 16
    if (options.keyLength !== undefined && options.keyLength !== keyLength) return undefined
    if (options.ivLength !== undefined && mode !== 'gcm' && options.ivLength !== ivLength) return undefined
    return {
      name: mode === 'gcm' ? `id-aes${keyLength * 8}-GCM` : name.toUpperCase(),
      nid, blockSize: mode === 'cbc' || mode === 'ecb' ? 16 : 1, ivLength: options.ivLength ?? ivLength, keyLength, mode,
    }
  }

  const getCiphers = function getCiphers() {
    const lower = []
    for (const mode of MODES) for (const bits of LENGTHS) lower.push(`aes-${bits}-${mode}`)
    return [...lower.map((name) => name.toUpperCase()), ...lower]
  }

  return {
    __proto__: null,
    Cipheriv,
    Decipheriv,
    createCipheriv: function createCipheriv(algorithm, key, iv, options) {
      return new Cipheriv(algorithm, key, iv, options)
    },
    createDecipheriv: function createDecipheriv(algorithm, key, iv, options) {
      return new Decipheriv(algorithm, key, iv, options)
    },
    getCipherInfo,
    getCiphers,
  }
}
