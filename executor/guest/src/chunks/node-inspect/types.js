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
const tagGetter = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
// 'Uint8Array' and so on; undefined for what is no typed array.
export const typedTag = (value) => Reflect.apply(tagGetter, value, [])
const toString = (value) => Reflect.apply(Object.prototype.toString, value, [])

const isObject = (value) => typeof value === 'object' && value !== null

const boxed = (Box) => {
  const test = probe(Box.prototype.valueOf)
  return (value) => isObject(value) && test(value)
}

// What only the engine makes instances of; an object made by hand with one of these prototypes is taken for one.
const instanceOf = (prototype) => (value) => isObject(value) && value !== prototype &&
  Object.prototype.isPrototypeOf.call(prototype, value)
const prototypeOf = Object.getPrototypeOf
const isGenerator = instanceOf(prototypeOf(prototypeOf((function* () {})())))
const isAsyncGenerator = instanceOf(prototypeOf(prototypeOf((async function* () {})())))

// The text of a function says what kind it is where its prototype does not.
const ASYNC = /^(?:async\s+function\b|async\s*\(|async\s+[\w$]+\s*=>|(?:static\s+)?async\s+(?:\*\s*)?[\w$#["'])/
const GENERATES = /^(?:async\s+)?function\s*\*|^(?:static\s+)?(?:async\s*)?\*/
const functionKind = (value) => {
  const prototype = prototypeOf(value)
  const tag = prototype === null ? undefined : Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value
  if (tag === 'AsyncFunction' || tag === 'GeneratorFunction' || tag === 'AsyncGeneratorFunction') return tag
  if (prototype === Function.prototype) return 'Function'
  const text = Function.prototype.toString.call(value)
  return (ASYNC.test(text) ? 'Async' : '') + (GENERATES.test(text) ? 'Generator' : '') + 'Function'
}

// Proxies cannot be told from their targets; those made while this chunk is there are remembered.
const proxies = new WeakMap()
// { target, handler }, both null after revocation; undefined for what is no proxy.
export const proxyParts = (value) => (typeof value === 'function' || isObject(value) ? proxies.get(value) : undefined)

export const watchProxies = (realm) => {
  const Native = realm.global.Proxy
  const { revocable } = Native
  const watched = {
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
  }
  Object.defineProperty(Native, 'revocable', {
    value: watched.revocable, writable: true, enumerable: false, configurable: true,
  })
  realm.define('Proxy', new Native(Native, {
    construct(target, args, newTarget) {
      const proxy = Reflect.construct(target, args, newTarget)
      proxies.set(proxy, { target: args[0], handler: args[1] })
      return proxy
    },
  }))
}

const PromiseCtor = Promise
const promiseResolve = Promise.resolve
// `Promise.resolve` answers its argument if that is a promise of the very class; a derived one is known by its prototype.
const isPromise = (value) => {
  if (!isObject(value) || !(value instanceof PromiseCtor)) return false
  const constructor = Object.getOwnPropertyDescriptor(value, 'constructor') ?? prototypeOf(value).constructor
  return constructor !== PromiseCtor || Reflect.apply(promiseResolve, PromiseCtor, [value]) === value
}

const isModuleNamespace = (value) => {
  if (!isObject(value) || prototypeOf(value) !== null) return false
  const tag = Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)
  return tag !== undefined && tag.value === 'Module' && !tag.writable && !tag.configurable
}

const regExpSource = probe(getter(RegExp.prototype, 'source'))
const isArrayBuffer = probe(getter(ArrayBuffer.prototype, 'byteLength'))
const isSharedArrayBuffer = typeof SharedArrayBuffer === 'function'
  ? probe(getter(SharedArrayBuffer.prototype, 'byteLength'))
  : () => false

const isNumberObject = boxed(Number)
const isStringObject = boxed(String)
const isBooleanObject = boxed(Boolean)
const isBigIntObject = boxed(BigInt)
const isSymbolObject = boxed(Symbol)

// In the order in which upstream lists them.
export const types = {
  isCryptoKey: (value) => typeof CryptoKey === 'function' && value instanceof CryptoKey,
  isKeyObject: (value) => isObject(value) && /^(?:Secret|Public|Private)?KeyObject$/.test(value.constructor?.name) &&
    typeof value.export === 'function',
  isAsyncFunction: (value) => typeof value === 'function' && functionKind(value).startsWith('Async'),
  isGeneratorFunction: (value) => typeof value === 'function' && functionKind(value).includes('Generator'),
  isGeneratorObject: (value) => isGenerator(value) || isAsyncGenerator(value),
  isAnyArrayBuffer: (value) => isArrayBuffer(value) || isSharedArrayBuffer(value),
  isArrayBuffer,
  isArgumentsObject: (value) => isObject(value) && !(Symbol.toStringTag in value) && toString(value) === '[object Arguments]',
  isBoxedPrimitive: (value) => isNumberObject(value) || isStringObject(value) || isBooleanObject(value) ||
    isBigIntObject(value) || isSymbolObject(value),
  isDataView: probe(getter(DataView.prototype, 'buffer')),
  isMap: probe(getter(Map.prototype, 'size')),
  isMapIterator: instanceOf(prototypeOf(new Map().keys())),
  isModuleNamespaceObject: isModuleNamespace,
  isNativeError: (value) => Error.isError(value),
  isPromise,
  isProxy: (value) => proxyParts(value) !== undefined,
  isSet: probe(getter(Set.prototype, 'size')),
  isSetIterator: instanceOf(prototypeOf(new Set().keys())),
  isSharedArrayBuffer,
  isWeakMap: probe(WeakMap.prototype.has, undefined),
  isWeakSet: probe(WeakSet.prototype.has, undefined),
  isRegExp: (value) => value !== RegExp.prototype && regExpSource(value),
  isDate: probe(Date.prototype.getTime),
  isStringObject,
  isSymbolObject,
  isNumberObject,
  isBooleanObject,
  isBigIntObject,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isBigInt64Array: (value) => typedTag(value) === 'BigInt64Array',
  isBigUint64Array: (value) => typedTag(value) === 'BigUint64Array',
  isFloat16Array: (value) => typedTag(value) === 'Float16Array',
  isFloat32Array: (value) => typedTag(value) === 'Float32Array',
  isFloat64Array: (value) => typedTag(value) === 'Float64Array',
  isInt8Array: (value) => typedTag(value) === 'Int8Array',
  isInt16Array: (value) => typedTag(value) === 'Int16Array',
  isInt32Array: (value) => typedTag(value) === 'Int32Array',
  isTypedArray: (value) => typedTag(value) !== undefined,
  isUint8Array: (value) => typedTag(value) === 'Uint8Array',
  isUint8ClampedArray: (value) => typedTag(value) === 'Uint8ClampedArray',
  isUint16Array: (value) => typedTag(value) === 'Uint16Array',
  isUint32Array: (value) => typedTag(value) === 'Uint32Array',
  isExternal: () => false,
}

export const kindOfFunction = functionKind
