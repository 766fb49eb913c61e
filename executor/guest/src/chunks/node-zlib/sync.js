// Everything at once: gzipSync and its like, and those with a callback, which do it before they return.
import { badField, isDictionary } from '../texts.js'
import { nextTickOf } from '../next-tick.js'

const MAX_OUTPUT = 134217728
const FINISH = 4
const BROTLI_FINISH = 2

export const createSync = (realm, engine, { bytesOf, dataOf }, modes) => {
  const { Buffer } = realm.exports.buffer
  const { invalidArgType, outOfRange, plainError, validateFunction } = realm.exports['node-errors']
  const nextTick = nextTickOf(realm)

  // As the native side reads an option: anything is made a whole number.
  const read = (options, name, low, high, otherwise) => {
    const given = options[name]
    if (given === undefined) return otherwise
    const value = given | 0
    if (value < low || value > high) {
      throw new RangeError(
        `The value of "options.${name}" is out of range. It must be >= ${low} and <= ${high}. Received ${value}`,
      )
    }
    return value
  }

  const dictionaryOf = ({ dictionary }) => {
    if (dictionary === undefined) return undefined
    const bytes = typeof dictionary === 'string' ? undefined : bytesOf(dictionary)
    if (bytes === undefined) throw badField('dictionary', 'Options', 'ArrayBuffer or ArrayBufferView')
    return bytes
  }

  const collect = (handle, bytes, flush, most) => {
    const pieces = []
    let size = 0
    try {
      for (const { output } of engine.steps(handle, bytes, flush)) {
        size += output.length
        if (size > most) throw new RangeError('Memory limit exceeded')
        pieces.push(output)
      }
    } catch (error) {
      if (error.hostName === undefined) throw error
      if (error.hostName === 'ERR_METHOD_NOT_IMPLEMENTED') throw plainError(error.hostName, error.message)
      throw new Error(error.message)
    } finally {
      handle.drop()
    }
    return Buffer.concat(pieces)
  }

  const zlib = (mode) => (bytes, options) => {
    const dictionary = dictionaryOf(options)
    read(options, 'chunkSize', 64, MAX_OUTPUT, 16384)
    read(options, 'flush', 0, 6, 0)
    const flush = read(options, 'finishFlush', 0, 6, FINISH)
    const most = read(options, 'maxOutputLength', 1, MAX_OUTPUT, MAX_OUTPUT)
    const params = {
      __proto__: null,
      mode,
      windowBits: read(options, 'windowBits', 8, 15, 15),
      level: read(options, 'level', -1, 9, -1),
      memLevel: read(options, 'memLevel', 1, 9, 8),
      strategy: read(options, 'strategy', -0x80000000, 0x7fffffff, 0),
    }
    if (params.strategy < 0 || params.strategy > 4) throw new Error('invalid strategy')
    return collect(engine.createHandle(params, dictionary), bytes, flush, most)
  }

  const brotli = (encode) => (bytes, options) => {
    read(options, 'chunkSize', 64, MAX_OUTPUT, 16384)
    read(options, 'flush', 0, 3, 0)
    const flush = read(options, 'finishFlush', 0, 3, BROTLI_FINISH)
    const most = read(options, 'maxOutputLength', 1, MAX_OUTPUT, MAX_OUTPUT)
    const params = modes.brotliParams(encode, options.params, () => new Error('Setting parameter failed'))
    return collect(engine.createHandle(params), bytes, flush, most)
  }

  // `Engine` is the class of the streams that do the same, for those who ask for it.
  const functionsOf = (work, name, native, Engine) => {
    const sync = (data, options, method) => {
      if (options.info) {
        const stream = new Engine(options)
        return { engine: stream, buffer: stream._processChunk(dataOf(data, method), stream._finishFlushFlag) }
      }
      const bytes = dataOf(data, method)
      if (!isDictionary(options)) {
        throw new TypeError(`Failed to execute '${method}' on 'ZlibUtil': parameter 2 is not of type 'Options'.`)
      }
      return work(bytes, options)
    }
    const immediate = { [name + 'Sync'](data, options = {}) { return sync(data, options, native + 'Sync') } }
    const later = {
      [name](data, optionsOrCallback, callback) {
        const isBare = typeof optionsOrCallback === 'function'
        const options = isBare ? {} : optionsOrCallback ?? {}
        const done = isBare ? optionsOrCallback : callback
        validateFunction(done, 'callback')
        dataOf(data, native)
        let result
        try {
          result = sync(data, options, native)
        } catch (error) {
          nextTick(done, error)
          return
        }
        nextTick(done, null, result)
      },
    }
    Object.defineProperty(immediate[name + 'Sync'], 'length', { value: 1 })
    return { ...immediate, ...later }
  }

  const checksum = (data, value) => {
    if (typeof value !== 'number') throw invalidArgType('value', 'number', value)
    if (!(value >= 0 && value < 4294967296)) throw outOfRange('value', '>= 0 && < 4294967296', value)
    return engine.crc32(dataOf(data, 'crc32'), value >>> 0)
  }

  return { zlib, brotli, functionsOf, checksum }
}
