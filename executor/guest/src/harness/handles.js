// Functions of the program that the host may call after the program has answered.
import { safeMap } from './primordials.js'

const byNumber = safeMap()
const byFunction = safeMap()
let next = 0

export const handles = {
  __proto__: null,
  // The number of a function: the same function, the same number.
  number: (fn) => {
    const known = byFunction.get(fn)
    if (known !== undefined) return known
    const number = next++
    byFunction.set(fn, number)
    byNumber.set(number, fn)
    return number
  },
  get: (number) => byNumber.get(number),
  release: (number) => {
    const fn = byNumber.get(number)
    if (fn === undefined) return
    byNumber.delete(number)
    byFunction.delete(fn)
  },
  any: () => next > 0,
}
