// What Node has of its streams and the package has not, or has otherwise.
import { createFromWeb } from './from-web.js'
import { createPairs } from './pairs.js'
import { createToWeb } from './to-web.js'

const HIGH_WATER_MARK = 65536

const OPERATORS = [
  'map', 'asIndexedPairs', 'drop', 'filter', 'flatMap', 'take', 'every', 'forEach', 'reduce', 'toArray', 'some', 'find',
  'compose',
]

export const adapt = (realm, Stream) => {
  const { Duplex, Readable, Writable } = Stream
  const { abortError, invalidArgType } = realm.exports['node-errors']

  // The package looks into null for a member.
  const { addAbortSignal } = Stream
  Stream.addAbortSignal = function (signal, stream) {
    if (signal === null) throw invalidArgType('signal', 'AbortSignal', signal)
    return addAbortSignal(signal, stream)
  }
  Object.defineProperty(Stream.addAbortSignal, 'name', { value: 'addAbortSignal' })

  Stream.setDefaultHighWaterMark(false, HIGH_WATER_MARK)
  Stream.duplexPair = createPairs(Duplex)

  // A view of any kind is bytes, as in later versions of Node. The package asks these two.
  Stream._isArrayBufferView = function isArrayBufferView(value) { return ArrayBuffer.isView(value) }
  Stream._isUint8Array = Stream._isArrayBufferView

  for (const name of OPERATORS) Object.defineProperty(Readable.prototype, name, { __proto__: null, enumerable: true })

  Object.defineProperty(Writable.prototype, Symbol.asyncDispose, {
    __proto__: null,
    async value() {
      if (!this.destroyed) this.destroy(this.writableFinished ? null : abortError())
      await new Promise((resolve, reject) => {
        Stream.finished(this, (error) => (error && error.name !== 'AbortError' ? reject(error) : resolve()))
      })
    },
    writable: true,
    enumerable: false,
    configurable: true,
  })

  const { newDuplex, newReadable, newWritable } = createFromWeb(realm, Stream)
  const { toPair, toReadableStream, toWritableStream } = createToWeb(realm, Stream)
  Readable.toWeb = function toWeb(streamReadable, options) { return toReadableStream(streamReadable, options) }
  Readable.fromWeb = function fromWeb(readableStream, options) { return newReadable(readableStream, options) }
  Writable.fromWeb = function fromWeb(writableStream, options) { return newWritable(writableStream, options) }
  Writable.toWeb = function toWeb(streamWritable) { return toWritableStream(streamWritable) }
  Duplex.fromWeb = function fromWeb(pair, options) { return newDuplex(pair, options) }
  Duplex.toWeb = function toWeb(duplex) { return toPair(duplex) }
}
