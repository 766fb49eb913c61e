// Writable streams, as the Streams Standard has them, without the classes that a program sees.
import { attempt, createDeferred, rejected, resolved } from '../readable-streams/deferred.js'
import { toUnsigned } from '../readable-streams/native.js'
import { Queue } from '../readable-streams/queue.js'

export const LOCKED = 'This WritableStream is currently locked to a writer'
const RELEASED = 'This WritableStream writer has been released.'
const CLOSED = 'This WritableStream has been closed.'
const CLOSE = Symbol('close')

const nothing = () => undefined

export class Writable {
  state = 'writable'
  error = undefined
  writer = null
  controller = null
  #backpressure = false
  #closing = null // the deferred of a close that was asked for
  #closeInFlight = false
  #writes = []
  #writeInFlight = null
  #abort = null

  get locked() {
    return this.writer !== null
  }

  get isClosing() {
    return this.#closing !== null
  }

  get hasInFlight() {
    return this.#writeInFlight !== null || this.#closeInFlight
  }

  write(chunk) {
    const counts = this.controller.measure(chunk)
    if (this.state === 'errored') return Promise.reject(this.error)
    if (this.isClosing || this.state === 'closed') return Promise.reject(new TypeError(CLOSED))
    if (this.state === 'erroring') return Promise.reject(this.error)
    const deferred = createDeferred()
    this.#writes.push(deferred)
    this.controller.push(chunk, counts)
    return deferred.promise
  }

