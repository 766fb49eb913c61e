// The tool boundary's codec: JSON, with upstream's tagged base64 for bytes. Data that merely looks like a tag is wrapped
// in one more, so that it comes out as it went in; upstream's own codec passes that wrapping through untouched.
import {
  Uint8ArrayCtor, defineProperty, byteLengthOfBuffer, fromBase64, hasOwn, isArray, isView, jsonParse, jsonStringify,
  isPlainObject, objectKeys, safeSet, stringIncludes, toBase64, typedArrayTag, viewBuffer, viewLength, viewOffset,
} from './primordials.js'

const TAG = '__codemode_binary_v1__'

const tagged = (type, bytes) => ({ __proto__: null, [TAG]: type, data: toBase64(bytes) })

const encodeBinary = (value) => {
  if (isArray(value) || isPlainObject(value)) return undefined // asking for the brand costs an exception each
  if (isView(value)) {
    const bytes = new Uint8ArrayCtor(viewBuffer(value), viewOffset(value), viewLength(value))
    return tagged(typedArrayTag(value) === 'Uint8Array' ? 'Uint8Array' : 'ArrayBufferView', bytes)
  }
  return byteLengthOfBuffer(value) === undefined ? undefined : tagged('ArrayBuffer', new Uint8ArrayCtor(value))
}

// JSON text of a list of arguments. Throws what JSON.stringify throws.
export const encodeArguments = (args) => {
  let wrappers // what was put in the place of a value is visited too, and must not be taken for the program's
  const wrap = (wrapper) => {
    wrappers ??= safeSet()
    wrappers.add(wrapper)
    return wrapper
  }
  // What a program may have put on Array.prototype is not for the list of arguments itself.
  defineProperty(args, 'toJSON', { __proto__: null, value: undefined })
  return jsonStringify(args, function (key, value) {
    if (typeof value !== 'object' || value === null) {
      // A toJSON method (Buffer has one) runs before this; the bytes are still in the holder.
      const original = this[key]
      return isView(original) ? encodeBinary(original) : value
    }
    const original = this[key]
    const binary = encodeBinary(isView(original) ? original : value)
    if (binary !== undefined) return wrap(binary)
    if (!hasOwn(value, TAG) || wrappers?.has(value) || wrappers?.has(this)) return value
    return wrap({ __proto__: null, [TAG]: 'escaped', value })
  })
}

const decodeBinary = (type, data) => {
  const bytes = fromBase64(data)
  return type === 'ArrayBuffer' ? viewBuffer(bytes) : bytes
}

// `this.env` as clone text, which only a chunk can read: see cloned-env.js.
export const isClonedEnv = (env) => hasOwn(env, TAG) && env[TAG] === 'clone'

// Makes the functions of `this.env`; nothing else may hold any.
let makeFunction

const revive = (value) => {
  if (typeof value !== 'object' || value === null) return value
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = revive(value[i])
    return value
  }
  if (hasOwn(value, TAG)) {
    const type = value[TAG]
    if (type === 'escaped' && hasOwn(value, 'value')) {
      const inner = value.value
      return typeof inner === 'object' && inner !== null && !isArray(inner) ? reviveMembers(inner) : revive(inner)
    }
    if (hasOwn(value, 'data') && typeof value.data === 'string') {
      return type === 'function' && makeFunction !== undefined ? makeFunction(value.data) : decodeBinary(type, value.data)
    }
  }
  return reviveMembers(value)
}

const reviveMembers = (value) => {
  const keys = objectKeys(value)
  for (let i = 0; i < keys.length; i++) {
    const revived = revive(value[keys[i]])
    defineProperty(value, keys[i], { __proto__: null, value: revived, writable: true, enumerable: true, configurable: true })
  }
  return value
}

// What JSON.parse made has own data properties only, `__proto__` included: reading them runs no guest code. `refuse` is
// told of an item whose value is not what it is tagged as; it is no reason to lose the others.
export const parseMessage = (text, refuse, envFunction) => {
  const items = jsonParse(text)
  if (!stringIncludes(text, TAG)) return items
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    try {
      if (hasOwn(item, 'value')) item.value = revive(item.value)
      if (hasOwn(item, 'details')) item.details = revive(item.details)
      if (hasOwn(item, 'env') && !isClonedEnv(item.env)) {
        makeFunction = envFunction
        item.env = revive(item.env)
      }
    } catch (error) {
      refuse(item, error)
    } finally {
      makeFunction = undefined
    }
  }
  return items
}
