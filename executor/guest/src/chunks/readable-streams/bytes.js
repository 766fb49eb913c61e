// Views and buffers as bytes.
export const isBuffer = (value) =>
  value instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)

export const isBufferSource = (value) => ArrayBuffer.isView(value) || isBuffer(value)

// The bytes of a view or buffer, not copied.
export const asBytes = (source) =>
  ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source)

export const copyBytes = (source) => asBytes(source).slice()

export const concatBytes = (parts) => {
  let length = 0
  for (const part of parts) length += part.length
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

// A view of the kind of `like` over part of a buffer.
export const viewLike = (like, buffer, offset, bytes) =>
  new like.constructor(buffer, offset, bytes / (like.BYTES_PER_ELEMENT ?? 1))
