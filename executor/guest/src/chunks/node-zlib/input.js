// What the functions of zlib take for data.
import { encode } from '../readable-streams/utf8.js'

export const createInput = () => {
  // Bytes of a string, a buffer or a view of one; undefined for anything else.
  const bytesOf = (value) => {
    if (typeof value === 'string') return encode(value)
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
  }

  const dataOf = (value, method) => {
    const bytes = bytesOf(value)
    if (bytes !== undefined) return bytes
    throw new TypeError(
      `Failed to execute '${method}' on 'ZlibUtil': parameter 1 is not of type 'string or ArrayBuffer or ArrayBufferView'.`,
    )
  }

  return { bytesOf, dataOf }
}
