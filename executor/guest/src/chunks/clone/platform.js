// Objects of the platform, whichever chunk they are of. None is copied but by what its own chunk has said of it.

const NAMES = [
  'EventTarget', 'Event', 'AbortController', 'AbortSignal', 'TextEncoder', 'TextDecoder', 'Navigator', 'URL',
  'URLSearchParams', 'URLPattern', 'Blob', 'FormData', 'Headers', 'Body', 'Request', 'Response', 'ReadableStream',
  'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest',
  'ReadableStreamDefaultController', 'ReadableByteStreamController', 'WritableStream', 'WritableStreamDefaultWriter',
  'WritableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'ByteLengthQueuingStrategy',
  'CountQueuingStrategy', 'Crypto', 'SubtleCrypto', 'CryptoKey', 'CacheStorage', 'Cache',
  'WebSocketPair', 'WebSocketRequestResponsePair',
]
// Classes without a name of their own among the globals, found by an instance or by what makes one.
const INSTANCES = ['performance', 'scheduler', 'Cloudflare', 'crypto', 'caches']

// Of URLSearchParams, which are of no class that can be found otherwise.
const ITERATORS = { __proto__: null, entries: 'EntryIterator', keys: 'KeyIterator', values: 'ValueIterator' }

const OTHER_TEXTS = {
  __proto__: null,
  AbortSignal: 'AbortSignal serialization is not enabled.',
  ReadableStream: 'ReadableStream can only be serialized for RPC.',
  WritableStream: 'WritableStream can only be serialized for RPC.',
}

// A class of the program's that has taken such a name has no tag of it.
const isOurs = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value === name

// Prototypes of the platform as it is loaded, each with its name. `made` are those of classes that have no global, with
// the others of their kind.
export const platformPrototypes = (global, made) => {
  const found = new Map(made)
  for (const name of NAMES) {
    const prototype = global[name]?.prototype
    if (typeof prototype === 'object' && prototype !== null && isOurs(prototype, name)) found.set(prototype, name)
  }
  for (const name of INSTANCES) {
    const instance = global[name]
    if (typeof instance === 'object' && instance !== null) found.set(Reflect.getPrototypeOf(instance), '')
  }
  const params = global.URLSearchParams?.prototype
  if (!found.has(params)) return found
  for (const key in ITERATORS) {
    const iterator = Reflect.getPrototypeOf(new global.URLSearchParams()[key]())
    if (isOurs(iterator, ITERATORS[key])) found.set(iterator, ITERATORS[key])
  }
  return found
}

export const refusal = (name, value) => {
  const shown = value.constructor?.name ?? name
  return OTHER_TEXTS[name] ?? `Could not serialize object of type "${shown}". This type does not support serialization.`
}
