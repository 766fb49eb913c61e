// Streams from bytes to bytes that workerd implements itself: what is written waits until it is read, and errors lose
// what is not an Error.
import { copyBytes, isBufferSource } from '../readable-streams/bytes.js'
import { createDeferred } from '../readable-streams/deferred.js'
import { Writable, WritableController } from './writable.js'

const toError = (reason) => {
  if (Error.isError(reason)) return reason
  return new Error(reason === undefined ? 'Stream was cancelled.' : `${reason}`)
}

const toBytes = (chunk) => {
  if (typeof chunk === 'string') {
    throw new TypeError(
      'This TransformStream is being used as a byte stream, but received a string on its writable side. If you wish ' +
        "to write a string, you'll probably want to explicitly UTF-8-encode it with TextEncoder.",
    )
  }
  if (!isBufferSource(chunk)) {
    throw new TypeError(
      'This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView ' +
        'type on its writable side.',
    )
  }
  return copyBytes(chunk)
}

// `create(steps, options)`; `steps`: write(bytes, push) and close(push) pass bytes on by push(bytes), whose promise is there
// when they were read; end() lets go of what the steps hold. With `buffers` nobody waits for a reader.
export const createByteTransform = (readables) => (steps, options) => begin(readables, steps, options)

const nothing = () => undefined

const begin = ({ Readable, ByteController }, steps, { highWaterMark = 1, buffers = false }) => {
  const { write, close, end = nothing } = steps
  const readable = new Readable()
  const writable = new Writable()
  let wanted = createDeferred()
  let read = createDeferred()
  let over = false

  const stop = (reason) => {
    if (over) return
    over = true
    end()
    if (reason !== undefined) {
      readable.controller.error(reason)
      writable.controller.error(reason)
    }
    wanted.resolve(undefined)
    read.resolve(undefined)
  }

  const push = async (bytes) => {
    if (bytes.length === 0) return
    if (buffers) {
      if (readable.controller.canEnqueue) readable.controller.push(bytes)
      return
    }
    await wanted.promise
    if (readable.state !== 'readable') return
    wanted = createDeferred()
    read = createDeferred()
    readable.controller.push(bytes)
    await read.promise
  }

  new ByteController(
    readable,
    {
      pull: () => wanted.resolve(undefined),
      cancel: (reason) => stop(toError(reason)),
    },
    { highWaterMark: 0, internal: true },
  ).begin()
  readable.controller.onEmpty = () => read.resolve(undefined)
  const failing = async (run) => {
    try {
      await run()
    } catch (error) {
      stop(error)
      throw error
    }
  }
  new WritableController(
    writable,
    {
      write: (chunk) => failing(() => write(toBytes(chunk), push)),
      close: () => failing(async () => {
        await close(push)
        end()
        over = true
        if (readable.controller.canEnqueue) readable.controller.close()
      }),
      abort: (reason) => stop(toError(reason)),
    },
    { highWaterMark, size: undefined },
  ).begin()
  return { readable, writable, fail: stop }
}
