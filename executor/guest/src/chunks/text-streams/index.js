// TextEncoderStream and TextDecoderStream.
export default function install(realm) {
  const { native, bytes, transform, ends, createTransform } = realm.exports.streams
  const { createInterface, toDictionary, toText } = native
  const { TextDecoder, TextEncoder } = realm.global

  const begin = (steps) => {
    // One chunk is transformed before anybody reads.
    const inner = createTransform(steps, { highWaterMark: 1 }, { highWaterMark: 1 })
    inner.begin()
    return { inner, ...ends(inner.readable, inner.writable) }
  }

  const isHigh = (unit) => unit >= 0xd800 && unit < 0xdc00

  const encoder = createInterface('TextEncoderStream', {
    parent: transform,
    construct() {
      const utf8 = new TextEncoder()
      // The first half of a pair waits for the second, which may be in the next chunk.
      let half = ''
      const state = begin({
        transform(chunk) {
          const text = half + `${chunk}`
          const last = text.length - 1
          const waits = last >= 0 && isHigh(text.charCodeAt(last))
          half = waits ? text[last] : ''
          const ready = waits ? text.slice(0, last) : text
          if (ready !== '') state.inner.enqueue(utf8.encode(ready))
        },
        flush() {
          if (half !== '') state.inner.enqueue(utf8.encode(half))
        },
      })
      return state
    },
    getters: { encoding: () => 'utf-8' },
  })

  const decoder = createInterface('TextDecoderStream', {
    parent: transform,
    construct([label, given], bad) {
      const options = toDictionary(given, bad, 2, 'TextDecoderStreamInit')
      const { fatal, ignoreBOM } = options
      const text = new TextDecoder(label === undefined ? label : toText(label), { fatal, ignoreBOM })
      const give = (decoded) => {
        if (decoded !== '') state.inner.enqueue(decoded)
      }
      const state = begin({
        transform(chunk) {
          if (!bytes.isBufferSource(chunk)) {
            throw new TypeError(
              'This TransformStream is being used as a byte stream, but received a value that is not a BufferSource.',
            )
          }
          give(text.decode(chunk, { stream: true }))
        },
        flush: () => give(text.decode()),
      })
      state.text = text
      return state
    },
    getters: {
      encoding: ({ text }) => text.encoding,
      fatal: ({ text }) => text.fatal,
      ignoreBOM: ({ text }) => text.ignoreBOM,
    },
  })

  realm.define('TextEncoderStream', encoder.Class)
  realm.define('TextDecoderStream', decoder.Class)
}
