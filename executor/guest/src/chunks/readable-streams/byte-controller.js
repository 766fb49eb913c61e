// The controller of a stream of bytes. Every read fills a buffer: the reader's, or one of this controller's own.
import { asBytes, viewLike } from './bytes.js'
import { attempt } from './deferred.js'
import { Puller } from './readable.js'

export const DEFAULT_CHUNK = 4096

const elementSize = (fill) => fill.like?.BYTES_PER_ELEMENT ?? 1

// What a fill has got, as the view that its reader expects.
const viewOf = (fill, bytes, offset = fill.offset) =>
  fill.like === undefined ? new Uint8Array(fill.buffer, offset, bytes) : viewLike(fill.like, fill.buffer, offset, bytes)

const nothing = () => undefined

export class ByteController {
  #parts = []
  #total = 0
  #fills = []
  #puller
  #cancel
  #highWaterMark
  #chunkSize
  #closeRequested = false
  #request = null
  onEmpty = nothing

  // `internal`: not of a program's making. Then there is one read at a time, as in workerd.
  constructor(stream, source, { highWaterMark, chunkSize = DEFAULT_CHUNK, internal = false }) {
    const { start = nothing, pull = nothing, cancel = nothing } = source
    this.stream = stream
    stream.controller = this
    this.internal = internal
    this.#highWaterMark = highWaterMark
    this.#chunkSize = chunkSize
    this.#cancel = cancel
    this.#puller = new Puller(pull, () => this.#wantsMore, (reason) => this.error(reason))
    this.begin = () => this.#puller.start(attempt(start))
  }