  close() {
    if (this.state === 'errored') return Promise.reject(this.error)
    if (this.state === 'closed' || this.isClosing) return Promise.reject(new TypeError(CLOSED))
    this.#closing = createDeferred()
    if (this.#backpressure && this.state === 'writable') this.writer?.ready.resolve(undefined)
    this.controller.pushClose()
    return this.#closing.promise
  }

  abort(reason) {
    if (this.state === 'closed' || this.state === 'errored') return Promise.resolve()
    this.controller.signalAbort(reason)
    if (this.state === 'closed' || this.state === 'errored') return Promise.resolve()
    if (this.#abort !== null) return this.#abort.deferred.promise
    const wasErroring = this.state === 'erroring'
    this.#abort = { deferred: createDeferred(), reason: wasErroring ? undefined : reason, wasErroring }
    const { promise } = this.#abort.deferred
    if (!wasErroring) this.startErroring(reason)
    return promise
  }

  setBackpressure(backpressure) {
    if (backpressure === this.#backpressure) return
    this.#backpressure = backpressure
    const { writer } = this
    if (writer === null || this.state !== 'writable' || this.isClosing) return
    if (backpressure) writer.ready = createDeferred()
    else writer.ready.resolve(undefined)
  }

  initialReady() {
    if (this.state === 'erroring' || this.state === 'errored') return rejected(this.error)
    const waits = this.state === 'writable' && !this.isClosing && this.#backpressure
    return waits ? createDeferred() : resolved(undefined)
  }

  beginWrite() {
    this.#writeInFlight = this.#writes.shift()
  }

  endWrite() {
    const deferred = this.#writeInFlight
    this.#writeInFlight = null
    deferred.resolve(undefined)
  }

  failWrite(reason) {
    const deferred = this.#writeInFlight
    this.#writeInFlight = null
    deferred.reject(reason)
    this.deal(reason)
  }

  beginClose() {
    this.#closeInFlight = true
  }

  endClose() {
    this.#closeInFlight = false
    const deferred = this.#closing
    if (this.state === 'erroring') {
      this.error = undefined
      this.#abort?.deferred.resolve(undefined)
      this.#abort = null
    }
    this.state = 'closed'
    deferred.resolve(undefined)
    this.writer?.closed.resolve(undefined)
  }

  failClose(reason) {
    this.#closeInFlight = false
    const deferred = this.#closing
    this.#closing = null
    deferred.reject(reason)
    this.#abort?.deferred.reject(reason)
    this.#abort = null
    this.deal(reason)
  }

  // Something went wrong, at whatever state.
  deal(reason) {
    if (this.state === 'writable') this.startErroring(reason)
    else if (this.state === 'erroring') this.finishErroring()
  }

  startErroring(reason) {
    this.state = 'erroring'
    this.error = reason
    const { writer } = this
    if (writer !== null) {
      if (writer.ready.pending) writer.ready.reject(reason)
      else writer.ready = rejected(reason)
    }
    if (!this.hasInFlight && this.controller.started) this.finishErroring()
  }

  finishErroring() {
    if (this.hasInFlight) return
    this.state = 'errored'
    this.controller.clear()
    for (const deferred of this.#writes) deferred.reject(this.error)
    this.#writes = []
    const abort = this.#abort
    this.#abort = null
    if (abort === null) return this.#rejectCloses()
    if (abort.wasErroring) {
      abort.deferred.reject(this.error)
      return this.#rejectCloses()
    }
    this.controller.abort(abort.reason).then(
      () => {
        abort.deferred.resolve(undefined)
        this.#rejectCloses()
      },
      (reason) => {
        abort.deferred.reject(reason)
        this.#rejectCloses()
      },
    )
  }

  #rejectCloses() {
    this.#closing?.reject(this.error)
    this.#closing = null
    const { writer } = this
    if (writer === null) return
    if (writer.closed.pending) writer.closed.reject(this.error)
    else writer.closed = rejected(this.error)
  }
}

export class Writer {
  constructor(stream, message = LOCKED + '.') {
    if (stream.locked) throw new TypeError(message)
    this.stream = stream
    stream.writer = this
    this.ready = stream.initialReady()
    if (stream.state === 'closed') this.closed = resolved(undefined)
    else this.closed = stream.state === 'errored' ? rejected(stream.error) : createDeferred()
  }

  get held() {
    if (this.stream === null) throw new TypeError(RELEASED)
    return this.stream
  }

  get desiredSize() {
    const { state, controller } = this.held
    if (state === 'errored' || state === 'erroring') return null
    return state === 'closed' ? 0 : controller.desiredSize
  }

  release() {
    const { stream } = this
    if (stream === null) return
    const released = new TypeError(RELEASED)
    if (this.closed.pending) this.closed.reject(released)
    else this.closed = rejected(released)
    if (this.ready.pending) this.ready.reject(released)
    stream.writer = null
    this.stream = null
  }
}

export class WritableController {
  #queue = new Queue()
  #sink
  #highWaterMark
  #size
  started = false

  // `sink`: { start(), write(chunk), close(), abort(reason) }; `signalAbort(reason)` tells who looks at the signal.
  constructor(stream, sink, { highWaterMark, size }) {
    this.stream = stream
    stream.controller = this
    const { start = nothing, write = nothing, close = nothing, abort = nothing, signalAbort = nothing } = sink
    this.#sink = { write, close, abort }
    this.signalAbort = signalAbort
    this.#highWaterMark = highWaterMark
    this.#size = size
    stream.setBackpressure(highWaterMark <= 0)
    this.begin = () =>
      attempt(start).then(
        () => {
          this.started = true
          this.#advance()
        },
        (reason) => {
          this.started = true
          stream.deal(reason)
        },
      )
  }

  get desiredSize() {
    return this.#highWaterMark - this.#queue.total
  }

  // A size that fails makes the stream fail, but not the call.
  measure(chunk) {
    if (this.#size === undefined) return 1
    try {
      const counts = this.#size(chunk)
      return counts === undefined ? 1 : toUnsigned(counts)
    } catch (error) {
      this.error(error)
      return 1
    }
  }

  push(chunk, counts) {
    this.#queue.push(chunk, counts)
    this.#updateBackpressure()
    this.#advance()
  }

  pushClose() {
    this.#queue.push(CLOSE, 0)
    this.#advance()
  }

  clear() {
    this.#queue.clear()
  }

  error(reason) {
    if (this.stream.state === 'writable') this.stream.startErroring(reason)
  }

  abort(reason) {
    return attempt(() => this.#sink.abort(reason))
  }

  #updateBackpressure() {
    if (!this.stream.isClosing && this.stream.state === 'writable') this.stream.setBackpressure(this.desiredSize <= 0)
  }

  #advance() {
    const { stream } = this
    if (!this.started || stream.hasInFlight) return
    if (stream.state === 'erroring') return stream.finishErroring()
    if (stream.state !== 'writable' || this.#queue.isEmpty) return
    const chunk = this.#queue.peek()
    if (chunk === CLOSE) this.#close()
    else this.#write(chunk)
  }

  #close() {
    const { stream } = this
    stream.beginClose()
    this.#queue.shift()
    attempt(this.#sink.close).then(() => stream.endClose(), (reason) => stream.failClose(reason))
  }

  #write(chunk) {
    const { stream } = this
    stream.beginWrite()
    attempt(() => this.#sink.write(chunk)).then(
      () => {
        stream.endWrite()
        this.#queue.shift()
        this.#updateBackpressure()
        this.#advance()
      },
      (reason) => {
        if (stream.state === 'writable') this.#queue.clear()
        stream.failWrite(reason)
      },
    )
  }
}
