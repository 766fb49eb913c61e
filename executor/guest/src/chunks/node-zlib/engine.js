// The streams of zlib and Brotli in the worker.
const PIECE = 65536 // of what the worker takes at once
const NO_FLUSH = 0 // of both

export const createEngine = (realm) => {
  const { hostCall } = realm
  const EMPTY = new Uint8Array(0)

  // Opened by its first step. `params` are what the worker's operation `zlib.open` takes.
  const createHandle = (params, dictionary) => {
    let stream
    const drop = () => {
      if (stream !== undefined) hostCall('zlib.drop', { __proto__: null, stream })
      stream = undefined
    }
    const step = (bytes, flush) => {
      stream ??= hostCall('zlib.open', params, dictionary === undefined ? [] : [dictionary]).value
      const { value, bytes: output } = hostCall('zlib.step', { __proto__: null, stream, flush }, [bytes])
      return { ...value, output }
    }
    return { drop, step }
  }

  // The steps of one input: each has `output`, and the last of them `left`, the bytes behind the end of the stream, or -1
  // where it has not ended.
  function* steps(handle, bytes, flush) {
    let from = 0
    do {
      const piece = bytes.subarray(from, from + PIECE)
      from += piece.length
      const isLast = from >= bytes.length
      let input = piece
      let answer
      do {
        answer = handle.step(input, isLast ? flush : NO_FLUSH)
        input = EMPTY
        const left = answer.ended ? answer.unused + bytes.length - from : -1
        const isDone = answer.ended || (isLast && !answer.more)
        yield { output: answer.output, left, isDone }
        if (isDone) return
      } while (answer.more)
    } while (from < bytes.length)
  }

  const crc32 = (bytes, value) => {
    let result = value
    for (let from = 0; from < bytes.length; from += PIECE) {
      result = hostCall('zlib.crc32', { __proto__: null, value: result }, [bytes.subarray(from, from + PIECE)]).value
    }
    return result
  }

  return { createHandle, steps, crc32 }
}
