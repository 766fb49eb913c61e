// The walk over a value: each object becomes an empty copy at once and is filled in turn, depth first, as V8 does it, so
// that what a getter does and what is refused first are the same. It keeps its own stack: a program may nest as it likes.
import { platformPrototypes, refusal } from './platform.js'
import { refusedPrototypes } from './refused.js'
import { wordFor } from './words.js'

const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect
const objectPrototype = Object.prototype
const objectToString = Object.prototype.toString
const { isArray } = Array
const { keys: keysOf } = Object

const ERRORS = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }

const put = (target, key, value) => {
  if (key === '__proto__') {
    defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true })
  } else {
    target[key] = value
  }
}

const define = (target, key, value, enumerable = false) => {
  defineProperty(target, key, { __proto__: null, value, writable: true, enumerable, configurable: true })
}

let refused

// `fail` makes a DataCloneError.
export const createCloner = (realm, buffers, fail) => {
  const {
    dateValue, hasOwn, isDate, isError, isMap, isRegExp, isSet, isView, mapForEach, regExpFlags, regExpSource, setForEach,
    unbox,
  } = realm.primordials
  const { DOMException, isException } = realm.exports['dom-exception']

  const copies = new Map() // by original
  const unfilled = [] // the last one is being filled: { fill, at, … }
  let platform

  const uncloneable = (value) => fail(`${wordFor(value)} could not be cloned.`)

  const shell = (value) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw uncloneable(value)
    if (typeof value !== 'object' || value === null) return value
    return copies.get(value) ?? shellOf(value)
  }

  const remember = (value, copy) => {
    copies.set(value, copy)
    return copy
  }

  // Fills until something that was met has to be filled first.
  const fillMembers = (frame) => {
    const { value, copy, keys } = frame
    const depth = unfilled.length
    while (frame.at < keys.length) {
      const key = keys[frame.at++]
      const member = value[key]
      // A getter may have removed it.
      if (member === undefined && !hasOwn(value, key)) continue
      put(copy, key, shell(member))
      if (unfilled.length > depth) return
    }
    unfilled.pop()
  }

  const fillElements = (frame) => {
    const { value, copy, length } = frame
    const depth = unfilled.length
    while (frame.at < length) {
      const index = frame.at++
      const item = value[index]
      if (item === undefined && !hasOwn(value, index)) continue
      copy[index] = shell(item)
      if (unfilled.length > depth) return
    }
    frame.fill = fillMembers // the named ones are behind the elements
  }

  const fillMap = (frame) => {
    const { copy, items } = frame
    const depth = unfilled.length
    while (frame.at < items.length) {
      const item = shell(items[frame.at++])
      if (frame.at % 2 === 1) frame.key = item
      else copy.set(frame.key, item)
      if (unfilled.length > depth) return
    }
    unfilled.pop()
  }

  const fillSet = (frame) => {
    const { copy, items } = frame
    const depth = unfilled.length
    while (frame.at < items.length) {
      copy.add(shell(items[frame.at++]))
      if (unfilled.length > depth) return
    }
    unfilled.pop()
  }

  const object = (value) => {
    const copy = remember(value, {})
    unfilled.push({ __proto__: null, fill: fillMembers, at: 0, value, copy, keys: keysOf(value) })
    return copy
  }

  const array = (value) => {
    const { length } = value
    const keys = keysOf(value)
    const copy = remember(value, [])
    copy.length = length
    const isDense = length > 0 && keys.length >= length && keys[length - 1] === `${length - 1}`
    const fill = isDense ? fillElements : fillMembers
    unfilled.push({ __proto__: null, fill, at: 0, value, copy, keys, length })
    return copy
  }

  const map = (value) => {
    const copy = remember(value, new Map())
    const items = []
    mapForEach(value, (held, key) => items.push(key, held))
    unfilled.push({ __proto__: null, fill: fillMap, at: 0, copy, items, key: undefined })
    return copy
  }

  const set = (value) => {
    const copy = remember(value, new Set())
    const items = []
    setForEach(value, (item) => items.push(item))
    unfilled.push({ __proto__: null, fill: fillSet, at: 0, copy, items })
    return copy
  }

  const buffer = (value) => remember(value, buffers.copyBuffer(value))
  const bufferCopy = (held) => copies.get(held) ?? buffer(held)
  const view = (value) => remember(value, buffers.copyView(value, bufferCopy))

  const error = (value) => {
    const Constructor = ERRORS[`${value.name}`] ?? Error
    const message = getOwnPropertyDescriptor(value, 'message')
    const hasMessage = message !== undefined && hasOwn(message, 'value')
    const copy = remember(value, hasMessage ? new Constructor(`${message.value}`) : new Constructor())
    if (hasOwn(value, 'cause')) define(copy, 'cause', shell(value.cause))
    const { stack } = value
    define(copy, 'stack', typeof stack === 'string' ? stack : undefined)
    return copy
  }

  const exception = (value) => {
    const copy = remember(value, new DOMException(value.message, value.name))
    define(copy, 'stack', value.stack, true)
    return copy
  }

  const regExp = (value) => remember(value, new RegExp(regExpSource(value), regExpFlags(value)))
  const date = (value) => remember(value, new Date(dateValue(value)))
  const boxed = (value) => remember(value, Object(unbox(value)))

  const kinds = new Map([
    ['[object Map]', { is: isMap, copy: map }],
    ['[object Set]', { is: isSet, copy: set }],
    ['[object Date]', { is: isDate, copy: date }],
    ['[object ArrayBuffer]', { is: buffers.isBuffer, copy: buffer }],
    ['[object RegExp]', { is: isRegExp, copy: regExp }],
    ['[object Error]', { is: isError, copy: error }],
    ['[object DOMException]', { is: isException, copy: exception }],
    ['[object SharedArrayBuffer]', { is: buffers.isShared, copy: (value) => value }],
    ['[object Number]', { is: (value) => unbox(value) !== undefined, copy: boxed }],
  ])

  const shellOf = (value) => {
    if (isArray(value)) return array(value)
    if (isView(value)) return view(value)
    const prototype = getPrototypeOf(value)
    const kind = objectToString.call(value)
    // What has no tag is no map, set, date or the like.
    if (kind === '[object Object]') {
      return prototype === objectPrototype || prototype === null ? object(value) : other(value, prototype)
    }
    // Asking for a brand that is not there costs an exception: the likely one comes first.
    const likely = kinds.get(kind)
    if (likely?.is(value)) return likely.copy(value)
    for (const { is, copy } of kinds.values()) if (is(value)) return copy(value)
    return other(value, prototype)
  }

  const other = (value, prototype) => {
    refused ??= refusedPrototypes()
    platform ??= platformPrototypes(realm.global, realm.exports.native?.native.madePrototypes)
    for (let holder = prototype; holder !== null; holder = getPrototypeOf(holder)) {
      if (refused.has(holder)) throw uncloneable(value)
      const copier = realm.exports.cloners?.get(holder)
      if (copier !== undefined) return remember(value, copier(value))
      const name = platform.get(holder)
      if (name !== undefined) throw fail(refusal(name, value))
    }
    if (value === realm.global || objectToString.call(value) === '[object Arguments]') throw uncloneable(value)
    return object(value)
  }

  return (root) => {
    const copy = shell(root)
    while (unfilled.length > 0) {
      const frame = unfilled[unfilled.length - 1]
      frame.fill(frame)
    }
    return copy
  }
}
