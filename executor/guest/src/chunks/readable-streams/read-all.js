// Everything that a stream gives, as bytes. The stream stays locked.
import { asBytes, concatBytes, isBufferSource } from './bytes.js'
import { Reader } from './readable.js'

export const readAll = async (stream) => {
  const reader = new Reader(stream)
  const parts = []
  for (;;) {
    const chunk = await new Promise((chunk, error) => {
      reader.read({ chunk: (value) => chunk({ value }), close: () => chunk(undefined), error })
    })
    if (chunk === undefined) return parts.length === 1 ? parts[0] : concatBytes(parts)
    if (!isBufferSource(chunk.value)) {
      const error = new TypeError('This ReadableStream did not return bytes.')
      stream.cancel(error).then(undefined, () => undefined)
      throw error
    }
    parts.push(asBytes(chunk.value))
  }
}
