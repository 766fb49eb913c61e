// The global `process`, as small as upstream's: there is no process behind it.
import { nextTickOf } from '../next-tick.js'

const MAX_DEPTH = 1000

// What workerd shows there of bindings: text, and what is JSON through and through. Nothing in it may stand in two places.
const isJson = (value, seen, depth) => {
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string') return true
  if (typeof value !== 'object' || depth > MAX_DEPTH || seen.has(value)) return false
  seen.add(value)
  if (Array.isArray(value)) return Array.prototype.every.call(value, (item) => isJson(item, seen, depth + 1))
  if (Object.prototype.toString.call(value) !== '[object Object]') return false
  return Object.values(value).every((item) => isJson(item, seen, depth + 1))
}

export default function install(realm) {
  const { invalidArgValue } = realm.exports['node-errors']
  const bindings = realm.env() ?? {}

  // As in any process, every value is text.
  const text = (value) => {
    if (typeof value === 'symbol') throw new TypeError('Cannot convert a symbol value to a string')
    return String(value)
  }
  const checkName = (key) => {
    if (typeof key === 'symbol') throw new TypeError('Cannot convert a symbol value to a string')
  }
  const makeEnv = (target) => new realm.primordials.ProxyCtor(target, {
    set(values, key, value) {
      checkName(key)
      values[key] = text(value)
      return true
    },
    defineProperty(values, key, descriptor) {
      checkName(key)
      const { configurable, enumerable, value, writable } = descriptor
      const whole = [['configurable', configurable], ['writable', writable], ['enumerable', enumerable]]
      if ('get' in descriptor || 'set' in descriptor) {
        throw invalidArgValue('descriptor', descriptor, 'process.env value must not have getter/setter')
      }
      for (const [name, given] of whole) {
        if (!given && !Object.hasOwn(values, key)) {
          throw invalidArgValue('descriptor.' + name, descriptor, 'process.env value must be ' + name)
        }
      }
      return Reflect.defineProperty(values, key, 'value' in descriptor ? { ...descriptor, value: text(value) } : descriptor)
    },
  })
  const values = {}
  for (const key of Object.keys(bindings)) {
    const value = bindings[key]
    if (isJson(value, new Set(), 0)) values[key] = typeof value === 'string' ? value : JSON.stringify(value)
  }

  const process = {
    nextTick: nextTickOf(realm),
    env: makeEnv(values),
    exit(code) {
      const status = code ?? 0
      const error = new Error('The Node.js process.exit(' + status + ') API was called. Canceling the request.')
      realm.end(error)
      throw error
    },
    getBuiltinModule(id) {
      const found = realm.findModule(`${id}`.replace(/^node:/, ''))
      return found?.default ?? found
    },
    platform: 'linux',
    features: Object.freeze({
      cached_builtins: true, debug: false, inspector: false, require_module: false, tls: true,
    }),
  }
  realm.define('process', process)
  realm.module('process', process)
}
