// How much a stream may hold back, and what a chunk counts.
import { toCallback, toDictionary, toUnsigned } from './native.js'

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
