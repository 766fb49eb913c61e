// Calls into the worker that are answered before they return. Request and answer are streams of bytes, in as many pieces as
// they need:
//
//   [units of text: u32][bytes after it: u32] text in UTF-16, bytes
//
// An empty request asks for the next piece of the answer.
import {
  ArrayBufferCtor, ErrorCtor, Uint8ArrayCtor, Uint16ArrayCtor, charCodeAt, fromCharCode, setBytes, viewBuffer, viewLength,
  viewOffset,
} from '../../harness/primordials.js'

const OFFSET = 4 // of the region in the shared buffer
const PIECE = 16384
const PREFIX = 8

export const createHostCall = ({ region: buffer, exchange }) => {
  const piece = new Uint8ArrayCtor(buffer, OFFSET, PIECE)
  const prefix = new Uint32Array(2)
  const prefixBytes = new Uint8ArrayCtor(prefix.buffer)

  return (text, parts) => {
    let room = 0
    let answered = -1
    const put = (view) => {
      const source = viewBuffer(view)
      const start = viewOffset(view)
      const length = viewLength(view)
      let from = 0
      while (from < length && answered < 0) {
        const count = length - from < PIECE - room ? length - from : PIECE - room
        setBytes(piece, new Uint8ArrayCtor(source, start + from, count), room)
        from += count
        room += count
        if (room === PIECE) {
          answered = exchange(room)
          room = 0
        }
      }
    }
    const count = text.length
    const encoded = new Uint16ArrayCtor(count)
    for (let i = 0; i < count; i++) encoded[i] = charCodeAt(text, i)
    prefix[0] = count
    prefix[1] = 0
    for (let i = 0; i < parts.length; i++) prefix[1] += viewLength(parts[i])
    put(prefixBytes)
    put(encoded)
    for (let i = 0; i < parts.length; i++) put(parts[i])
    if (answered < 0) answered = exchange(room)
    if (answered < PREFIX) throw new ErrorCtor('the worker did not answer')
    setBytes(prefixBytes, new Uint8ArrayCtor(buffer, OFFSET, PREFIX), 0)
    const chars = prefix[0]
    const size = 2 * chars + prefix[1]
    const answer = new ArrayBufferCtor(size)
    let at = 0
    for (let skip = PREFIX; ; skip = 0) {
      setBytes(new Uint8ArrayCtor(answer, at), new Uint8ArrayCtor(buffer, OFFSET + skip, answered - skip), 0)
      at += answered - skip
      if (at === size) break
      answered = exchange(0)
      if (answered < 1) throw new ErrorCtor('the worker did not answer')
    }
    const answerUnits = new Uint16ArrayCtor(answer, 0, chars)
    let answerText = ''
    for (let i = 0; i < chars; i++) answerText += fromCharCode(answerUnits[i])
    return { __proto__: null, text: answerText, bytes: new Uint8ArrayCtor(answer, 2 * chars) }
  }
}
