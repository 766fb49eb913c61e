// Math.random, of every isolate its own: V8's has no entropy inside the jail and falls back to the clock.
//
// xoshiro128**, whose state the worker takes from the operating system for each run. As in every engine, it is not for
// secrets; `crypto.getRandomValues` asks the operating system itself.
import { defineProperty, imul } from './primordials.js'

const rotate = (value, bits) => (value << bits) | (value >>> (32 - bits))

export const installRandom = (math) => {
  let a = 1, b = 2, c = 3, d = 4
  const next = () => {
    const result = imul(rotate(imul(b, 5), 7), 9) >>> 0
    const t = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = rotate(d, 11)
    return result
  }
  // 53 bits, as V8.
  const random = { random() { return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992 } }.random
  defineProperty(math, 'random', { __proto__: null, value: random, writable: true, enumerable: false, configurable: true })
  return (seed) => {
    a = seed[0] | 0
    b = seed[1] | 0
    c = seed[2] | 0
    d = (seed[3] | 0) | 1 // never all zero
  }
}
