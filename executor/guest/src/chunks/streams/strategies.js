// How much a stream may hold back, and what a chunk counts.
import { createInterface, isObject, missingMembers, toCallback, toDictionary, toUnsigned } from './native.js'

const STRATEGY = 'StreamQueuingStrategy'

// { size, highWaterMark } of a constructor's strategy argument.
export const readStrategy = (value, bad, index, highWaterMark) => {
  const strategy = toDictionary(value, bad, index, STRATEGY)
  const given = strategy.highWaterMark
  return {
    highWaterMark: given === undefined ? highWaterMark : toUnsigned(given),
    size: toCallback(strategy, 'size', STRATEGY),
  }
}

const sizes = {
  CountQueuingStrategy: () => 1,
  ByteLengthQueuingStrategy: (chunk) => (isObject(chunk) ? chunk.byteLength : undefined),
}

const create = (name) => {
  const size = sizes[name]
  Object.defineProperty(size, 'name', { __proto__: null, value: '' })
  Object.defineProperty(size, 'length', { __proto__: null, value: 0 })
  return createInterface(name, {
    required: { constructor: ['QueuingStrategyInit'] },
    construct([init], bad) {
      if (init === undefined || init === null) throw missingMembers('N7workerd3api19QueuingStrategyInitE')
      if (!isObject(init)) throw bad(1, 'QueuingStrategyInit')
      return { highWaterMark: +init.highWaterMark }
    },
    getters: { highWaterMark: (state) => state.highWaterMark, size: () => size },
  })
}

export const strategies = ['CountQueuingStrategy', 'ByteLengthQueuingStrategy'].map(create)
