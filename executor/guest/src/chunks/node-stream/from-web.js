// Node's streams of the web's.
export const createFromWeb = (realm, { Duplex, Readable, Writable, destroy }) => {
  const { abortError, invalidArgType, validateBoolean, validateObject } = realm.exports['node-errors']

  // Where a class is not there, nothing is an object of it.
  const check = (stream, type, name) => {
    const Class = realm.global[type]
    if (Class === undefined || !(stream instanceof Class)) throw invalidArgType(name, type, stream)
  }
  const checkOptions = (options, ...flags) => {
    validateObject(options, 'options')
    for (const flag of flags) if (options[flag] !== undefined) validateBoolean(options[flag], 'options.' + flag)
  }

  // What reads of `reader` into `stream`.
  const source = (stream, reader) => {
    const state = { closed: false }
    reader.closed.then(
      () => { state.closed = true },
      (error) => {
        state.closed = true
        destroy(stream(), error)
      },
    )
    state.read = () => {
      reader.read().then(
        ({ done, value }) => stream().push(done ? null : value),
        (error) => destroy(stream(), error),
      )
    }
    state.cancel = (error) => (state.closed ? Promise.resolve() : reader.cancel(error))
    return state
  }

  const sink = (stream, writer) => {
    const state = { closed: false }
    writer.closed.then(
      () => {
        state.closed = true
        if (!stream().writableEnded) destroy(stream(), premature())
      },
      (error) => {
        state.closed = true
        destroy(stream(), error)
      },
    )
    const settle = (promise, callback) => {
      promise.then(() => callback(), (error) => callback(error ?? premature())).catch((error) => destroy(stream(), error))
    }
    state.write = (chunk, encoding, callback) => settle(writer.ready.then(() => writer.write(chunk)), callback)
    state.writev = (chunks, callback) =>
      settle(writer.ready.then(() => Promise.all(chunks.map(({ chunk }) => writer.write(chunk)))), callback)
    state.final = (callback) => (state.closed ? callback() : settle(writer.close(), callback))
    state.end = (error) => {
      if (state.closed) return Promise.resolve()
      return error === null || error === undefined ? writer.close() : writer.abort(error)
    }
    return state
  }

  const premature = () => abortError()

  // Failures of what is only put away are nobody's.
  const settled = (promises, error, callback) => {
    Promise.allSettled(promises).then(() => callback(error))
  }

  const newReadable = (readableStream, options = {}) => {
    check(readableStream, 'ReadableStream', 'readableStream')
    checkOptions(options, 'objectMode')
    const { highWaterMark, encoding, objectMode = false, signal } = options
    const from = source(() => readable, readableStream.getReader())
    const readable = new Readable({
      objectMode, highWaterMark, encoding, signal,
      read: from.read,
      destroy: (error, callback) => settled([from.cancel(error)], error, callback),
    })
    return readable
  }

  const newWritable = (writableStream, options = {}) => {
    check(writableStream, 'WritableStream', 'writableStream')
    checkOptions(options, 'objectMode', 'decodeStrings')
    const { highWaterMark, decodeStrings = true, objectMode = false, signal } = options
    const to = sink(() => writable, writableStream.getWriter())
    const writable = new Writable({
      highWaterMark, objectMode, decodeStrings, signal,
      write: to.write,
      writev: to.writev,
      final: to.final,
      destroy: (error, callback) => settled([to.end(error)], error, callback),
    })
    return writable
  }

  const newDuplex = (pair, options = {}) => {
    validateObject(pair, 'pair')
    check(pair.readable, 'ReadableStream', 'pair.readable')
    check(pair.writable, 'WritableStream', 'pair.writable')
    checkOptions(options, 'objectMode')
    const { allowHalfOpen = false, objectMode = false, encoding, decodeStrings = true, highWaterMark, signal } = options
    const to = sink(() => duplex, pair.writable.getWriter())
    const from = source(() => duplex, pair.readable.getReader())
    const duplex = new Duplex({
      allowHalfOpen, highWaterMark, objectMode, encoding, decodeStrings, signal,
      read: from.read,
      write: to.write,
      writev: to.writev,
      final: to.final,
      destroy: (error, callback) => settled([to.end(error), from.cancel(error)], error, callback),
    })
    return duplex
  }

  return { newReadable, newWritable, newDuplex }
}
