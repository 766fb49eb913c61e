// Objects of the platform, whichever chunk they are of. None is copied but by what its own chunk has said of it.

const NAMES = [
  'EventTarget', 'Event', 'AbortController', 'AbortSignal', 'TextEncoder', 'TextDecoder', 'Navigator', 'URL',
  'URLSearchParams', 'URLPattern', 'Blob', 'FormData', 'Headers', 'Body', 'Request', 'Response', 'ReadableStream',
  'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest',
  'ReadableStreamDefaultController', 'ReadableByteStreamController', 'WritableStream', 'WritableStreamDefaultWriter',
  'WritableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'ByteLengthQueuingStrategy',
  'CountQueuingStrategy', 'Crypto', 'SubtleCrypto', 'CryptoKey', 'CacheStorage', 'Cache',
  'WebSocketRequestResponsePair',
]
// Classes without a name of their own among the globals, found by an instance or by what makes one.
const INSTANCES = ['performance', 'scheduler', 'Cloudflare', 'crypto', 'caches']

const OTHER_TEXTS = {
  __proto__: null,
  AbortSignal: 'AbortSignal serialization is not enabled.',
  ReadableStream: 'ReadableStream can only be serialized for RPC.',
  WritableStream: 'WritableStream can only be serialized for RPC.',
}

// A class of the program's that has taken such a name has no tag of it.
const isOurs = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag)?.value === name

// Prototypes of the platform as it is loaded, each with its name.
export const platformPrototypes = (global) => {
  const found = new Map()
  for (const name of NAMES) {
    const prototype = global[name]?.prototype
    if (typeof prototype === 'object' && prototype !== null && isOurs(prototype, name)) found.set(prototype, name)
  }
  for (const name of INSTANCES) {
    const instance = global[name]
    if (typeof instance === 'object' && instance !== null) found.set(Reflect.getPrototypeOf(instance), '')
  }
  return found
}

export const refusal = (name, value) => {
  const shown = value.constructor?.name ?? name
  return OTHER_TEXTS[name] ?? `Could not serialize object of type "${shown}". This type does not support serialization.`
}
