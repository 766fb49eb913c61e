// Words for values that the guest controls. Everything here may run guest code (getters, toString), may be handed a
// proxy, and must still answer with a non-empty string.
import { StringOf, charCodeAt, jsonStringify, stringSlice, toWellFormed } from './primordials.js'

export const clean = (text) => (typeof text === 'string' ? toWellFormed(text) : '')

export const read = (value, key) => {
  try {
    return value[key]
  } catch {
    return undefined
  }
}

export const print = (value) => {
  try {
    return toWellFormed(StringOf(value))
  } catch {
    return '[value that cannot be printed]'
  }
}

const json = (value) => {
  try {
    const text = jsonStringify(value)
    return typeof text === 'string' && text !== '{}' ? toWellFormed(text) : ''
  } catch {
    return ''
  }
}

const clip = (text, limit) => {
  if (text.length <= limit) return text
  const last = charCodeAt(text, limit - 1)
  // Not within a pair.
  const end = last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit
  return stringSlice(text, 0, end) + '… (' + (text.length - end) + ' more characters)'
}

const MAX_NAME = 256
const MAX_MESSAGE = 65536
const MAX_STACK = 16384

// { name, message, stack } of anything that can be thrown; `message` is never empty.
export const describeThrown = (thrown) => {
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function'
  if (!isObject) {
    const shown = print(thrown)
    const message = shown === '' ? 'An empty string was thrown' : clip(shown, MAX_MESSAGE)
    return { __proto__: null, name: '', message, stack: '' }
  }
  const name = clean(read(thrown, 'name'))
  const raw = read(thrown, 'message')
  let message = ''
  if (typeof raw === 'string') message = clean(raw)
  else if (raw !== undefined && raw !== null) message = typeof raw === 'object' ? json(raw) || print(raw) : print(raw)
  if (message === '') message = name
  if (message === '') message = json(thrown) || print(thrown)
  if (message === '') message = 'Error'
  return {
    __proto__: null,
    name: clip(name, MAX_NAME),
    message: clip(message, MAX_MESSAGE),
    stack: clip(clean(read(thrown, 'stack')), MAX_STACK),
  }
}

// Bytes of the first `end` units as UTF-8.
export const utf8Length = (text, end) => {
  let bytes = end
  for (let i = 0; i < end; i++) {
    const unit = charCodeAt(text, i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : unit >= 0xd800 && unit < 0xe000 ? 1 : 2 // half of a pair is half of four bytes
  }
  return bytes
}

// The longest prefix, in units and in whole characters, that takes no more than `limit` bytes as UTF-8.
export const prefixWithin = (text, limit) => {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = charCodeAt(text, i)
    const pair = unit >= 0xd800 && unit < 0xdc00
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : unit >= 0xdc00 && unit < 0xe000 ? 0 : 3
    if (bytes > limit) return i
  }
  return text.length
}
