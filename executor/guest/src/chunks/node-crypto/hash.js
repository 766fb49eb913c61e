// createHash, createHmac, hash. Small messages are kept and go in one call; a long one is fed to the worker as it grows.
import { SIZES, digestNamed } from './digests.js'
import { constructorOf, stateOf } from './state.js'

const KEPT_BYTES = 256 * 1024

export const createHashing = (realm, { copy, fromText, isView, output, readBytes }, { secretOf }, Transform) => {
  const { bytesOf, hostCall } = realm.exports.subtle
  const { Uint8ArrayCtor, viewLength } = realm.primordials
  const { errorClass, invalidArgType, outOfRange, validateString } = realm.exports['node-errors']
  const { DOMException } = realm.exports['dom-exception']
  const Finalized = errorClass('ERR_CRYPTO_HASH_FINALIZED')

  // `key`: of an HMAC.
  const begin = (hash, key) => ({ __proto__: null, hash, key, kept: [], size: 0, handle: undefined, finished: false })

  const flush = (state) => {
    if (state.handle === undefined) {
      const buffers = state.key === undefined ? [] : [state.key]
      state.handle = hostCall('crypto.digest.start', { __proto__: null, hash: state.hash }, buffers).value
    }
    hostCall('crypto.digest.update', { __proto__: null, handle: state.handle }, state.kept)
    state.kept = []
    state.size = 0
  }

  const feed = (state, bytes) => {
    const length = viewLength(bytes)
    if (length > KEPT_BYTES) {
      if (state.size > 0) flush(state)
      for (let from = 0; from < length; from += KEPT_BYTES) {
        state.kept = [bytes.subarray(from, from + KEPT_BYTES)]
        flush(state)
      }
      return
    }
    if (state.size + length > KEPT_BYTES) flush(state)
    // The program may change its bytes before the digest is taken.
    state.kept[state.kept.length] = copy(bytes)
    state.size += length
  }

  const finish = (state) => {
    state.finished = true
    const { hash, key, kept, handle } = state
    if (handle !== undefined) {
      if (kept.length > 0) flush(state)
      return hostCall('crypto.digest.finish', { __proto__: null, handle }, []).bytes
    }
    const params = { __proto__: null, hash }
    if (key === undefined) return hostCall('crypto.digest', params, kept).bytes
    return hostCall('crypto.hmac', params, [key, ...kept]).bytes
  }

  const known = (name) => {
    const hash = digestNamed(name)
    if (hash === undefined) throw new Error('Digest method not supported')
    return hash
  }

  const finalized = () => new Finalized('Digest already called')

  const own = (object) => {
    const state = stateOf(object)
    if (state === undefined) throw new TypeError('the object is no Hash and no Hmac')
    return state
  }

  const dataOf = (data, encoding) => {
    if (typeof data === 'string') return fromText(data, encoding ?? 'utf8')
    if (!isView(data)) throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data)
    return bytesOf(data)
  }

  function update(data, encoding) {
    const state = own(this)
    if (state.finished) throw finalized()
    feed(state, dataOf(data, encoding === 'buffer' ? undefined : encoding))
    return this
  }

  const alreadyEnded = ({ key }) =>
    new DOMException(`${key === undefined ? 'Hash' : 'HMAC'} context has already been finalized.`, 'OperationError')

  const openFor = (object) => {
    const state = own(object)
    if (state.finished) throw alreadyEnded(state)
    return state
  }

  function _transform(chunk, encoding, callback) {
    feed(openFor(this), dataOf(chunk, encoding === 'buffer' ? undefined : encoding))
    callback()
  }

  // A stream that has ended can still be asked for its digest, once.
  function _flush(callback) {
    const state = openFor(this)
    state.digest = finish(state)
    this.push(output(state.digest))
    callback()
  }

  const digestOf = (state) => {
    if (!state.finished) return finish(state)
    const { digest } = state
    state.digest = undefined
    return digest
  }

  // What of a stream works without node:stream, which this module does not load: all is written, then the digest read.
  const streaming = Transform !== undefined ? {} : {
    write(data, encoding) {
      feed(openFor(this), dataOf(data, encoding))
      return true
    },
    end(data, encoding) {
      if (data !== undefined) feed(openFor(this), dataOf(data, encoding))
      return this
    },
    read() {
      const state = own(this)
      return state.finished ? null : output(finish(state))
    },
  }

  const checkLength = (hash, length) => {
    if (length === undefined) return
    if (typeof length !== 'number') throw invalidArgType('options.outputLength', 'number', length)
    if (!Number.isInteger(length)) throw outOfRange('options.outputLength', 'an integer', length)
    if (length < 0 || length > 4294967295) throw outOfRange('options.outputLength', '>= 0 && <= 4294967295', length)
    if (length !== SIZES[hash]) throw new Error('invalid digest size')
  }

  const Hash = constructorOf('Hash', 2, Transform, (algorithm, options) => {
    validateString(algorithm, 'algorithm')
    const hash = known(algorithm)
    checkLength(hash, options?.outputLength)
    return { state: begin(hash), options }
  }, {
    ...streaming,
    copy(options) {
      const state = own(this)
      if (state.finished) throw finalized()
      const { hash, handle, kept, size } = state
      checkLength(hash, options?.outputLength)
      const another = new Hash(hash, options)
      const theirs = own(another)
      theirs.kept = [...kept]
      theirs.size = size
      if (handle !== undefined) theirs.handle = hostCall('crypto.digest.copy', { __proto__: null, handle }, []).value
      return another
    },
    _transform,
    _flush,
    update,
    digest(encoding) {
      const digest = digestOf(own(this))
      if (digest === undefined) throw finalized()
      return output(digest, encoding)
    },
  })

  const Hmac = constructorOf('Hmac', 3, Transform, (hmac, key, options) => {
    validateString(hmac, 'hmac')
    const material = secretOf(key) ?? readBytes(
      key, 'key', options?.encoding, ['ArrayBuffer', 'Buffer', 'ArrayBufferView', 'string', 'KeyObject', 'CryptoKey'],
    )
    return { state: begin(known(hmac), copy(material)), options }
  }, {
    ...streaming,
    update,
    // After its end an HMAC answers nothing instead of failing.
    digest(encoding) {
      const digest = digestOf(own(this))
      if (digest === undefined) return output(new Uint8ArrayCtor(0), encoding ?? 'utf8')
      return output(digest, encoding)
    },
    _flush,
    _transform,
  })

  const hash = function hash(algorithm, data, outputEncoding = 'hex') {
    validateString(algorithm, 'algorithm')
    const bytes = dataOf(data)
    validateString(outputEncoding, 'outputEncoding')
    const state = begin(known(algorithm))
    feed(state, bytes)
    return output(finish(state), outputEncoding)
  }

  return {
    __proto__: null,
    Hash,
    Hmac,
    createHash: function createHash(algorithm, options) { return new Hash(algorithm, options) },
    createHmac: function createHmac(hmac, key, options) { return new Hmac(hmac, key, options) },
    hash,
  }
}
