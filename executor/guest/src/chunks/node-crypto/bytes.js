// Reading what programs give as bytes.
export const createBytes = (realm) => {
  const { Buffer } = realm.exports.buffer
  const { bytesOf } = realm.exports.subtle
  const { invalidArgType } = realm.exports['node-errors']
  const { Uint8ArrayCtor, isView } = realm.primordials

  const fromText = (text, encoding) => {
    const buffer = Buffer.from(text, encoding)
    return new Uint8ArrayCtor(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  }

  const copy = (view) => new Uint8ArrayCtor(view)

  // A Buffer of its own: what the worker answers lies in a larger one.
  const toBuffer = (view) => {
    const bytes = copy(view)
    return Buffer.from(bytes.buffer, 0, bytes.byteLength)
  }

  const KINDS = ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView']
  // A string or any buffer; `encoding` is the string's.
  const readBytes = (value, name, encoding, kinds = KINDS) => {
    if (typeof value === 'string') {
      return fromText(value, encoding === undefined || encoding === 'buffer' ? 'utf8' : encoding)
    }
    const bytes = bytesOf(value)
    if (bytes === undefined) throw invalidArgType(name, kinds, value)
    return bytes
  }

  const output = (view, encoding) => {
    const buffer = toBuffer(view)
    return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding)
  }

  return { __proto__: null, copy, fromText, isView, output, readBytes, toBuffer }
}
