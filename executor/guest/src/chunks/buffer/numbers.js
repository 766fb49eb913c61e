// The numeric methods of Buffer.prototype. Bounds and ranges are checked before anything is read or written.

const scratch = new DataView(new ArrayBuffer(8))
const scratchBytes = new Uint8Array(scratch.buffer)

export const numberMethods = (errors) => {
  const { rangeError, outOfRange, validateInteger, invalidArgType } = errors
  const methods = []
  // `aliases` are the same function under other names.
  const add = (names, holder) => {
    for (const name of names) methods.push([name, holder[names[0]]])
  }

  const refuse = (value, last, name) => {
    if (Math.floor(value) !== value) throw outOfRange(name ?? 'offset', 'an integer', value)
    if (last < 0) throw rangeError('ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds')
    throw outOfRange(name ?? 'offset', '>= ' + (name === undefined ? 0 : 1) + ' and <= ' + last, value)
  }

  const checkOffset = (buffer, offset, size) => {
    validateInteger(offset, 'offset', 0, buffer.length)
    if (buffer[offset] === undefined || buffer[offset + size - 1] === undefined) refuse(offset, buffer.length - size)
  }

  const get = (buffer, offset, size, little) => {
    let value = 0
    if (little) for (let i = size - 1; i >= 0; i--) value = value * 256 + buffer[offset + i]
    else for (let i = 0; i < size; i++) value = value * 256 + buffer[offset + i]
    return value
  }
  const signed = (value, size) => (value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value)

  const put = (buffer, value, offset, size, little) => {
    for (let i = 0; i < size; i++) {
      buffer[little ? offset + i : offset + size - 1 - i] = value
      value = Math.floor(value / 256)
    }
    return offset + size
  }

  const checkValue = (value, min, max, size) => {
    if (!(value > max || value < min)) return
    const bits = 8 * size
    let range
    if (size <= 4) range = '>= ' + min + ' and <= ' + max
    else if (min === 0) range = '>= 0 and < 2 ** ' + bits
    else range = '>= -(2 ** ' + (bits - 1) + ') and < 2 ** ' + (bits - 1)
    throw outOfRange('value', range, value)
  }
  const bounds = (size, isSigned) => (isSigned
    ? [-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1]
    : [0, 2 ** (8 * size) - 1])

  // Methods are named as they are spelt first: `readUInt16LE` and `readUint16LE` are one function.
  const spellings = (name) => (/UInt/.test(name) ? [name, name.replace('UInt', 'Uint')] : [name])

  const fixed = (size, isSigned, little) => {
    const kind = (isSigned ? 'Int' : 'UInt') + 8 * size + (size === 1 ? '' : little ? 'LE' : 'BE')
    const [min, max] = bounds(size, isSigned)
    add(spellings('read' + kind), { ['read' + kind](offset = 0) {
      checkOffset(this, offset, size)
      const value = get(this, offset, size, little)
      return isSigned ? signed(value, size) : value
    } })
    return () => add(spellings('write' + kind), { ['write' + kind](value, offset = 0) {
      value = +value
      validateInteger(offset, 'offset', 0, this.length)
      checkValue(value, min, max, size)
      checkOffset(this, offset, size)
      // A whole number first: a fraction of a negative one would be carried the wrong way.
      return put(this, Math.trunc(value) || 0, offset, size, little)
    } })
  }

  const checkWidth = (width) => {
    if (width === undefined) throw outOfRange('byteLength', 'an integer', width)
    if (!(Number.isInteger(width) && width >= 1 && width <= 6)) refuse(width, 6, 'byteLength')
  }

  const sized = (isSigned, little) => {
    const kind = (isSigned ? 'Int' : 'UInt') + (little ? 'LE' : 'BE')
    add(spellings('read' + kind), { ['read' + kind](offset, byteLength) {
      if (offset === undefined) throw invalidArgType('offset', 'number', offset)
      checkWidth(byteLength)
      checkOffset(this, offset, byteLength)
      const value = get(this, offset, byteLength, little)
      return isSigned ? signed(value, byteLength) : value
    } })
    return () => add(spellings('write' + kind), { ['write' + kind](value, offset, byteLength) {
      checkWidth(byteLength)
      value = +value
      const [min, max] = bounds(byteLength, isSigned)
      validateInteger(offset, 'offset', 0, this.length)
      checkValue(value, min, max, byteLength)
      checkOffset(this, offset, byteLength)
      return put(this, Math.trunc(value) || 0, offset, byteLength, little)
    } })
  }

  const big = (isSigned, little) => {
    const kind = 'Big' + (isSigned ? 'Int' : 'UInt') + '64' + (little ? 'LE' : 'BE')
    add(spellings('read' + kind), { ['read' + kind](offset = 0) {
      offset >>>= 0
      checkOffset(this, offset, 8)
      for (let i = 0; i < 8; i++) scratchBytes[i] = this[offset + i]
      return isSigned ? scratch.getBigInt64(0, little) : scratch.getBigUint64(0, little)
    } })
    const [min, max] = isSigned ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n]
    const range = isSigned ? '>= -(2n ** 63n) and < 2 ** 63n' : '>= 0n and < 2n ** 64n'
    return () => add(spellings('write' + kind), { ['write' + kind](value, offset = 0) {
      validateInteger(offset, 'offset', 0, this.length)
      if (value > max || value < min) throw outOfRange('value', range, value)
      checkOffset(this, offset, 8)
      scratch.setBigUint64(0, value & 0xffffffffffffffffn, little)
      for (let i = 0; i < 8; i++) this[offset + i] = scratchBytes[i]
      return offset + 8
    } })
  }

  const float = (size, little) => {
    const kind = (size === 4 ? 'Float' : 'Double') + (little ? 'LE' : 'BE')
    add(['read' + kind], { ['read' + kind](offset = 0) {
      checkOffset(this, offset, size)
      for (let i = 0; i < size; i++) scratchBytes[i] = this[offset + i]
      return size === 4 ? scratch.getFloat32(0, little) : scratch.getFloat64(0, little)
    } })
    return () => add(['write' + kind], { ['write' + kind](val, offset) {
      val = +val
      if (offset === undefined) offset = 0
      checkOffset(this, offset, size)
      if (size === 4) scratch.setFloat32(0, val, little)
      else scratch.setFloat64(0, val, little)
      for (let i = 0; i < size; i++) this[offset + i] = scratchBytes[i]
      return offset + size
    } })
  }

  // All readers, then all writers: the order in which upstream's prototype lists them.
  const makers = [
    sized(false, true), sized(false, false), fixed(1, false), fixed(2, false, false), fixed(2, false, true),
    fixed(4, false, true), fixed(4, false, false), big(false, true), big(false, false),
    sized(true, true), sized(true, false), fixed(1, true), fixed(2, true, true), fixed(2, true, false),
    fixed(4, true, true), fixed(4, true, false), big(true, true), big(true, false),
    float(4, true), float(4, false), float(8, true), float(8, false),
  ]
  for (const make of makers) make()
  return methods
}
