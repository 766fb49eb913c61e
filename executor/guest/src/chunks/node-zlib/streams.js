// Gzip and its like: transforms that hand what is written to the worker.
import { nextTickOf } from '../next-tick.js'

const MAX_OUTPUT = 2147483647
const MIN_CHUNK = 64
const DEFAULT_CHUNK = 16384
const ERRNO = {
  __proto__: null,
  Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6,
}
const FINISH = 4
const FULL_FLUSH = 3
const SYNC_FLUSH = 2
const BLOCK = 5
// By what each flush writes out: Z_BLOCK is less than a partial flush.
const FLUSH_RANK = [0, 2, 3, 4, 5, 1]

export const createStreams = (realm, engine, modes) => {
  const { Transform, finished } = realm.findModule('stream')
  const { Buffer } = realm.exports.buffer
  const {
    invalidArgType, outOfRange, plainError, rangeError,
  } = realm.exports['node-errors']
  const nextTick = nextTickOf(realm)
  const EMPTY = Buffer.alloc(0)
  const flushOf = Symbol('flush')

  class NodeError extends Error {
    constructor(code, message) {
      super(message)
      this.code = code
      this.name = 'Error'
      this.errno = ERRNO[code] ?? -1
    }
    toString() { return `${this.name} [${this.code}]: ${this.message}` }
  }

  // As node:assert has it, without its module.
  class AssertionError extends Error {
    constructor(message) {
      super(message)
      this.generatedMessage = false
      this.code = 'ERR_ASSERTION'
      this.actual = false
      this.expected = true
      this.operator = '=='
    }
    toString() { return `${this.name} [${this.code}]: ${this.message}` }
  }
  Object.defineProperty(AssertionError.prototype, 'name', { value: 'AssertionError', writable: true, configurable: true })

  const finite = (value, name) => {
    if (value === undefined || Number.isNaN(value)) return false
    if (Number.isFinite(value)) return true
    if (typeof value !== 'number') throw invalidArgType(name, 'number', value)
    throw outOfRange(name, 'a finite number', value)
  }

  const within = (value, name, low, high, otherwise) => {
    if (!finite(value, name)) return otherwise
    if (value < low || value > high) throw outOfRange(name, high === Infinity ? `>= ${low}` : `>= ${low} and <= ${high}`, value)
    return value
  }

  const assertOpen = (stream) => {
    if (stream._handle === null) throw new AssertionError('zlib binding closed')
  }

  const laterFlush = (one, other) => {
    if (one === other) return one
    return FLUSH_RANK[one] > FLUSH_RANK[other] ? one : other
  }

  // Cuts output into pieces as a buffer of the chosen size that is filled again and again does.
  const push = (stream, output) => {
    let isWanted = true
    for (let from = 0; from < output.length;) {
      const room = stream._chunkSize - stream._outOffset
      const piece = output.subarray(from, from + room)
      from += piece.length
      stream._outOffset = (stream._outOffset + piece.length) % stream._chunkSize
      isWanted = stream.push(Buffer.from(piece))
    }
    return isWanted
  }

  const fail = (stream, error) => {
    if (error.hostName === undefined) throw error
    return error.hostName === 'ERR_METHOD_NOT_IMPLEMENTED'
      ? plainError(error.hostName, error.message)
      : new NodeError(error.hostName, error.message)
  }

  const run = (stream, steps, callback) => {
    for (;;) {
      let step
      try {
        step = steps.next().value
      } catch (error) {
        stream.destroy(fail(stream, error))
        return
      }
      const isWanted = push(stream, step.output)
      if (stream.destroyed) return void callback()
      if (step.isDone) {
        // Something behind the end: nothing more is of interest.
        if (step.left > 0) stream.push(null)
        return void callback()
      }
      if (!isWanted) {
        // Until somebody reads.
        const { _read: read } = stream
        stream._read = function (n) {
          stream._read = read
          run(stream, steps, callback)
          Reflect.apply(read, stream, [n])
        }
        return
      }
    }
  }

  class ZlibBase extends Transform {
    #handle

    constructor(options, params, dictionary, { flush, finishFlush, fullFlush, highest }) {
      let chunkSize = DEFAULT_CHUNK
      let most = MAX_OUTPUT
      let first = flush
      let last = finishFlush
      let info = false
      if (typeof options === 'object' && options !== null) {
        chunkSize = within(options.chunkSize, 'options.chunkSize', MIN_CHUNK, Infinity, DEFAULT_CHUNK)
        first = within(options.flush, 'options.flush', 0, highest, flush)
        last = within(options.finishFlush, 'options.finishFlush', 0, highest, finishFlush)
        most = within(options.maxOutputLength, 'options.maxOutputLength', 1, MAX_OUTPUT, MAX_OUTPUT)
        info = Boolean(options.info)
        if (options.encoding || options.objectMode || options.writableObjectMode) {
          options = { ...options, encoding: null, objectMode: false, writableObjectMode: false }
        }
      }
      super({ autoDestroy: true, ...options })
      this.bytesWritten = 0
      this._maxOutputLength = most
      this._outOffset = 0
      this._chunkSize = chunkSize
      this._defaultFlushFlag = first
      this._finishFlushFlag = last
      this._defaultFullFlushFlag = fullFlush
      this._info = info
      this._handle = {} // as a sign that it is open; the real one is no program's
      this.#handle = engine.createHandle(params, dictionary)
    }

    get _closed() { return this._handle === null }
    get bytesRead() { return this.bytesWritten }
    set bytesRead(value) { this.bytesWritten = value }

    reset() {
      assertOpen(this)
      this.#handle.drop()
    }

    _flush(callback) { this._transform(EMPTY, 'buffer', callback) }
    _final(callback) { callback() }

    flush(kind, callback) {
      if (typeof kind === 'function' || (kind === undefined && !callback)) {
        callback = kind
        kind = this._defaultFullFlushFlag
      }
      if (this.writableFinished) {
        if (callback) nextTick(callback)
      } else if (this.writableEnded) {
        if (callback) this.once('end', callback)
      } else {
        const mark = Buffer.alloc(0)
        mark[flushOf] = kind
        this.write(mark, '', callback)
      }
    }

    close(callback) {
      if (callback) finished(this, callback)
      this.destroy()
    }

    _destroy(error, callback) {
      this.#handle.drop()
      this._handle = null
      callback(error)
    }

    _transform(chunk, encoding, callback) {
      let flush = this._defaultFlushFlag
      if (typeof chunk[flushOf] === 'number') flush = chunk[flushOf]
      // The last one is written out in the same go.
      else if (this.writableEnded && this.writableLength === chunk.byteLength) flush = laterFlush(flush, this._finishFlushFlag)
      this._processChunk(chunk, flush, callback)
    }

    _processChunk(chunk, flush, callback) {
      const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      if (typeof callback !== 'function') return this.#processNow(bytes, flush)
      if (this._handle === null) return nextTick(callback)
      this.bytesWritten += bytes.length
      const steps = engine.steps(this.#handle, bytes, flush)
      // Never before the write has returned.
      nextTick(() => {
        if (!this.destroyed) run(this, steps, callback)
      })
    }

    #processNow(bytes, flush) {
      assertOpen(this)
      const pieces = []
      let size = 0
      try {
        for (const { output } of engine.steps(this.#handle, bytes, flush)) {
          size += output.length
          if (size > this._maxOutputLength) {
            throw rangeError('ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${this._maxOutputLength} bytes`)
          }
          pieces.push(output)
        }
      } catch (error) {
        throw fail(this, error)
      } finally {
        this.bytesWritten += bytes.length
        this.close()
      }
      return Buffer.concat(pieces)
    }
  }

  class Zlib extends ZlibBase {
    constructor(options, mode) {
      const { isDecoder } = modes.of(mode)
      const params = { __proto__: null, mode, windowBits: 15, level: -1, memLevel: 8, strategy: 0 }
      let dictionary
      if (typeof options === 'object' && options !== null) {
        const { windowBits } = options
        if (isDecoder && (windowBits === undefined || windowBits === null || windowBits === 0)) {
          params.windowBits = mode === modes.INFLATERAW ? 15 : 0
        } else {
          params.windowBits = within(windowBits, 'options.windowBits', modes.of(mode).lowest, 15, 15)
        }
        params.level = within(options.level, 'options.level', -1, 9, -1)
        params.memLevel = within(options.memLevel, 'options.memLevel', 1, 9, 8)
        params.strategy = within(options.strategy, 'options.strategy', 0, 4, 0)
        dictionary = dictionaryOf(options.dictionary)
      }
      const whole = { __proto__: null, ...params, level: Math.trunc(params.level), strategy: Math.trunc(params.strategy) }
      whole.windowBits = Math.trunc(params.windowBits)
      whole.memLevel = Math.trunc(params.memLevel)
      super(options, whole, dictionary, { flush: 0, finishFlush: FINISH, fullFlush: FULL_FLUSH, highest: BLOCK })
      this._level = params.level
      this._strategy = params.strategy
    }

    params(level, strategy, callback) {
      within(level, 'level', -1, 9)
      within(strategy, 'strategy', 0, 4)
      if (this._level === level && this._strategy === strategy) return void nextTick(callback)
      // The worker's zlib cannot change them on the way: what was written is put out, and the rest goes on as it began.
      this.flush(SYNC_FLUSH, () => {
        assertOpen(this)
        this._level = level
        this._strategy = strategy
        callback?.()
      })
    }
  }

  const dictionaryOf = (value) => {
    if (value === undefined) return undefined
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice()
    if (value instanceof ArrayBuffer) return new Uint8Array(value).slice()
    throw invalidArgType('options.dictionary', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], value)
  }

  class Brotli extends ZlibBase {
    constructor(options, encode) {
      const given = typeof options === 'object' && options !== null ? options.params : undefined
      const checked = {}
      for (const key of Object.keys(given ?? {})) {
        if (!modes.isBrotliParam(key)) {
          throw rangeError('ERR_BROTLI_INVALID_PARAM', `${key} is not a valid Brotli parameter`)
        }
        if (typeof given[key] !== 'number' && typeof given[key] !== 'boolean') {
          throw invalidArgType('options.params[key]', 'number', given[key])
        }
        checked[key] = given[key]
      }
      const params = modes.brotliParams(encode, checked, () => plainError('ERR_ZLIB_INITIALIZATION_FAILED', 'Initialization failed'))
      super(options, params, undefined, { flush: 0, finishFlush: 2, fullFlush: 1, highest: 3 })
    }
  }

  class Zstd {
    constructor() {
      throw plainError('ERR_METHOD_NOT_IMPLEMENTED', `The ${new.target.name} class is not implemented`)
    }
  }

  return {
    Deflate: class Deflate extends Zlib { constructor(options) { super(options, modes.DEFLATE) } },
    Inflate: class Inflate extends Zlib { constructor(options) { super(options, modes.INFLATE) } },
    Gzip: class Gzip extends Zlib { constructor(options) { super(options, modes.GZIP) } },
    Gunzip: class Gunzip extends Zlib { constructor(options) { super(options, modes.GUNZIP) } },
    DeflateRaw: class DeflateRaw extends Zlib { constructor(options) { super(options, modes.DEFLATERAW) } },
    InflateRaw: class InflateRaw extends Zlib { constructor(options) { super(options, modes.INFLATERAW) } },
    Unzip: class Unzip extends Zlib { constructor(options) { super(options, modes.UNZIP) } },
    BrotliCompress: class BrotliCompress extends Brotli { constructor(options) { super(options, true) } },
    BrotliDecompress: class BrotliDecompress extends Brotli { constructor(options) { super(options, false) } },
    ZstdCompress: class ZstdCompress extends Zstd {},
    ZstdDecompress: class ZstdDecompress extends Zstd {},
  }
}
