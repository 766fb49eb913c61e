// `crypto` without its larger part: randomness. `crypto.subtle` is the chunk "subtle", which puts itself in here.
import { publish } from '../shape.js'
import { badArgument, illegalInvocation } from '../texts.js'

const OWNER = 'Crypto'
const QUOTA = 65536
const INTEGERS = {
  __proto__: null,
  Int8Array: true, Uint8Array: true, Uint8ClampedArray: true, Int16Array: true, Uint16Array: true, Int32Array: true,
  Uint32Array: true, BigInt64Array: true, BigUint64Array: true,
}

export default function install(realm) {
  const { DOMException } = realm.exports['dom-exception']
  const { Uint8ArrayCtor, byteLengthOfBuffer, isView, typedArrayTag, viewBuffer, viewLength, viewOffset } =
    realm.primordials
  const late = { __proto__: null, subtle: undefined }

  const fill = (view) => {
    if (!isView(view) && byteLengthOfBuffer(view) === undefined && !isShared(view)) {
      throw badArgument('getRandomValues', OWNER, 1, 'BufferSource')
    }
    if (!isView(view) || INTEGERS[typedArrayTag(view)] !== true) {
      throw new DOMException(
        'ArrayBufferView argument to getRandomValues() must be an integer-typed view.', 'TypeMismatchError',
      )
    }
    const length = viewLength(view)
    if (length > QUOTA) {
      throw new DOMException(
        `getRandomValues() only accepts buffers of size <= 64K but provided ${length} bytes.`, 'QuotaExceededError',
      )
    }
    if (length > 0) realm.randomFill(new Uint8ArrayCtor(viewBuffer(view), viewOffset(view), length))
    return view
  }

  // One call into the worker is enough for this many identifiers.
  const pool = new Uint8ArrayCtor(1024)
  let used = pool.length
  const hex = []
  for (let i = 0; i < 256; i++) hex[i] = (i < 16 ? '0' : '') + i.toString(16)

  const uuid = () => {
    if (used === pool.length) {
      realm.randomFill(pool)
      used = 0
    }
    let text = ''
    for (let i = 0; i < 16; i++) {
      let byte = pool[used]
      pool[used++] = 0
      if (i === 6) byte = (byte & 0x0f) | 0x40
      else if (i === 8) byte = (byte & 0x3f) | 0x80
      text += hex[byte]
      if (i === 3 || i === 5 || i === 7 || i === 9) text += '-'
    }
    return text
  }

  let isCrypto

  class CryptoInner {
    #brand

    get subtle() {
      if (!isCrypto(this)) throw illegalInvocation()
      return late.subtle
    }

    getRandomValues(view) {
      if (!isCrypto(this)) throw illegalInvocation()
      return fill(view)
    }

    randomUUID() {
      if (!isCrypto(this)) throw illegalInvocation()
      return uuid()
    }

    static {
      isCrypto = (value) => typeof value === 'object' && value !== null && #brand in value
    }
  }

  const crypto = new CryptoInner()
  realm.define('Crypto', publish(CryptoInner, 'Crypto', { constructible: false }))
  realm.defineEnumerable('crypto', crypto)
  return { __proto__: null, crypto, fill, late, prototype: CryptoInner.prototype, uuid }
}

const isShared = (value) => {
  try {
    sharedLength(value)
    return true
  } catch {
    return false
  }
}
const sharedLength = Function.prototype.call.bind(
  Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength').get,
)
