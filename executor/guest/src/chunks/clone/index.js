// structuredClone.
import { globalFunction } from '../shape.js'
import { SCOPE, badArgument, badField, isDictionary } from '../texts.js'
import { createBuffers } from './buffers.js'
import { createCloner } from './cloner.js'

const { isArray } = Array

export default function install(realm) {
  const { DOMException } = realm.exports['dom-exception']
  const fail = (message) => new DOMException(message, 'DataCloneError')
  const buffers = createBuffers(realm.primordials, fail)

  const structuredClone = (...args) => {
    if (args.length === 0) throw badArgument('structuredClone', SCOPE, 1, 'JsValue')
    const [value, options] = args
    if (!isDictionary(options)) throw badArgument('structuredClone', SCOPE, 2, 'StructuredCloneOptions')
    const list = options?.transfer
    const clone = createCloner(realm, buffers, fail)
    if (list === undefined) return clone(value)
    if (!isArray(list)) throw badField('transfer', 'StructuredCloneOptions', 'Array')
    const moved = new Set()
    try {
      for (let i = 0; i < list.length; i++) {
        if (!buffers.isTransferable(list[i])) throw new TypeError('Object is not transferable')
        const held = buffers.bufferOf(list[i])
        if (held !== undefined) moved.add(held)
      }
      return clone(value)
    } finally {
      // What was reached has been copied, and its original has no bytes from now on: it looks moved.
      for (const held of moved) buffers.detach(held)
    }
  }

  realm.defineEnumerable('structuredClone', globalFunction(realm.global, 'structuredClone', structuredClone))
  return { __proto__: null, structuredClone }
}
