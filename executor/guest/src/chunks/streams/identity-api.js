// IdentityTransformStream and FixedLengthStream: bytes that go through as they are.
const TOO_MANY = 'Attempt to write too many bytes through a FixedLengthStream.'
const TOO_FEW = 'FixedLengthStream did not see all expected bytes before close().'

export const createIdentityClasses = ({ native }, { stream, ends }, createByteTransform) => {
  const { createInterface, toDictionary, toUnsigned } = native

  const strategyOf = (given, bad, index) => {
    const { highWaterMark } = toDictionary(given, bad, index, 'QueuingStrategy')
    return { highWaterMark: highWaterMark === undefined ? undefined : toUnsigned(highWaterMark) }
  }

  const identity = createInterface('IdentityTransformStream', {
    parent: stream,
    construct([strategy], bad) {
      const steps = { write: (bytes, push) => push(bytes), close: () => undefined }
      const { readable, writable } = createByteTransform(steps, strategyOf(strategy, bad, 1))
      return ends(readable, writable)
    },
  })

  const fixed = createInterface('FixedLengthStream', {
    parent: identity,
    required: { constructor: ['bigint'] },
    construct([length, strategy], bad) {
      let left = toUnsigned(length)
      // Who writes is not told: the reader is.
      const steps = {
        async write(bytes, push) {
          if (bytes.length > left) return made.fail(new TypeError(TOO_MANY))
          left -= bytes.length
          await push(bytes)
        },
        close() {
          if (left > 0) made.fail(new TypeError(TOO_FEW))
        },
      }
      const made = createByteTransform(steps, strategyOf(strategy, bad, 2))
      return ends(made.readable, made.writable)
    },
  })

  return [identity, fixed]
}
