// How much a stream may hold back, and what a chunk counts.
import { badField } from '../texts.js'
import { createInterface, isObject, toCallback, toDictionary, toUnsigned } from './native.js'

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
      if (!isObject(init)) throw bad(1, 'QueuingStrategyInit')
      if (init.highWaterMark !== undefined && !Number.isFinite(Number(init.highWaterMark))) {
        throw badField('highWaterMark', 'QueuingStrategyInit', 'double')
      }
      return { highWaterMark: init.highWaterMark === undefined ? undefined : Number(init.highWaterMark) }
    },
    getters: { highWaterMark: (state) => state.highWaterMark, size: () => size },
  })
}

export const strategies = ['CountQueuingStrategy', 'ByteLengthQueuingStrategy'].map(create)
