// Random bytes and numbers, all from the operating system.
const MAX_LENGTH = 2147483647
const MAX_RANDOM = 0xffffffffffff // six bytes

export const createRandom = (realm) => {
  const { fill, uuid } = realm.exports.crypto
  const { bytesOf } = realm.exports.subtle
  const { Buffer } = realm.exports.buffer
  const { Uint8ArrayCtor, isView, typedArrayTag } = realm.primordials
  const { invalidArgType, outOfRange, validateBoolean, validateFunction, validateInteger, validateObject } =
    realm.exports['node-errors']

  const later = (callback, make) => {
    new Promise((resolve) => resolve(make())).then((value) => callback(null, value), (error) => callback(error))
  }

  const target = (buffer) => {
    if (bytesOf(buffer) === undefined) {
      throw invalidArgType('buffer', ['TypedArray', 'DataView', 'ArrayBuffer', 'SharedArrayBuffer'], buffer)
    }
    if (!isView(buffer)) return Buffer.from(buffer)
    if (typedArrayTag(buffer) !== undefined) return buffer
    return Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  }

  const randomFillSync = function randomFillSync(buffer, offset, size) {
    const view = target(buffer)
    const length = view.length
    if (offset !== undefined) validateInteger(offset, 'offset', 0, MAX_LENGTH)
    const from = offset ?? 0
    if (size !== undefined) validateInteger(size, 'size', 0, length - from)
    const part = view.subarray(from, from + (size ?? length))
    fill(part.subarray(0, 0)) // the kind of its elements is checked there
    realm.randomFill(bytesOf(part))
    return part
  }

  const randomFill = function randomFill(buffer, offset, size, callback) {
    const view = target(buffer)
    let from = 0
    let count = view.length
    let done = callback
    if (typeof callback === 'function') {
      validateInteger(offset, 'offset', 0, count)
      validateInteger(size, 'size', 0, count - offset)
      from = offset
      count = size
    } else if (typeof size === 'function') {
      validateInteger(offset, 'offset', 0, count)
      from = offset
      count -= offset
      done = size
    } else if (typeof offset === 'function') done = offset
    validateFunction(done, 'callback')
    later(done, () => {
      randomFillSync(view, from, count)
      return buffer
    })
  }

  const randomBytes = function randomBytes(size, callback) {
    validateInteger(size, 'size', 0, MAX_LENGTH)
    if (callback !== undefined) validateFunction(callback, 'callback')
    const make = () => {
      const bytes = new Uint8ArrayCtor(size)
      realm.randomFill(bytes)
      return Buffer.from(bytes.buffer, 0, size)
    }
    if (callback === undefined) return make()
    return later(callback, make)
  }

  const cache = new Uint8ArrayCtor(1020)
  let used = cache.length

  const sixBytes = () => {
    if (used === cache.length) {
      realm.randomFill(cache)
      used = 0
    }
    let number = 0
    for (let i = 0; i < 6; i++) number = number * 256 + cache[used++]
    return number
  }

  // Without bias: what is beyond the last whole multiple is thrown again.
  const below = (range) => {
    const limit = MAX_RANDOM - (MAX_RANDOM % range)
    for (;;) {
      const number = sixBytes()
      if (number < limit) return number % range
    }
  }

  const randomInt = function randomInt(...args) {
    let [min, max, callback] = args
    if (args.length < 2 || typeof max === 'function') [min, max, callback] = [0, min, max]
    else validateInteger(min, 'min')
    validateInteger(max, 'max')
    if (callback !== undefined) validateFunction(callback, 'callback')
    if (min >= max) throw outOfRange('min', 'min < max', min)
    const range = max - min
    if (range > MAX_RANDOM) throw outOfRange('max', `<= ${MAX_RANDOM}`, range)
    if (callback === undefined) return min + below(range)
    return later(callback, () => min + below(range))
  }

  const randomUUID = function randomUUID(options) {
    if (options !== undefined) {
      validateObject(options, 'options')
      if (options.disableEntropyCache !== undefined) {
        validateBoolean(options.disableEntropyCache, 'options.disableEntropyCache')
      }
    }
    return uuid()
  }

  return {
    __proto__: null,
    getRandomValues: function getRandomValues(array) { return fill(array) },
    pseudoRandomBytes: randomBytes, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, later,
  }
}
