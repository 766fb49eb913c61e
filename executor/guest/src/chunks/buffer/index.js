// Buffer: a Uint8Array with Node's methods.
import { bytesOfString, findEncoding, utf8 } from './encodings.js'
import { numberMethods } from './numbers.js'

const MAX_LENGTH = 2147483647
const INSPECT_BYTES = 50
const custom = Symbol.for('nodejs.util.inspect.custom')

export default function install(realm) {
  const errors = realm.exports['node-errors']
  const {
    invalidArgType, invalidArgValue, invalidArgValueRange, outOfRange, named, rangeError, typeError, validateInteger,
  } = errors

  class FastBuffer extends Uint8Array {}

  const isBytes = (value) => ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
  const isArrayBuffer = (value) => value instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)

  const encodingNamed = (name) => {
    const encoding = findEncoding(name)
    if (encoding === undefined) throw typeError('ERR_UNKNOWN_ENCODING', 'Unknown encoding: ' + name)
    return encoding
  }

  const checkSize = (size) => {
    if (typeof size !== 'number') throw invalidArgType('size', 'number', size)
    if (Number.isNaN(size)) throw invalidArgValueRange('size', size)
    if (size > MAX_LENGTH) throw outOfRange('size', '0 to ' + MAX_LENGTH, size)
  }

  const create = (size) => {
    if (size > MAX_LENGTH) throw outOfRange('size', '0 to ' + MAX_LENGTH, size)
    return new FastBuffer(size)
  }

  const wrap = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength)

  const fromString = (text, name) => {
    const encoding = typeof name === 'string' && name !== '' ? encodingNamed(name) : utf8
    return wrap(bytesOfString(text, encoding))
  }

  const fromArrayLike = (list) => {
    const length = list.length > 0 ? Math.trunc(list.length) : 0
    const made = create(length)
    for (let i = 0; i < length; i++) made[i] = list[i]
    return made
  }

  const fromArrayBuffer = (buffer, byteOffset, length) => {
    byteOffset = +byteOffset || 0
    const room = buffer.byteLength - byteOffset
    if (room < 0) throw rangeError('ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds')
    let count = room
    if (length !== undefined) {
      count = +length || 0
      if (count > room) throw rangeError('ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds')
      if (count < 0) count = 0
    }
    return new FastBuffer(buffer, byteOffset, count)
  }

  const fromObject = (value) => {
    if (value.length !== undefined || isArrayBuffer(value.buffer)) {
      return typeof value.length === 'number' ? fromArrayLike(value) : create(0)
    }
    if (value.type === 'Buffer' && Array.isArray(value.data)) return fromArrayLike(value.data)
    return undefined
  }

  const from = (value, encodingOrOffset, length) => {
    if (typeof value === 'string') return fromString(value, encodingOrOffset)
    if (typeof value === 'object' && value !== null) {
      if (isArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length)
      if (ArrayBuffer.isView(value)) return fromArrayLike(value)
      const primitive = value?.valueOf()
      if (primitive !== undefined && primitive !== null && primitive !== value &&
        (typeof primitive === 'string' || typeof primitive === 'object')) {
        return from(primitive, encodingOrOffset, length)
      }
      const made = fromObject(value)
      if (made !== undefined) return made
      const toPrimitive = value[Symbol.toPrimitive]
      if (typeof toPrimitive === 'function') {
        const text = toPrimitive('string')
        if (typeof text === 'string') return fromString(text, encodingOrOffset)
      }
    }
    throw invalidArgType('first argument', [
      'string', 'Buffer', 'TypedArray', 'ArrayBuffer', 'SharedArrayBuffer', 'Array', 'Array-like Object',
    ], value)
  }

  function Buffer(value, encodingOrOffset, length) {
    if (typeof value !== 'number') return from(value, encodingOrOffset, length)
    if (typeof encodingOrOffset === 'string') throw invalidArgType('string', 'string', value)
    checkSize(value)
    return create(value)
  }
  // The bundler may have renamed it.
  Object.defineProperty(Buffer, 'name', { value: 'Buffer', configurable: true })
  Object.setPrototypeOf(Buffer, Uint8Array)
  const prototype = FastBuffer.prototype
  Object.defineProperty(Buffer, 'prototype', { value: prototype, writable: true, enumerable: false, configurable: false })
  Object.defineProperty(prototype, 'constructor', {
    value: Buffer, writable: true, enumerable: false, configurable: true,
  })

  const zeros = (size) => {
    checkSize(size)
    return create(size)
  }

  const compareBytes = (a, b) => {
    const length = Math.min(a.length, b.length)
    for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1
    return a.length < b.length ? -1 : a.length > b.length ? 1 : 0
  }

  const fillBytes = (target, value, offset, end, encodingName) => {
    if (typeof value === 'string') {
      if (typeof offset === 'string') {
        encodingName = offset
        offset = undefined
      } else if (typeof end === 'string') {
        encodingName = end
        end = undefined
      }
    } else encodingName = undefined
    const encoding = encodingName === undefined ? utf8 : encodingNamed(encodingName)
    const position = (at, name, otherwise) => {
      if (at === undefined) return otherwise
      if (typeof at !== 'number') throw invalidArgType(name, 'number', at)
      return Math.trunc(at)
    }
    const start = position(offset, 'start', 0)
    const stop = position(end, 'end', target.length)
    if (start < 0 || start > stop && start > target.length) throw outOfRange('start', '0 to end', start)
    if (stop < 0 || stop > target.length) throw outOfRange('end', '0 to ' + target.length, stop)
    if (start >= stop) return target
    if (ArrayBuffer.isView(value) && !isBytes(value)) value = String(value)
    let pattern
    if (typeof value === 'string' && value !== '') {
      pattern = bytesOfString(value, encoding)
      if (encoding.name === 'hex' && (pattern.length === 0 || value.length % 2 === 1)) {
        throw new TypeError('The text is not valid hex')
      }
    } else if (isBytes(value)) {
      pattern = value
      if (pattern.length === 0) throw invalidArgValue('value', 'zero-length')
    } else {
      Uint8Array.prototype.fill.call(target, +value & 255, start, stop)
      return target
    }
    if (pattern.length === 0) {
      Uint8Array.prototype.fill.call(target, 0, start, stop)
      return target
    }
    const copy = pattern.slice()
    for (let i = start; i < stop; i += copy.length) {
      target.set(i + copy.length <= stop ? copy : copy.subarray(0, stop - i), i)
    }
    return target
  }

  const statics = {
    from(value, encodingOrOffset, length) { return from(value, encodingOrOffset, length) },
    of(...items) {
      const made = create(items.length)
      for (let i = 0; i < items.length; i++) made[i] = items[i]
      return made
    },
    alloc(size, fill, encoding) {
      const made = zeros(size)
      if (fill === undefined || made.length === 0) return made
      if (typeof fill === 'string' && encoding !== undefined && typeof encoding !== 'string') {
        throw invalidArgType('encoding', 'string', encoding)
      }
      return fillBytes(made, fill, encoding)
    },
    allocUnsafe(size) { return zeros(size) },
    allocUnsafeSlow: undefined, // the same function, below
    isBuffer(value) { return value instanceof Buffer },
    compare(a, b) {
      // Upstream says the type of the type; programs match on the first half of the text at most.
      if (!isBytes(a)) throw invalidArgType('a', ['Buffer', 'Uint8Array'], typeof a)
      if (!isBytes(b)) throw invalidArgType('b', ['Buffer', 'Uint8Array'], typeof b)
      return a === b ? 0 : compareBytes(a, b)
    },
    isEncoding(encoding) {
      return typeof encoding === 'string' && encoding !== '' && findEncoding(encoding) !== undefined
    },
    concat(list, length) {
      if (!Array.isArray(list)) throw invalidArgType('list', '(Buffer|Uint8Array)[]', list)
      if (length === undefined) {
        length = 0
        for (const item of list) length += item?.length > 0 ? item.length : 0
      } else validateInteger(length, 'length', 0)
      const made = create(length)
      let at = 0
      for (const item of list) {
        if (!isBytes(item)) {
          if (item?.length === undefined) throw invalidArgType('list', '(Buffer|Uint8Array)[]', item)
          const place = 'Incorrect type for array element ' + list.indexOf(item)
          throw new TypeError(place + ": the provided value is not of type 'JsUint8Array'.")
        }
        const room = length - at
        if (room <= 0) break
        made.set(item.length > room ? item.subarray(0, room) : item, at)
        at += item.length
      }
      return made
    },
    byteLength(string, encoding) {
      if (typeof string !== 'string') {
        if (ArrayBuffer.isView(string) || isArrayBuffer(string)) return string.byteLength
        throw invalidArgType('string', ['string', 'Buffer', 'ArrayBuffer'], string)
      }
      return (findEncoding(encoding) ?? utf8).size(string)
    },
  }

  statics.allocUnsafeSlow = statics.allocUnsafe

  const slice = (name, encoding) => named(name, { m(start, end) {
    validateInteger(start, 'start', 0, this.length)
    validateInteger(end, 'end', 0, this.length)
    return start < end ? encoding.slice(this, start, end) : ''
  } }.m)

  const write = (name, encoding) => named(name, { m(value, offset, length) {
    offset ??= 0
    validateInteger(offset, 'offset', 0, this.length)
    // As upstream: without a length the whole buffer is asked for, which only fits at its beginning.
    length ??= this.length
    validateInteger(length, 'length', 0, this.length - offset)
    return encoding.write(`${value}`, this, offset, length)
  } }.m)

  const needle = (value, encoding) => {
    if (typeof value === 'string') return bytesOfString(value, encoding)
    if (isBytes(value)) return value
    throw invalidArgType('value', ['number', 'string', 'Buffer', 'Uint8Array'], value)
  }

  const search = (haystack, value, byteOffset, encodingName, forward) => {
    if (typeof byteOffset === 'string') {
      encodingName = byteOffset
      byteOffset = undefined
    }
    const encoding = encodingName === undefined ? utf8 : encodingNamed(encodingName)
    const { length } = haystack
    let at = byteOffset === undefined ? NaN : +byteOffset
    if (Number.isNaN(at)) at = forward ? 0 : length
    at = Math.trunc(at)
    if (at < 0) at += length
    if (typeof value === 'number') {
      if (at < 0) {
        if (!forward) return -1
        at = 0
      }
      const byte = value & 255
      return forward
        ? Uint8Array.prototype.indexOf.call(haystack, byte, at)
        : Uint8Array.prototype.lastIndexOf.call(haystack, byte, Math.min(at, length - 1))
    }
    const wanted = needle(value, encoding)
    if (at < 0) {
      if (!forward) return -1
      at = 0
    }
    if (wanted.length === 0) return Math.min(at, length)
    // Text in two bytes a unit is found at whole units only.
    const step = encoding.name === 'utf16le' && typeof value === 'string' ? 2 : 1
    const last = step === 2 ? (length - wanted.length) & ~1 : length - wanted.length
    if (step === 2) at &= ~1
    const matches = (from) => {
      for (let i = 0; i < wanted.length; i++) if (haystack[from + i] !== wanted[i]) return false
      return true
    }
    if (forward) for (let i = at; i <= last; i += step) {
      if (step === 1) {
        i = Uint8Array.prototype.indexOf.call(haystack, wanted[0], i)
        if (i < 0 || i > last) return -1
      }
      if (matches(i)) return i
    }
    else for (let i = Math.min(at, last); i >= 0; i -= step) if (matches(i)) return i
    return -1
  }

  const swap = (size) => named('swap' + 8 * size, { m() {
    if (this.length % size !== 0) {
      throw rangeError('ERR_INVALID_BUFFER_SIZE', 'Buffer size must be a multiple of ' + 8 * size + '-bits')
    }
    for (let i = 0; i < this.length; i += size) Uint8Array.prototype.reverse.call(this.subarray(i, i + size))
    return this
  } }.m)

  const methods = {
    swap16: swap(2),
    swap32: swap(4),
    swap64: swap(8),
    toString(encoding, start, end) {
      if (arguments.length === 0) return utf8.slice(this, 0, this.length)
      let from = start === undefined || !(start > 0) ? 0 : Math.trunc(start)
      const to = end === undefined || end > this.length ? this.length : Math.trunc(end)
      if (from >= this.length || !(to > from)) return ''
      if (encoding === undefined || `${encoding}` === '') encoding = 'utf8'
      return encodingNamed(encoding).slice(this, from, to)
    },
    equals(b) {
      if (!isBytes(b)) throw invalidArgType('b', ['Buffer', 'Uint8Array'], typeof b)
      return this === b || (this.length === b.length && compareBytes(this, b) === 0)
    },
    inspect(depth, options, inspect = undefined) {
      const shown = Math.min(this.length, INSPECT_BYTES)
      let text = ''
      for (let i = 0; i < shown; i++) text += (i === 0 ? '' : ' ') + (this[i] < 16 ? '0' : '') + this[i].toString(16)
      const more = this.length - shown
      if (more > 0) text += ' ... ' + more + ' more byte' + (more > 1 ? 's' : '')
      if (inspect !== undefined) {
        const keys = Object.keys(this).filter((key) => !/^\d+$/.test(key))
        for (const key of keys) {
          const entry = inspect({ [key]: this[key] }, { ...options, breakLength: Infinity, compact: true })
          text += (text === '' ? '' : ', ') + entry.slice(2, -2)
        }
      }
      return '<' + this.constructor.name + ' ' + text + '>'
    },
    compare(target, start, end, thisStart, thisEnd) {
      if (!isBytes(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target)
      if (start === undefined) start = 0
      else validateInteger(start, 'targetStart', 0, MAX_LENGTH)
      if (end === undefined) end = target.length
      else validateInteger(end, 'targetEnd', 0, target.length)
      if (thisStart === undefined) thisStart = 0
      else validateInteger(thisStart, 'sourceStart', 0, MAX_LENGTH)
      if (thisEnd === undefined) thisEnd = this.length
      else validateInteger(thisEnd, 'sourceEnd', 0, this.length)
      if (thisStart >= thisEnd) return start >= end ? 0 : -1
      if (start >= end) return 1
      return compareBytes(
        Uint8Array.prototype.subarray.call(this, thisStart, thisEnd),
        Uint8Array.prototype.subarray.call(target, start, end),
      )
    },
    includes(value, byteOffset, encoding) { return search(this, value, byteOffset, encoding, true) !== -1 },
    indexOf(value, byteOffset, encoding) { return search(this, value, byteOffset, encoding, true) },
    lastIndexOf(value, byteOffset, encoding) { return search(this, value, byteOffset, encoding, false) },
  }
  for (const name of ['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8']) {
    methods[name + 'Slice'] = slice(name + 'Slice', findEncoding(name))
  }
  for (const name of ['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8']) {
    methods[name + 'Write'] = write(name + 'Write', findEncoding(name))
  }
  Object.assign(methods, {
    write(string, offset, length, encoding) {
      let from = 0
      let room = this.length
      if (typeof offset === 'string' && length === undefined) encoding = offset
      else if (offset !== undefined) {
        validateInteger(offset, 'offset', 0, this.length)
        from = offset
        room = this.length - from
        if (typeof length === 'string') encoding = length
        else if (length !== undefined) {
          validateInteger(length, 'length', 0, this.length)
          if (length < room) room = length
        }
      }
      const chosen = encoding === undefined ? utf8 : encodingNamed(encoding)
      return chosen.write(`${string}`, this, from, room)
    },
    toJSON() { return { type: 'Buffer', data: Array.prototype.slice.call(this) } },
    slice(start, end) {
      const bytes = Uint8Array.prototype.subarray.call(this, start, end)
      return bytes
    },
    copy(target, targetStart, sourceStart, sourceEnd) {
      if (!isBytes(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target)
      const index = (value, name, otherwise) => {
        if (value === undefined) return otherwise
        const whole = Math.trunc(+value) || 0
        if (whole < 0) throw outOfRange(name, '>= 0', whole)
        return whole
      }
      const to = index(targetStart, 'targetStart', 0)
      const from = index(sourceStart, 'sourceStart', 0)
      const end = Math.min(index(sourceEnd, 'sourceEnd', this.length), this.length)
      if (to >= target.length || from >= end) return 0
      const count = Math.min(end - from, target.length - to)
      Uint8Array.prototype.set.call(target, Uint8Array.prototype.subarray.call(this, from, from + count), to)
      return count
    },
    fill(value, offset, end, encoding) { return fillBytes(this, value, offset, end, encoding) },
  })

  // Assigned, not defined: they are to be enumerable.
  Object.defineProperty(Buffer, 'poolSize', { value: 0, writable: false, enumerable: true, configurable: true })
  Object.assign(Buffer, statics)
  for (const name of ['parent', 'offset']) {
    const key = name === 'parent' ? 'buffer' : 'byteOffset'
    Object.defineProperty(prototype, name, {
      get() { return this instanceof Buffer ? this[key] : undefined }, enumerable: true, configurable: false,
    })
  }
  for (const name of Object.keys(methods)) {
    prototype[name] = methods[name]
    if (name === 'toString') prototype.toLocaleString = methods[name]
    if (name === 'slice') for (const [other, method] of numberMethods(errors)) prototype[other] = method
  }
  Object.defineProperty(prototype, custom, {
    value: methods.inspect, writable: true, enumerable: true, configurable: true,
  })
  realm.defineEnumerable('Buffer', Buffer)
  return { Buffer, bytesOfString, findEncoding, encodingNamed, utf8, isBytes, wrap, MAX_LENGTH, INSPECT_BYTES }
}
