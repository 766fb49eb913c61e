// ReadableStream and what belongs to it, as a program sees them.
import { badArgument, badField } from '../texts.js'
import { ByteController, DEFAULT_CHUNK } from './byte-controller.js'
import { isBufferSource } from './bytes.js'
import { DefaultController, LOCKED, Readable, Reader } from './readable.js'
import { readStrategy } from './strategy.js'
import { tee } from './tee.js'

const SOURCE = 'UnderlyingSource'
const { apply } = Reflect

// The promise of a read, and the request that settles it.
const readPromise = (start) => {
  const { promise, resolve, reject } = Promise.withResolvers()
  start({
    chunk: (value) => resolve({ value, done: false }),
    close: (value) => resolve(value === undefined ? { done: true } : { value, done: true }),
    error: reject,
  })
  return promise
}

export const createReadableClasses = (native, isSignal) => {
  const { createInterface, isObject, missingMembers, toCallback, toDictionary } = native
  const defaultController = createInterface('ReadableStreamDefaultController', {
    getters: { desiredSize: (controller) => controller.desiredSize },
    methods: {
      close: (controller) => controller.close(),
      enqueue: (controller, [chunk]) => controller.enqueue(chunk),
      error: (controller, [reason]) => controller.error(reason),
    },
    required: { error: ['Value'] },
  })

  const byobRequest = createInterface('ReadableStreamBYOBRequest', {
    getters: {
      view: (request) => request.view,
      atLeast: (request) => (request.controller === null ? null : request.least),
    },
    methods: {
      respond({ controller }, [count], self, bad) {
        if (!Number.isFinite(Number(count))) throw bad(1, 'integer')
        if (controller === null) throw new TypeError('This ReadableStreamBYOBRequest has been invalidated.')
        controller.respond(Math.trunc(Number(count)))
      },
      respondWithNewView({ controller }, [view], self, bad) {
        if (!isBufferSource(view)) throw bad(1, 'BufferSource')
        if (controller === null) throw new TypeError('This ReadableStreamBYOBRequest has been invalidated.')
        controller.respondWithNewView(view)
      },
    },
    required: { respond: ['integer'], respondWithNewView: ['BufferSource'] },
  })

  const byteController = createInterface('ReadableByteStreamController', {
    getters: {
      byobRequest({ request }) {
        if (request === null) return null
        request.facade ??= byobRequest.make(request)
        return request.facade
      },
      desiredSize: (controller) => controller.desiredSize,
    },
    methods: {
      close: (controller) => controller.close(),
      enqueue(controller, [chunk], self, bad) {
        if (!isBufferSource(chunk)) throw bad(1, 'BufferSource')
        controller.enqueue(chunk)
      },
      error: (controller, [reason]) => controller.error(reason),
    },
    required: { enqueue: ['BufferSource'], error: ['Value'] },
  })

  const readerMembers = {
    getters: { closed: (reader) => reader.closed.promise },
    methods: { releaseLock: (reader) => reader.release() },
  }

  const takeStream = ([value], bad) => {
    if (!stream.has(value)) throw bad(1, 'ReadableStream')
    return stream.of(value)
  }

  const defaultReader = createInterface('ReadableStreamDefaultReader', {
    required: { constructor: ['ReadableStream'] },
    construct: (args, bad) => new Reader(takeStream(args, bad)),
    ...readerMembers,
    promises: {
      cancel: (reader, [reason]) => reader.held.cancel(reason),
      read: (reader) => readPromise((request) => reader.read(request)),
    },
  })

  const byobReaderOf = (inner) => {
    if (inner.locked) throw new TypeError(LOCKED)
    if (!(inner.controller instanceof ByteController)) {
      throw new TypeError('This ReadableStream does not support BYOB reads.')
    }
    return new Reader(inner)
  }

  const readInto = (reader, view, least) => {
    if (view.byteLength === 0) {
      throw new TypeError('You must call read() on a "byob" reader with a positive-sized TypedArray object.')
    }
    if (least < 1) throw new TypeError(`Requested invalid minimum number of bytes to read (${least}).`)
    const bytes = least * (view.BYTES_PER_ELEMENT ?? 1)
    if (bytes > view.byteLength) {
      throw new TypeError(`Minimum bytes to read (${bytes}) exceeds size of buffer (${view.byteLength}).`)
    }
    return readPromise((request) => reader.read(request, view, bytes))
  }

  const byobReader = createInterface('ReadableStreamBYOBReader', {
    required: { constructor: ['ReadableStream'], read: ['ArrayBufferView'], readAtLeast: ['integer', 'ArrayBufferView'] },
    construct: (args, bad) => byobReaderOf(takeStream(args, bad)),
    ...readerMembers,
    promises: {
      cancel: (reader, [reason]) => reader.held.cancel(reason),
      read(reader, [view, given], self, bad) {
        if (!ArrayBuffer.isView(view)) throw bad(1, 'ArrayBufferView')
        const options = toDictionary(given, bad, 2, 'ReadableStreamBYOBReaderReadOptions')
        return readInto(reader, view, options.min === undefined ? 1 : Math.trunc(+options.min) || 0)
      },
      readAtLeast(reader, [least, view], self, bad) {
        if (!ArrayBuffer.isView(view)) throw bad(2, 'ArrayBufferView')
        return readInto(reader, view, Math.trunc(+least) || 0)
      },
    },
  })

  const iterator = createInterface('ReadableStreamAsyncIterator', {
    prototypeOf: Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype)),
    promises: {
      next: (state) => state.queue(async () => {
        if (state.over) return { done: true }
        let result
        try {
          result = await readPromise((request) => state.reader.read(request))
        } catch (error) {
          state.end()
          throw error
        }
        if (!result.done) return { done: false, value: result.value }
        state.end()
        return { done: true }
      }),
      return: (state, [value]) => state.queue(async () => {
        if (!state.over) {
          const cancelled = state.preventCancel ? undefined : state.reader.held.cancel(value)
          state.end()
          await cancelled
        }
        return { done: true, value }
      }),
    },
  })
  iterator.hide(Symbol.asyncIterator, (state, args, self) => self)

  const iterate = (inner, preventCancel) => {
    const state = {
      reader: new Reader(inner),
      preventCancel,
      over: false,
      last: Promise.resolve(),
      end() {
        state.over = true
        state.reader.release()
      },
      // One after the other, however many are asked for.
      queue(run) {
        state.last = state.last.then(run, run)
        return state.last
      },
    }
    return iterator.make(state)
  }

  const values = (inner, [given], self, bad) => {
    const { preventCancel } = toDictionary(given, bad, 1, 'ValuesOptions')
    return iterate(inner, Boolean(preventCancel))
  }

  const withSource = (source, self) => {
    const type = source.type === undefined ? '' : `${source.type}`
    if (type !== '' && type !== 'bytes') throw new TypeError(`"${type}" is not a valid type of ReadableStream.`)
    const start = toCallback(source, 'start', SOURCE)
    const pull = toCallback(source, 'pull', SOURCE)
    const cancel = toCallback(source, 'cancel', SOURCE)
    return {
      isBytes: type === 'bytes',
      steps: {
        start: start && (() => apply(start, source, [self.facade])),
        pull: pull && (() => apply(pull, source, [self.facade])),
        cancel: cancel && ((reason) => apply(cancel, source, [reason])),
      },
    }
  }

  const chunkSizeOf = ({ autoAllocateChunkSize }) => {
    if (autoAllocateChunkSize === undefined) return DEFAULT_CHUNK
    const size = Math.trunc(+autoAllocateChunkSize)
    if (!(size > 0)) throw new TypeError('The autoAllocateChunkSize option cannot be zero.')
    return size
  }

  const construct = ([given, strategy], bad) => {
    const source = toDictionary(given, bad, 1, SOURCE)
    const inner = new Readable()
    const holder = { facade: undefined }
    const { isBytes, steps } = withSource(source, holder)
    if (isBytes) {
      const { highWaterMark } = readStrategy(strategy, bad, 2, 0)
      new ByteController(inner, steps, { highWaterMark, chunkSize: chunkSizeOf(source) })
    } else new DefaultController(inner, steps, readStrategy(strategy, bad, 2, 1))
    holder.facade = (isBytes ? byteController : defaultController).make(inner.controller)
    inner.controller.begin()
    return inner
  }

  const toPipeOptions = (given, bad) => {
    const options = toDictionary(given, bad, 2, 'PipeToOptions')
    const { signal } = options
    if (signal !== undefined && !isSignal(signal)) throw badField('signal', 'PipeToOptions', 'AbortSignal')
    return {
      preventClose: Boolean(options.preventClose),
      preventAbort: Boolean(options.preventAbort),
      preventCancel: Boolean(options.preventCancel),
      signal,
    }
  }

  // Where a stream can be piped to: { has, of, pipe }, if there are writable streams in this run.
  let targets = { has: () => false }

  const stream = createInterface('ReadableStream', {
    construct,
    getters: { locked: (inner) => inner.locked },
    promises: {
      cancel(inner, [reason]) {
        if (inner.locked) throw new TypeError(LOCKED)
        return inner.cancel(reason)
      },
      pipeTo(inner, [target, options], self, bad) {
        if (!targets.has(target)) throw bad(1, 'WritableStream')
        return targets.pipe(inner, targets.of(target), toPipeOptions(options, bad))
      },
    },
    methods: {
      getReader(inner, [given], self, bad) {
        const { mode } = toDictionary(given, bad, 1, 'GetReaderOptions')
        if (mode === undefined) return defaultReader.make(new Reader(inner))
        if (`${mode}` !== 'byob') throw new TypeError("mode must be undefined or 'byob' in call to getReader().")
        return byobReader.make(byobReaderOf(inner))
      },
      pipeThrough(inner, [transform, options], self, bad) {
        if (transform === undefined || transform === null) throw missingMembers('N7workerd3api14ReadableStream9TransformE')
        if (!isObject(transform)) throw bad(1, 'Transform')
        const { readable, writable: target } = transform
        if (!stream.has(readable)) throw badField('readable', 'Transform', 'ReadableStream')
        if (!targets.has(target)) throw badField('writable', 'Transform', 'WritableStream')
        const locked = 'This WritableStream is currently locked to a writer.'
        const piped = targets.pipe(inner, targets.of(target), toPipeOptions(options, bad), locked)
        piped.then(undefined, () => undefined)
        return readable
      },
      tee: (inner) => tee(inner).map(stream.make),
      values,
    },
    statics: {
      from(state, [iterable], self, bad) {
        const made = startIterating(iterable)
        if (made === undefined) throw bad(1, 'AsyncGenerator')
        return stream.make(fromIterator(made))
      },
    },
    required: { pipeTo: ['WritableStream'], pipeThrough: ['Transform'], from: ['AsyncGenerator'] },
  })
  stream.hide(Symbol.asyncIterator, (inner, args, self) =>
    values(inner, args, self, (index, type) => badArgument('values', 'ReadableStream', index, type)))

  return {
    stream,
    classes: [stream, defaultReader, byobReader, byobRequest, byteController, defaultController],
    setTargets: (found) => void (targets = found),
  }
}

const startIterating = (iterable) => {
  if (iterable === undefined || iterable === null) return undefined
  const start = iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]
  return typeof start === 'function' ? apply(start, iterable, []) : undefined
}

const fromIterator = (iterator) => {
  const inner = new Readable()
  const source = {
    async pull() {
      const { done, value } = await iterator.next()
      if (done) inner.controller.close()
      else inner.controller.enqueue(await value)
    },
    async cancel(reason) {
      await iterator.return?.(reason)
    },
  }
  new DefaultController(inner, source, { highWaterMark: 0 }).begin()
  return inner
}
