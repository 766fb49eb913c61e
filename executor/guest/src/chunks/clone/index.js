// structuredClone.
import { globalFunction } from '../shape.js'
import { SCOPE, badArgument, badField, isDictionary } from '../texts.js'
import { platformPrototypes, refusal } from './platform.js'
import { refusedPrototypes } from './refused.js'
import { wordFor } from './words.js'

const { defineProperty, getPrototypeOf } = Reflect
const objectPrototype = Object.prototype
const objectToString = Object.prototype.toString
const { isArray } = Array
const { keys: keysOf } = Object

const ERRORS = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }

const LARGEST_ELEMENT = 8

const VIEWS = {
  __proto__: null,
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array,
}

export default function install(realm) {
  const {
    byteLengthOfBuffer, dateValue, hasOwn, isDate, isError, isMap, isRegExp, isSet, isView, mapForEach, regExpFlags,
    regExpSource, setForEach, typedArrayTag, unbox, uncurry, viewBuffer, viewElements, viewLength, viewOffset,
  } = realm.primordials
  const { DOMException, isException } = realm.exports['dom-exception']

  const getterOf = (prototype, key) => uncurry(Object.getOwnPropertyDescriptor(prototype, key).get)
  const isDetached = getterOf(ArrayBuffer.prototype, 'detached')
  const isResizable = getterOf(ArrayBuffer.prototype, 'resizable')
  const maxLength = getterOf(ArrayBuffer.prototype, 'maxByteLength')
  const resize = uncurry(ArrayBuffer.prototype.resize)
  const transfer = uncurry(ArrayBuffer.prototype.transfer)
  const sharedLength = getterOf(SharedArrayBuffer.prototype, 'byteLength')
  const isShared = (value) => {
    try {
      return sharedLength(value), true
    } catch {
      return false
    }
  }

  const fail = (message) => new DOMException(message, 'DataCloneError')
  const uncloneable = (value) => fail(`${wordFor(value)} could not be cloned.`)

  let refused

  // One call's work: what has been copied already, by original.
  const createCloner = () => {
    const copies = new Map()
    let platform

    const clone = (value) => {
      if (typeof value === 'function' || typeof value === 'symbol') throw uncloneable(value)
      if (typeof value !== 'object' || value === null) return value
      const known = copies.get(value)
      return known === undefined ? cloneObject(value) : known
    }

    const remember = (value, copy) => {
      copies.set(value, copy)
      return copy
    }

    const cloneObject = (value) => {
      if (isArray(value)) return array(value)
      if (isView(value)) return view(value)
      const prototype = getPrototypeOf(value)
      const kind = objectToString.call(value)
      // What has no tag is no map, set, date or the like.
      if (kind === '[object Object]') {
        return prototype === objectPrototype || prototype === null ? fields(value) : other(value, prototype)
      }
      // Asking for a brand that is not there costs an exception: the likely one comes first.
      const likely = kinds.get(kind)
      if (likely?.is(value)) return likely.copy(value)
      for (const { is, copy } of kinds.values()) if (is(value)) return copy(value)
      return other(value, prototype)
    }

    const put = (target, key, value) => {
      if (key === '__proto__') {
        defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true })
      } else {
        target[key] = value
      }
    }

    const copyMembers = (value, copy, keys, from) => {
      for (let i = from; i < keys.length; i++) {
        const key = keys[i]
        const member = value[key]
        // A getter may have removed it.
        if (member === undefined && !hasOwn(value, key)) continue
        put(copy, key, clone(member))
      }
      return copy
    }

    const fields = (value) => copyMembers(value, remember(value, {}), keysOf(value), 0)

    const array = (value) => {
      const { length } = value
      const keys = keysOf(value)
      const copy = remember(value, [])
      copy.length = length
      const isDense = length > 0 && keys.length >= length && keys[length - 1] === `${length - 1}`
      if (!isDense) return copyMembers(value, copy, keys, 0)
      for (let i = 0; i < length; i++) {
        const item = value[i]
        if (item !== undefined || hasOwn(value, i)) copy[i] = clone(item)
      }
      return keys.length > length ? copyMembers(value, copy, keys, length) : copy
    }

    const map = (value) => {
      const copy = remember(value, new Map())
      const entries = []
      mapForEach(value, (held, key) => entries.push(key, held))
      for (let i = 0; i < entries.length; i += 2) {
        const key = clone(entries[i])
        copy.set(key, clone(entries[i + 1]))
      }
      return copy
    }

    const set = (value) => {
      const copy = remember(value, new Set())
      const items = []
      setForEach(value, (item) => items.push(item))
      for (let i = 0; i < items.length; i++) copy.add(clone(items[i]))
      return copy
    }

    const buffer = (value) => {
      if (isDetached(value)) throw fail('An ArrayBuffer is detached and could not be cloned.')
      const length = byteLengthOfBuffer(value)
      const copy = isResizable(value)
        ? new ArrayBuffer(length, { maxByteLength: maxLength(value) })
        : new ArrayBuffer(length)
      new Uint8Array(copy).set(new Uint8Array(value))
      return remember(value, copy)
    }

    const view = (value) => {
      const held = viewBuffer(value)
      const tag = typedArrayTag(value)
      const isBuffer = byteLengthOfBuffer(held) !== undefined
      if (isBuffer && isDetached(held)) throw fail('An ArrayBuffer is detached and could not be cloned.')
      const copied = isBuffer ? clone(held) : held
      let offset
      let elements
      try {
        offset = viewOffset(value)
        elements = viewElements(value)
      } catch {
        throw fail('[object Object] could not be cloned.') // a DataView that its buffer has shrunk away from
      }
      const View = tag === undefined ? DataView : VIEWS[tag]
      const isOpen = isBuffer && isResizable(held) && hasNoLength(value, held)
      return remember(value, isOpen ? new View(copied, offset) : new View(copied, offset, elements))
    }

    // Whether a view has no length of its own. Only as its buffer grows it is seen, and so is one that the buffer has
    // shrunk away from: an array shows no more of it than that it is empty.
    const hasNoLength = (value, held) => {
      const length = byteLengthOfBuffer(held)
      const offset = viewOffset(value)
      const before = viewLength(value)
      resize(held, maxLength(held))
      const isOutside = viewOffset(value) !== offset || (before === 0 && viewLength(value) > 0 && length >= LARGEST_ELEMENT)
      const isLonger = viewLength(value) !== before
      resize(held, length)
      if (isOutside) throw fail('[object Object] could not be cloned.')
      return isLonger
    }

    const error = (value) => {
      const Constructor = ERRORS[`${value.name}`] ?? Error
      const message = Object.getOwnPropertyDescriptor(value, 'message')
      const hasMessage = message !== undefined && hasOwn(message, 'value')
      const copy = hasMessage ? new Constructor(`${message.value}`) : new Constructor()
      remember(value, copy)
      const cause = Object.getOwnPropertyDescriptor(value, 'cause')
      if (cause !== undefined) define(copy, 'cause', clone(value.cause))
      const { stack } = value
      define(copy, 'stack', typeof stack === 'string' ? stack : undefined)
      return copy
    }

    const define = (target, key, held) => {
      defineProperty(target, key, { __proto__: null, value: held, writable: true, enumerable: false, configurable: true })
    }

    const exception = (value) => {
      const copy = new DOMException(value.message, value.name)
      defineProperty(copy, 'stack', { __proto__: null, value: value.stack, writable: true, enumerable: true, configurable: true })
      return remember(value, copy)
    }

    const boxed = (value) => remember(value, Object(unbox(value)))
    const isBoxed = (value) => unbox(value) !== undefined
    const regExp = (value) => remember(value, new RegExp(regExpSource(value), regExpFlags(value)))
    const kinds = new Map([
      ['[object Map]', { is: isMap, copy: map }],
      ['[object Set]', { is: isSet, copy: set }],
      ['[object Date]', { is: isDate, copy: (value) => remember(value, new Date(dateValue(value))) }],
      ['[object ArrayBuffer]', { is: (value) => byteLengthOfBuffer(value) !== undefined, copy: buffer }],
      ['[object RegExp]', { is: isRegExp, copy: regExp }],
      ['[object Error]', { is: isError, copy: error }],
      ['[object DOMException]', { is: isException, copy: exception }],
      ['[object SharedArrayBuffer]', { is: isShared, copy: (value) => value }],
      ['[object Number]', { is: isBoxed, copy: boxed }],
    ])

    const other = (value, prototype) => {
      refused ??= refusedPrototypes()
      platform ??= platformPrototypes(realm.global)
      for (let holder = prototype; holder !== null; holder = getPrototypeOf(holder)) {
        if (refused.has(holder)) throw uncloneable(value)
        const copier = realm.exports.cloners?.get(holder)
        if (copier !== undefined) return remember(value, copier(value))
        const name = platform.get(holder)
        if (name !== undefined) throw fail(refusal(name, value))
      }
      if (value === realm.global || objectToString.call(value) === '[object Arguments]') throw uncloneable(value)
      return fields(value)
    }

    return clone
  }

  const bufferOf = (item) => {
    const held = isView(item) ? viewBuffer(item) : item
    return byteLengthOfBuffer(held) === undefined ? undefined : held
  }

  const structuredClone = (...args) => {
    if (args.length === 0) throw badArgument('structuredClone', SCOPE, 1, 'JsValue')
    const [value, options] = args
    if (!isDictionary(options)) throw badArgument('structuredClone', SCOPE, 2, 'StructuredCloneOptions')
    const list = options?.transfer
    const clone = createCloner()
    if (list === undefined) return clone(value)
    if (!isArray(list)) throw badField('transfer', 'StructuredCloneOptions', 'Array')
    const moved = new Set()
    try {
      for (let i = 0; i < list.length; i++) {
        const held = bufferOf(list[i])
        if (held === undefined) throw new TypeError('Object is not transferable')
        if (!isDetached(held)) moved.add(held)
      }
      return clone(value)
    } finally {
      // What was reached has been copied, and its original has no bytes from now on: it looks moved.
      for (const held of moved) transfer(held)
    }
  }

  realm.defineEnumerable('structuredClone', globalFunction(realm.global, 'structuredClone', structuredClone))
  return { __proto__: null, structuredClone }
}
