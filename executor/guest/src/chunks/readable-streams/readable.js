// Readable streams, as the Streams Standard has them, without the classes that a program sees. Requests wait at the
// controller: { chunk(value), close(value), error(reason) }, one of which is called.
import { attempt, createDeferred, rejected, resolved } from './deferred.js'
import { toUnsigned } from './native.js'
import { Queue } from './queue.js'

export const LOCKED = 'This ReadableStream is currently locked to a reader.'
const RELEASED = 'This ReadableStream reader has been released.'
const CLOSED = 'This ReadableStream is closed.'

export class Readable {
  state = 'readable'
  error = undefined
  disturbed = false
  reader = null
  controller = null

  get locked() {
    return this.reader !== null
  }

  // Answers whether it was open.
  close() {
    if (this.state !== 'readable') return false
    this.state = 'closed'
    this.reader?.closed.resolve(undefined)
    this.controller.endRequests()
    return true
  }

  fail(reason) {
    if (this.state !== 'readable') return
    this.state = 'errored'
    this.error = reason
    this.reader?.closed.reject(reason)
    this.controller.failRequests(reason)
  }

  // A promise of the end of the cancellation.
  cancel(reason) {
    this.disturbed = true
    if (this.state === 'closed') return Promise.resolve()
    if (this.state === 'errored') return Promise.reject(this.error)
    this.close()
    return this.controller.cancel(reason).then(() => undefined)
  }
}

export class Reader {
  constructor(stream, message = LOCKED) {
    if (stream.locked) throw new TypeError(message)
    this.stream = stream
    stream.reader = this
    if (stream.state === 'readable') this.closed = createDeferred()
    else this.closed = stream.state === 'closed' ? resolved(undefined) : rejected(stream.error)
  }

  // The stream, if this reader has it still.
  get held() {
    if (this.stream === null) throw new TypeError(RELEASED)
    return this.stream
  }

  read(request, view, least) {
    const stream = this.held
    stream.disturbed = true
    stream.controller.read(request, view, least)
  }

  release() {
    const { stream } = this
    if (stream === null) return
    const released = new TypeError(RELEASED)
    if (this.closed.pending) this.closed.reject(released)
    else this.closed = rejected(released)
    stream.controller.releaseRequests(released)
    stream.reader = null
    this.stream = null
  }
}

// When to ask a source for more: one call at a time.
export class Puller {
  #pull
  #wants
  #fail
  #started = false
  #pulling = false
  #again = false

  constructor(pull, wants, fail) {
    this.#pull = pull
    this.#wants = wants
    this.#fail = fail
  }

  start(promise) {
    promise.then(
      () => {
        this.#started = true
        this.call()
      },
      (reason) => this.#fail(reason),
    )
  }

  call() {
    if (!this.#started || !this.#wants()) return
    if (this.#pulling) {
      this.#again = true
      return
    }
    this.#pulling = true
    attempt(this.#pull).then(
      () => {
        this.#pulling = false
        if (!this.#again) return
        this.#again = false
        this.call()
      },
      (reason) => this.#fail(reason),
    )
  }
}

const nothing = () => undefined

export class DefaultController {
  #queue = new Queue()
  #requests = []
  #puller
  #size
  #cancel
  #highWaterMark
  #closeRequested = false

  // `source`: { start, pull, cancel } of no arguments but `cancel`, which gets the reason.
  constructor(stream, { start = nothing, pull = nothing, cancel = nothing }, { highWaterMark, size }) {
    this.stream = stream
    stream.controller = this
    this.#highWaterMark = highWaterMark
    this.#size = size
    this.#cancel = cancel
    this.#puller = new Puller(pull, () => this.#wantsMore, (reason) => this.error(reason))
    this.begin = () => this.#puller.start(attempt(start))
  }

  get #isOpen() {
    return !this.#closeRequested && this.stream.state === 'readable'
  }

  get #wantsMore() {
    return this.#isOpen && (this.#requests.length > 0 || this.desiredSize > 0)
  }

  get desiredSize() {
    if (this.stream.state === 'errored') return null
    return this.stream.state === 'closed' || this.#closeRequested ? 0 : this.#highWaterMark - this.#queue.total
  }

  get hasBackpressure() {
    return !this.#wantsMore
  }

  get canEnqueue() {
    return this.#isOpen
  }

  enqueue(chunk) {
    if (!this.#isOpen) throw new TypeError('Unable to enqueue')
    if (this.#requests.length > 0) {
      this.#requests.shift().chunk(chunk)
    } else {
      try {
        const counts = this.#size === undefined ? 1 : this.#size(chunk)
        this.#queue.push(chunk, counts === undefined ? 1 : toUnsigned(counts))
      } catch (error) {
        this.error(error)
        throw error
      }
    }
    this.#puller.call()
  }

  close() {
    if (!this.#isOpen) throw new TypeError(CLOSED)
    this.#closeRequested = true
    if (this.#queue.isEmpty) this.stream.close()
  }

  error(reason) {
    this.#queue.clear()
    this.stream.fail(reason)
  }

  read(request) {
    const { stream } = this
    if (stream.state === 'closed') return request.close()
    if (stream.state === 'errored') return request.error(stream.error)
    if (this.#queue.isEmpty) {
      this.#requests.push(request)
      this.#puller.call()
      return
    }
    const chunk = this.#queue.shift()
    if (this.#closeRequested && this.#queue.isEmpty) stream.close()
    else this.#puller.call()
    request.chunk(chunk)
  }

  cancel(reason) {
    this.#queue.clear()
    return attempt(() => this.#cancel(reason))
  }

  #take() {
    const requests = this.#requests
    this.#requests = []
    return requests
  }

  endRequests() {
    for (const request of this.#take()) request.close()
  }

  failRequests(reason) {
    for (const request of this.#take()) request.error(reason)
  }

  releaseRequests(reason) {
    this.failRequests(reason)
  }
}
