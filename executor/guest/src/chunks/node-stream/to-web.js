// The web's streams of Node's.
export const createToWeb = (realm, Stream) => {
  const { abortError, invalidArgType, validateObject } = realm.exports['node-errors']
  const { Buffer } = realm.exports.buffer
  const { destroy, finished, isReadable, isWritable } = Stream

  const failure = (error) => {
    if (error?.code !== 'ERR_STREAM_PREMATURE_CLOSE') return error
    return abortError({ cause: error })
  }

  const counting = (highWaterMark) => new realm.global.CountQueuingStrategy({ highWaterMark })

  const closedReadable = () => {
    const { ReadableStream } = realm.global
    const stream = new ReadableStream()
    stream.cancel()
    return stream
  }
  const closedWritable = () => {
    const { WritableStream } = realm.global
    const stream = new WritableStream()
    stream.close()
    return stream
  }

  const toReadableStream = (streamReadable, options = {}) => {
    if (typeof streamReadable?._readableState !== 'object') {
      throw invalidArgType('streamReadable', 'stream.Readable', streamReadable)
    }
    validateObject(options, 'options')
    if (streamReadable.destroyed || !isReadable(streamReadable)) return closedReadable()
    const objects = streamReadable.readableObjectMode
    const { readableHighWaterMark: highWaterMark } = streamReadable
    const strategy = options.strategy ?? (objects ? counting(highWaterMark) : { highWaterMark })
    let controller
    let cancelled = false

    const onData = (chunk) => {
      controller.enqueue(Buffer.isBuffer(chunk) && !objects ? new Uint8Array(chunk) : chunk)
      if (controller.desiredSize <= 0) streamReadable.pause()
    }
    streamReadable.pause()
    const forget = finished(streamReadable, { writable: false }, (error) => {
      forget()
      streamReadable.on('error', () => {}) // what comes after its end is nobody's
      const reason = failure(error)
      if (reason) controller.error(reason)
      else if (!cancelled) controller.close()
    })
    streamReadable.on('data', onData)

    return new realm.global.ReadableStream({
      start(given) { controller = given },
      pull() { streamReadable.resume() },
      cancel(reason) {
        cancelled = true
        destroy(streamReadable, reason)
      },
    }, strategy)
  }

  const toWritableStream = (streamWritable) => {
    if (typeof streamWritable?._writableState !== 'object') {
      throw invalidArgType('streamWritable', 'stream.Writable', streamWritable)
    }
    if (streamWritable.destroyed || !isWritable(streamWritable)) return closedWritable()
    const { writableHighWaterMark: highWaterMark, writableObjectMode: objects } = streamWritable
    const strategy = objects ? counting(highWaterMark) : { highWaterMark }
    let controller
    let drained
    let closing

    const forget = finished(streamWritable, { readable: false }, (error) => {
      forget()
      streamWritable.on('error', () => {})
      const reason = failure(error)
      if (reason) {
        drained?.reject(reason)
        closing?.reject(reason)
        controller.error(reason)
      } else if (closing !== undefined) closing.resolve()
      else controller.error(abortError())
    })
    streamWritable.on('drain', () => drained?.resolve())

    return new realm.global.WritableStream({
      start(given) { controller = given },
      write(chunk) {
        if (!streamWritable.writableNeedDrain && streamWritable.write(chunk)) return undefined
        drained = Promise.withResolvers()
        return drained.promise.finally(() => { drained = undefined })
      },
      abort(reason) { destroy(streamWritable, reason) },
      close() {
        closing = Promise.withResolvers()
        streamWritable.end()
        return closing.promise
      },
    }, strategy)
  }

  const toPair = (duplex) => {
    if (typeof duplex?._writableState !== 'object' || typeof duplex?._readableState !== 'object') {
      throw invalidArgType('duplex', 'stream.Duplex', duplex)
    }
    if (duplex.destroyed) return { writable: closedWritable(), readable: closedReadable() }
    const writable = isWritable(duplex) ? toWritableStream(duplex) : closedWritable()
    const readable = isReadable(duplex) ? toReadableStream(duplex) : closedReadable()
    return { writable, readable }
  }

  return { toReadableStream, toWritableStream, toPair }
}
