// CompressionStream and DecompressionStream. zlib is in the worker; here are its streams.
const FORMATS = ['deflate', 'deflate-raw', 'gzip']
// What the worker takes at once.
const PIECE = 65536

export default function install(realm) {
  const { native, transform, ends, createByteTransform } = realm.exports.streams
  const { hostCall } = realm

  const ask = (operation, params, buffers) => {
    try {
      return hostCall(`compression.${operation}`, params, buffers)
    } catch (error) {
      throw error.hostName === 'TypeError' ? new TypeError(error.message) : error
    }
  }

  const createSteps = (compress, format) => {
    let stream
    const open = () => (stream ??= ask('open', { compress, format }).value)
    const step = (bytes, push) => {
      let input = [bytes]
      let more
      do {
        const answer = ask('step', { stream: open() }, input)
        push(answer.bytes)
        more = answer.value
        input = []
      } while (more)
    }
    return {
      write(bytes, push) {
        for (let from = 0; from < bytes.length; from += PIECE) step(bytes.subarray(from, from + PIECE), push)
      },
      close(push) {
        const { bytes } = ask('finish', { stream: open() })
        stream = undefined
        push(bytes)
      },
      end() {
        if (stream !== undefined) ask('drop', { stream })
        stream = undefined
      },
    }
  }

  const create = (name, compress) =>
    native.createInterface(name, {
      parent: transform,
      required: { constructor: ['string'] },
      construct([given]) {
        const format = `${given}`
        if (!FORMATS.includes(format)) {
          throw new TypeError("The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.")
        }
        const { readable, writable } = createByteTransform(createSteps(compress, format), { buffers: true })
        return ends(readable, writable)
      },
    })

  realm.define('CompressionStream', create('CompressionStream', true).Class)
  realm.define('DecompressionStream', create('DecompressionStream', false).Class)
}