  get #isOpen() {
    return !this.#closeRequested && this.stream.state === 'readable'
  }

  get #wantsMore() {
    return this.#isOpen && (this.#fills.length > 0 || this.desiredSize > 0)
  }

  get desiredSize() {
    if (this.stream.state === 'errored') return null
    return this.stream.state === 'closed' || this.#closeRequested ? 0 : this.#highWaterMark - this.#total
  }

  get isEmpty() {
    return this.#total === 0
  }

  get canEnqueue() {
    return this.#isOpen
  }

  // The source's: the view comes to belong to the stream.
  enqueue(source) {
    if (!this.#isOpen) throw new TypeError('This ReadableByteStreamController is closed.')
    if (source.byteLength === 0) throw new TypeError('Cannot enqueue a zero-length ArrayBuffer.')
    const view = asBytes(source)
    const { buffer, byteOffset, length } = view
    if (this.#request !== null) this.#fills[0].buffer = this.#fills[0].buffer.transfer()
    this.#invalidate()
    this.push(buffer instanceof ArrayBuffer ? new Uint8Array(buffer.transfer(), byteOffset, length) : view.slice())
  }

  // Bytes that nobody else will change.
  push(bytes) {
    this.#parts.push(bytes)
    this.#total += bytes.length
    this.#serve()
    this.#puller.call()
  }

  close() {
    if (!this.#isOpen) throw new TypeError('This ReadableStream is closed.')
    if (this.#total > 0) {
      this.#closeRequested = true
      return
    }
    this.#invalidate()
    this.stream.close()
  }

  error(reason) {
    this.#clear()
    this.stream.fail(reason)
  }

  read(request, view, least = 1) {
    const { stream } = this
    if (stream.state === 'errored') return request.error(stream.error)
    if (this.internal && this.#fills.length > 0) {
      return request.error(new TypeError('This ReadableStream only supports a single pending read request at a time.'))
    }
    const fill = this.#fillFor(view, least, request)
    if (stream.state === 'closed') {
      // workerd's two kinds of streams leave an empty view in different places.
      const offset = this.internal ? fill.offset : fill.offset + fill.length
      return request.close(view === undefined ? undefined : viewOf(fill, 0, offset))
    }
    this.#fills.push(fill)
    this.#serve()
    this.#puller.call()
  }

  #fillFor(view, least, request) {
    if (view === undefined) {
      const length = this.#chunkSize
      return { buffer: new ArrayBuffer(length), offset: 0, length, like: undefined, filled: 0, least, request }
    }
    // Read before the transfer, after which the view is empty.
    const { byteOffset, byteLength } = view
    return { buffer: view.buffer.transfer(), offset: byteOffset, length: byteLength, like: view, filled: 0, least, request }
  }

  // Gives what there is to whom waits.
  #serve() {
    while (this.#fills.length > 0 && this.#total > 0) {
      const fill = this.#fills[0]
      this.#copyInto(fill)
      const ends = this.#closeRequested && this.#total === 0
      if (fill.filled < fill.least && !ends) break
      this.#fills.shift()
      if (ends) this.stream.close()
      this.#deliver(fill)
    }
    if (this.#total === 0) this.onEmpty()
  }

  #copyInto(fill) {
    while (this.#total > 0 && fill.filled < fill.length) {
      const part = this.#parts[0]
      const count = Math.min(part.length, fill.length - fill.filled)
      new Uint8Array(fill.buffer, fill.offset + fill.filled, count).set(part.subarray(0, count))
      if (count === part.length) this.#parts.shift()
      else this.#parts[0] = part.subarray(count)
      fill.filled += count
      this.#total -= count
    }
  }

  #deliver(fill) {
    const rest = fill.filled % elementSize(fill)
    if (rest > 0) {
      const end = fill.offset + fill.filled
      this.#parts.unshift(new Uint8Array(fill.buffer.slice(end - rest, end)))
      this.#total += rest
      fill.filled -= rest
    }
    if (fill.request === null) {
      // Its reader has gone: the next one gets it.
      this.#parts.unshift(new Uint8Array(fill.buffer, fill.offset, fill.filled))
      this.#total += fill.filled
    } else fill.request.chunk(viewOf(fill, fill.filled))
  }

  // { view, least, respond, respondWithNewView } of the first who waits, or null.
  get request() {
    if (this.#request === null && this.#fills.length > 0) {
      const fill = this.#fills[0]
      const view = new Uint8Array(fill.buffer, fill.offset + fill.filled, fill.length - fill.filled)
      this.#request = { controller: this, view, least: fill.least - fill.filled, facade: undefined }
    }
    return this.#request
  }

  #invalidate() {
    if (this.#request === null) return
    this.#request.controller = null
    this.#request.view = null
    this.#request = null
  }

  respond(count) {
    const fill = this.#fills[0]
    if (!(count > 0)) throw new TypeError('The bytesWritten must be more than zero while the stream is open.')
    if (fill.filled + count > fill.length) {
      throw new RangeError(`Too many bytes [${count}] in response to a BYOB read request.`)
    }
    this.#invalidate()
    fill.buffer = fill.buffer.transfer()
    fill.filled += count
    if (fill.filled >= fill.least) {
      this.#fills.shift()
      this.#deliver(fill)
      this.#serve()
    }
    this.#puller.call()
  }

  respondWithNewView(source) {
    const fill = this.#fills[0]
    const view = asBytes(source)
    if (view.buffer.byteLength !== fill.buffer.byteLength) {
      throw new RangeError('The underlying ArrayBuffer is not the correct length.')
    }
    if (view.byteOffset !== fill.offset + fill.filled) throw new RangeError('The given view has an invalid byte offset.')
    const { length } = view
    if (view.buffer !== fill.buffer) fill.buffer = view.buffer.transfer()
    this.respond(length)
  }

  cancel(reason) {
    this.#clear()
    return attempt(() => this.#cancel(reason))
  }

  #clear() {
    this.#parts = []
    this.#total = 0
    this.#invalidate()
  }

  #take() {
    const fills = this.#fills
    this.#fills = []
    this.#invalidate()
    return fills
  }

  endRequests() {
    for (const fill of this.#take()) {
      if (fill.request === null) continue
      if (fill.filled > 0) fill.request.chunk(viewOf(fill, fill.filled - (fill.filled % elementSize(fill))))
      else fill.request.close(fill.like === undefined ? undefined : viewOf(fill, 0))
    }
  }

  failRequests(reason) {
    for (const fill of this.#take()) fill.request?.error(reason)
  }

  // The source may be at work for the first: what it delivers goes to the next reader.
  releaseRequests(reason) {
    const fills = this.#fills
    this.#fills = fills.slice(0, 1)
    for (const fill of fills) {
      fill.request?.error(reason)
      fill.request = null
    }
  }
}

// A stream of these bytes, and no more.
export const fillWith = (stream, bytes) => {
  const controller = new ByteController(stream, {}, { highWaterMark: 0, internal: true })
  if (bytes.length > 0) controller.push(bytes)
  controller.close()
  return stream
}
