// What the harness needs of the realm, taken before any guest code can change it. `uncurry` turns a method into a
// function whose `this` is its first argument; the bound result never looks at a prototype again.
const bind = Function.prototype.bind
export const uncurry = bind.bind(Function.prototype.call)

export const { apply, defineProperty, getPrototypeOf, setPrototypeOf } = Reflect
export const { isArray } = Array
export const { keys: objectKeys } = Object
export const objectPrototype = Object.prototype

export const isPlainObject = (value) => {
  const prototype = getPrototypeOf(value)
  return prototype === objectPrototype || prototype === null
}

export const hasOwn = uncurry(Object.prototype.hasOwnProperty)
export const isPrototypeName = (key) => hasOwn(objectPrototype, key)

export const PromiseCtor = Promise
export const ErrorCtor = Error
export const TypeErrorCtor = TypeError
export const ProxyCtor = Proxy
export const errorClasses = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }
export const { toStringTag } = Symbol
export const StringOf = String

export const { parse: jsonParse, stringify: jsonStringify } = JSON
export const { now } = Date
export const { store: atomicStore } = Atomics
export const { isFinite: isFiniteNumber } = Number
export const { imul } = Math
export const { is } = Object
export const { isView } = ArrayBuffer
export const ArrayBufferCtor = ArrayBuffer
export const Uint8ArrayCtor = Uint8Array
export const Uint16ArrayCtor = Uint16Array

export const { fromCharCode } = String
export const charCodeAt = uncurry(String.prototype.charCodeAt)
export const stringIncludes = uncurry(String.prototype.includes)
export const stringSlice = uncurry(String.prototype.slice)
export const toWellFormed = uncurry(String.prototype.toWellFormed)
export const regExpTest = (() => {
  const exec = uncurry(RegExp.prototype.exec)
  return (pattern, text) => exec(pattern, text) !== null
})()

const mapGet = uncurry(Map.prototype.get)
const mapSet = uncurry(Map.prototype.set)
const mapDelete = uncurry(Map.prototype.delete)
const MapCtor = Map

// A map whose methods the guest cannot replace.
export const safeMap = () => {
  const map = new MapCtor()
  return {
    __proto__: null,
    get: (key) => mapGet(map, key),
    set: (key, value) => void mapSet(map, key, value),
    delete: (key) => mapDelete(map, key),
  }
}

const SetCtor = Set
const setAdd = uncurry(Set.prototype.add)
const setHas = uncurry(Set.prototype.has)

export const mapForEach = uncurry(Map.prototype.forEach)
export const setForEach = uncurry(Set.prototype.forEach)

export const safeSet = () => {
  const set = new SetCtor()
  return { __proto__: null, add: (value) => void setAdd(set, value), has: (value) => setHas(set, value) }
}

export const setBytes = uncurry(Uint8Array.prototype.set)

const WeakSetCtor = WeakSet
const weakSetAdd = uncurry(WeakSet.prototype.add)
const weakSetHas = uncurry(WeakSet.prototype.has)

export const safeWeakSet = () => {
  const set = new WeakSetCtor()
  return { __proto__: null, add: (value) => void weakSetAdd(set, value), has: (value) => weakSetHas(set, value) }
}

const getter = (object, key) => uncurry(Object.getOwnPropertyDescriptor(object, key).get)
const typedArray = Object.getPrototypeOf(Uint8Array.prototype)

// 'Uint8Array' and so on; undefined for what is no typed array (a DataView).
export const typedArrayTag = getter(typedArray, Symbol.toStringTag)

const typed = { buffer: getter(typedArray, 'buffer'), offset: getter(typedArray, 'byteOffset'), length: getter(typedArray, 'byteLength'), elements: getter(typedArray, 'length') }
const dataView = {
  buffer: getter(DataView.prototype, 'buffer'),
  offset: getter(DataView.prototype, 'byteOffset'),
  length: getter(DataView.prototype, 'byteLength'),
  elements: getter(DataView.prototype, 'byteLength'),
}
const of = (view) => (typedArrayTag(view) === undefined ? dataView : typed)
export const viewBuffer = (view) => of(view).buffer(view)
export const viewOffset = (view) => of(view).offset(view)
export const viewLength = (view) => of(view).length(view)
export const viewElements = (view) => of(view).elements(view)

const bufferLength = getter(ArrayBuffer.prototype, 'byteLength')

// undefined for what is no ArrayBuffer.
export const byteLengthOfBuffer = (value) => {
  try {
    return bufferLength(value)
  } catch {
    return undefined
  }
}

const brand = (probe) => (value) => {
  try {
    probe(value)
    return true
  } catch {
    return false
  }
}

export const isMap = brand(getter(Map.prototype, 'size'))
export const isSet = brand(getter(Set.prototype, 'size'))
export const dateValue = uncurry(Date.prototype.getTime)
export const isDate = brand(dateValue)
export const regExpSource = getter(RegExp.prototype, 'source')
export const regExpFlags = getter(RegExp.prototype, 'flags')
// `source` answers for RegExp.prototype too, which is no regular expression.
const regExpPrototype = RegExp.prototype
const hasSource = brand(regExpSource)
export const isRegExp = (value) => value !== regExpPrototype && hasSource(value)

const unboxers = [Number, String, Boolean, BigInt].map((type) => uncurry(type.prototype.valueOf))
export const unbox = (value) => {
  for (let i = 0; i < unboxers.length; i++) {
    try {
      return unboxers[i](value)
    } catch {
      continue
    }
  }
  return undefined
}

// Young parts of the language that V8 adds to a context when it hands it out: where the harness comes out of a snapshot
// (worker/snapshot.py), they are not there yet while it is evaluated.
export let fromBase64, toBase64, isError
export const takeLate = () => {
  fromBase64 = bind.call(Uint8Array.fromBase64, Uint8Array)
  toBase64 = uncurry(Uint8Array.prototype.toBase64)
  isError = Error.isError
}
