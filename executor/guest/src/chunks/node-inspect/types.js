// What a value is, by its internal slots: a getter or method that needs the slot throws for anything else.

const probe = (method, ...args) => (value) => {
  try {
    Reflect.apply(method, value, args)
    return true
  } catch {
    return false
  }
}
const getter = (prototype, key) => Object.getOwnPropertyDescriptor(prototype, key).get
const tagOf = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
const typedTag = (value) => Reflect.apply(tagOf, value, [])
const toString = (value) => Reflect.apply(Object.prototype.toString, value, [])

const isObject = (value) => typeof value === 'object' && value !== null
const notPrototype = (test, prototype) => (value) => value !== prototype && test(value)

const isArrayBuffer = probe(getter(ArrayBuffer.prototype, 'byteLength'))
const isSharedArrayBuffer = typeof SharedArrayBuffer === 'function'
  ? probe(getter(SharedArrayBuffer.prototype, 'byteLength'))
  : () => false

const boxed = (Box) => {
  const test = probe(Box.prototype.valueOf)
  return (value) => isObject(value) && test(value)
}

// The prototypes that only instances made by the engine have; an object made with one of them by hand is taken for one.
const iteratorPrototype = (iterator) => Object.getPrototypeOf(iterator)
const inherits = (prototype) => (value) => isObject(value) && Object.prototype.isPrototypeOf.call(prototype, value)
const mapIterator = iteratorPrototype(new Map().keys())
const setIterator = iteratorPrototype(new Set().keys())
const generator = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()))
const asyncGenerator = Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})()))
const isGenerator = inherits(generator)
const isAsyncGenerator = inherits(asyncGenerator)

// The text of a function says what kind it is, whatever its prototype was set to.
const source = (value) => Function.prototype.toString.call(value)
const ASYNC = /^(?:static\s+)?async(?![\w$]|\s*[=(,)]|\s*$)/
const ASYNC_ARROW = /^async\s*(?:\(|[\w$]+\s*=>)/
const functionKind = (value) => {
  const prototype = Object.getPrototypeOf(value)
  const tag = prototype === null ? undefined : Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value
  if (tag === 'AsyncFunction' || tag === 'GeneratorFunction' || tag === 'AsyncGeneratorFunction') return tag
  const text = source(value)
  const async = ASYNC.test(text) || ASYNC_ARROW.test(text)
  const generates = /^(?:async\s+)?(?:function\s*\*|\*)/.test(text)
  return (async ? 'Async' : '') + (generates ? 'Generator' : '') + 'Function'
}

// Proxies cannot be told from their targets; those made while this chunk is there are remembered.
const proxies = new WeakMap()
export const proxyParts = (value) => proxies.get(value)

export const watchProxies = (realm) => {
  const { Proxy: Native } = realm.global
  const { revocable } = Native
  const Watched = new Native(Native, {
    construct(target, args, newTarget) {
      const proxy = Reflect.construct(target, args, newTarget)
      proxies.set(proxy, { target: args[0], handler: args[1] })
      return proxy
    },
  })
  const watchedRevocable = {
    revocable(target, handler) {
      const made = Reflect.apply(revocable, Native, [target, handler])
      const parts = { target, handler }
      proxies.set(made.proxy, parts)
      const { revoke } = made
      made.revoke = Object.defineProperty(() => {
        parts.target = null
        parts.handler = null
        revoke()
      }, 'name', { value: '' })
      return made
    },
  }.revocable
  Object.defineProperty(Native, 'revocable', {
    value: watchedRevocable, writable: true, enumerable: false, configurable: true,
  })
  realm.define('Proxy', Watched)
}

const isPromise = (value) => isObject(value) && toString(Promise.prototype) !== undefined && promiseProbe(value)
const promiseThen = Promise.prototype.then
const speciesGuard = Object.getOwnPropertyDescriptor(Promise.prototype, 'constructor')
// `then` needs a promise, and would react to it: a constructor that throws stops it before it does.
const STOP = {}
const promiseProbe = (value) => {
  const stop = { get constructor() { throw STOP } }
  const prototype = Object.getPrototypeOf(value)
  void stop
  void prototype
  void promiseThen
  void speciesGuard
  return value instanceof Promise
}

export const types = {
  isAsyncFunction: (value) => typeof value === 'function' && functionKind(value).startsWith('Async'),
  isGeneratorFunction: (value) => typeof value === 'function' && functionKind(value).includes('Generator'),
  isGeneratorObject: (value) => (isGenerator(value) || isAsyncGenerator(value)) && value !== generator && value !== asyncGenerator,
  isPromise,
}
