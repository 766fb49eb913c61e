// From a stream of bytes through a rewriter into another one. It begins at once, and waits for a reader with what it has
// to write.
import { createDeferred } from '../readable-streams/deferred.js'

const NO_BYTES = 'This ReadableStream did not return bytes.'

const toError = (reason) => (Error.isError(reason) ? reason : new Error(`${reason}`))

export const createOutput = (realm) => {
  const { bytes, ByteController, Readable, Reader } = realm.exports['readable-streams']
  const { asBytes, isBufferSource } = bytes

  const readChunk = (reader) =>
    new Promise((chunk, error) => {
      reader.read({ chunk: (value) => chunk({ value }), close: () => chunk(undefined), error })
    })

  // `content`: what the whole source will be, if that is known.
  return (source, content, rewriter) => {
    const reader = new Reader(source)
    const output = new Readable()
    let wanted = createDeferred()

    const push = async (piece) => {
      if (piece.length === 0) return
      await wanted.promise
      if (output.state !== 'readable') return
      wanted = createDeferred()
      output.controller.push(piece)
    }

    const pump = async () => {
      if (content !== undefined) {
        source.cancel(undefined)
        await push(await rewriter.write(content()))
      }
      while (content === undefined) {
        const chunk = await readChunk(reader)
        if (chunk === undefined) break
        if (!isBufferSource(chunk.value)) throw new TypeError(NO_BYTES)
        await push(await rewriter.write(asBytes(chunk.value)))
        if (output.state !== 'readable') return
      }
      await push(await rewriter.end())
      if (output.state === 'readable') output.controller.close()
    }

    const run = async () => {
      try {
        await pump()
      } catch (error) {
        const reason = toError(error)
        if (output.state === 'readable') output.controller.error(reason)
        source.cancel(reason).then(undefined, () => {})
      }
    }

    new ByteController(
      output,
      {
        pull: () => wanted.resolve(undefined),
        cancel(reason) {
          wanted.resolve(undefined)
          source.cancel(reason).then(undefined, () => {})
        },
      },
      { highWaterMark: 0, internal: true },
    ).begin()
    run()
    return output
  }
}
