// Copies of buffers, and of the views on them.
const LARGEST_ELEMENT = 8

const VIEWS = {
  __proto__: null,
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array,
}

// `fail` makes a DataCloneError.
export const createBuffers = (primordials, fail) => {
  const {
    byteLengthOfBuffer, isView, typedArrayTag, uncurry, viewBuffer, viewElements, viewLength, viewOffset,
  } = primordials
  const getterOf = (prototype, key) => uncurry(Object.getOwnPropertyDescriptor(prototype, key).get)
  const isDetached = getterOf(ArrayBuffer.prototype, 'detached')
  const isResizable = getterOf(ArrayBuffer.prototype, 'resizable')
  const maxLength = getterOf(ArrayBuffer.prototype, 'maxByteLength')
  const resize = uncurry(ArrayBuffer.prototype.resize)
  const transfer = uncurry(ArrayBuffer.prototype.transfer)
  const sharedLength = getterOf(SharedArrayBuffer.prototype, 'byteLength')

  const isBuffer = (value) => byteLengthOfBuffer(value) !== undefined

  const copyBuffer = (value) => {
    if (isDetached(value)) throw fail('An ArrayBuffer is detached and could not be cloned.')
    const length = byteLengthOfBuffer(value)
    const copy = isResizable(value)
      ? new ArrayBuffer(length, { maxByteLength: maxLength(value) })
      : new ArrayBuffer(length)
    new Uint8Array(copy).set(new Uint8Array(value))
    return copy
  }

  // Whether a view has no length of its own. Only as its buffer grows it is seen, and so is one that the buffer has shrunk
  // away from: an array shows no more of it than that it is empty.
  const hasNoLength = (view, held) => {
    const length = byteLengthOfBuffer(held)
    const offset = viewOffset(view)
    const before = viewLength(view)
    resize(held, maxLength(held))
    const isOutside = viewOffset(view) !== offset || (before === 0 && viewLength(view) > 0 && length >= LARGEST_ELEMENT)
    const isLonger = viewLength(view) !== before
    resize(held, length)
    if (isOutside) throw fail('[object Object] could not be cloned.')
    return isLonger
  }

  // `copyOf` answers the copy of the buffer.
  const copyView = (view, copyOf) => {
    const held = viewBuffer(view)
    const isOwn = isBuffer(held) // and not shared
    if (isOwn && isDetached(held)) throw fail('An ArrayBuffer is detached and could not be cloned.')
    const copied = isOwn ? copyOf(held) : held
    let offset
    let elements
    try {
      offset = viewOffset(view)
      elements = viewElements(view)
    } catch {
      throw fail('[object Object] could not be cloned.') // a DataView that its buffer has shrunk away from
    }
    const tag = typedArrayTag(view)
    const View = tag === undefined ? DataView : VIEWS[tag]
    const isOpen = isOwn && isResizable(held) && hasNoLength(view, held)
    return isOpen ? new View(copied, offset) : new View(copied, offset, elements)
  }

  return {
    __proto__: null,
    isBuffer,
    isShared: (value) => {
      try {
        return sharedLength(value), true
      } catch {
        return false
      }
    },
    copyBuffer,
    copyView,
    // The buffer that a member of a list of transfers stands for.
    bufferOf: (item) => {
      const held = isView(item) ? viewBuffer(item) : item
      return isBuffer(held) && !isDetached(held) ? held : undefined
    },
    isTransferable: (item) => isBuffer(isView(item) ? viewBuffer(item) : item),
    detach: (held) => void transfer(held),
  }
}
