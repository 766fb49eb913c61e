import { realm } from './platform.js'

export const kEmptyObject = Object.freeze({})
export const promisify = { custom: Symbol.for('nodejs.util.promisify.custom') }
export const { inspect } = realm.exports['node-inspect']
export const { addAbortListener } = realm.findModule('events')
export const AbortSignalAny = (signals) => AbortSignal.any(signals)
export const createDeferredPromise = () => Promise.withResolvers()
export const debuglog = () => () => {}
export const deprecate = (method) => method
export const isBlob = (value) => globalThis.Blob !== undefined && value instanceof globalThis.Blob

export const once = (callback) => {
  let called = false
  return function (...args) {
    if (called) return
    called = true
    Reflect.apply(callback, this, args)
  }
}
