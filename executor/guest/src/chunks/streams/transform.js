// Transform streams, as the Streams Standard has them, without the classes that a program sees.
import { attempt, createDeferred } from '../readable-streams/deferred.js'
import { Writable, WritableController } from './writable.js'

const nothing = () => undefined

// `create(steps, writableStrategy, readableStrategy)`.
export const createTransform = (readables) => (...args) => new Transform(readables, ...args)

class Transform {
  readable
  writable = new Writable()
  #change = createDeferred()
  #backpressure = true
  #finishing
  #steps

  // `steps`: { start(), transform(chunk), flush(), cancel(reason) }; the strategies are of the two sides.
  constructor({ Readable, DefaultController }, steps, writableStrategy, readableStrategy) {
    const { start = nothing, transform, flush = nothing, cancel = nothing } = steps
    this.readable = new Readable()
    this.#steps = { transform: transform ?? ((chunk) => this.enqueue(chunk)), flush, cancel }
    const begun = createDeferred()
    const source = {
      start: () => begun.promise,
      pull: () => this.#pull(),
      cancel: (reason) => this.#cancel(reason),
    }
    const sink = {
      start: () => begun.promise,
      write: (chunk) => this.#write(chunk),
      close: () => this.#close(),
      abort: (reason) => this.#abort(reason),
    }
    new DefaultController(this.readable, source, readableStrategy).begin()
    new WritableController(this.writable, sink, writableStrategy).begin()
    this.begin = () => {
      const started = attempt(start)
      started.then(undefined, (reason) => this.error(reason))
      begun.resolve(started)
    }
  }

  get desiredSize() {
    return this.readable.controller.desiredSize
  }

  enqueue(chunk) {
    const { controller } = this.readable
    if (!controller.canEnqueue) throw new TypeError('The readable side of this TransformStream is no longer readable.')
    try {
      controller.enqueue(chunk)
    } catch (error) {
      this.#errorWritable(error)
      throw this.readable.state === 'errored' ? this.readable.error : error
    }
    if (controller.hasBackpressure !== this.#backpressure) this.#setBackpressure(true)
  }

  error(reason) {
    this.readable.controller.error(reason)
    this.#errorWritable(reason)
  }

  terminate() {
    const { controller } = this.readable
    if (controller.canEnqueue) controller.close()
    this.#errorWritable(new TypeError('The transform stream has been terminated'))
  }

  #errorWritable(reason) {
    this.#steps = { transform: nothing, flush: nothing, cancel: nothing }
    this.writable.controller.error(reason)
    // Whoever waits for room may go on, and finds the error.
    if (this.#backpressure) this.#setBackpressure(false)
  }

  #setBackpressure(backpressure) {
    this.#change.resolve(undefined)
    this.#change = createDeferred()
    this.#backpressure = backpressure
  }

  #pull() {
    this.#setBackpressure(false)
    return this.#change.promise
  }

  async #write(chunk) {
    if (this.#backpressure) {
      await this.#change.promise
      if (this.writable.state === 'erroring') throw this.writable.error
    }
    try {
      await this.#steps.transform(chunk)
    } catch (error) {
      this.error(error)
      throw error
    }
  }

  // Both ends may be asked to finish; the first one says how.
  #finish(run) {
    this.#finishing ??= run()
    return this.#finishing
  }

  #close() {
    return this.#finish(async () => {
      const { readable } = this
      try {
        await attempt(this.#steps.flush)
      } catch (error) {
        this.error(error)
        throw error
      }
      if (readable.state === 'errored') throw readable.error
      if (readable.controller.canEnqueue) readable.controller.close()
    })
  }

  #abort(reason) {
    return this.#finish(async () => {
      const { readable } = this
      try {
        await attempt(() => this.#steps.cancel(reason))
      } catch (error) {
        readable.controller.error(error)
        throw error
      }
      if (readable.state === 'errored') throw readable.error
      readable.controller.error(reason)
    })
  }

  #cancel(reason) {
    return this.#finish(async () => {
      const { writable } = this
      try {
        await attempt(() => this.#steps.cancel(reason))
      } catch (error) {
        this.#errorWritable(error)
        throw error
      }
      if (writable.state === 'errored') throw writable.error
      this.#errorWritable(reason)
    })
  }
}
