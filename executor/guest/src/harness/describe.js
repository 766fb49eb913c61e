// Words for values that the guest controls. Everything here may run guest code (getters, toString), may be handed a
// proxy, and must still answer with a non-empty string.
import { StringOf, jsonStringify, toWellFormed } from './primordials.js'

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

// { name, message, stack } of anything that can be thrown; `message` is never empty.
export const describeThrown = (thrown) => {
  const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function'
  if (!isObject) {
    const shown = print(thrown)
    return { __proto__: null, name: '', message: shown === '' ? 'An empty string was thrown' : shown, stack: '' }
  }
  const name = clean(read(thrown, 'name'))
  const raw = read(thrown, 'message')
  let message = ''
  if (typeof raw === 'string') message = clean(raw)
  else if (raw !== undefined && raw !== null) message = typeof raw === 'object' ? json(raw) || print(raw) : print(raw)
  if (message === '') message = name
  if (message === '') message = json(thrown) || print(thrown)
  if (message === '') message = 'Error'
  return { __proto__: null, name, message, stack: clean(read(thrown, 'stack')) }
}
