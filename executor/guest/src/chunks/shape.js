// How classes of the platform look and fail, as those of workerd do: members are enumerable and have no length, a derived
// constructor does not inherit from its parent's, and the texts of misuse are always these.
//
// A class is written as an ordinary one (with private members, which are its brand), and `publish` makes the constructor
// that a program sees.
import { illegalConstructor, illegalInvocation, needsNew } from './texts.js'

const { construct, defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect

const isOwnToFunctions = (key) => key === 'constructor' || key === 'length' || key === 'name' || key === 'prototype'

const decorate = (object) => {
  const keys = ownKeys(object)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (typeof key === 'symbol' || isOwnToFunctions(key)) continue
    const descriptor = getOwnPropertyDescriptor(object, key)
    const { get, set, value } = descriptor
    if (get !== undefined) defineProperty(get, 'name', { __proto__: null, value: '' })
    if (set !== undefined) defineProperty(set, 'name', { __proto__: null, value: '' })
    if (typeof value === 'function') defineProperty(value, 'length', { __proto__: null, value: 0 })
    defineProperty(object, key, { __proto__: null, ...descriptor, enumerable: true })
  }
}

const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true })

// The public constructor of `inner`, under the name `name`. `constructible: false` is for classes of which a program
// finds instances but makes none.
export const publish = (inner, name, { constructible = true } = {}) => {
  const outer = constructible
    ? function (...args) {
      if (new.target === undefined) throw needsNew(name)
      return construct(inner, args, new.target)
    }
    : function () {
      throw illegalConstructor()
    }
  defineProperty(outer, 'name', { __proto__: null, value: name, configurable: true })
  const { prototype } = inner
  decorate(prototype)
  defineProperty(prototype, 'constructor', hidden(outer))
  defineProperty(prototype, Symbol.toStringTag, hidden(name))
  defineProperty(outer, 'prototype', { __proto__: null, value: prototype })
  const statics = ownKeys(inner)
  for (let i = 0; i < statics.length; i++) {
    const key = statics[i]
    if (!isOwnToFunctions(key)) defineProperty(outer, key, getOwnPropertyDescriptor(inner, key))
  }
  decorate(outer)
  return outer
}

// A property that a program can read and redefine, but not assign.
export const readOnly = (value) => ({ __proto__: null, value, writable: false, enumerable: true, configurable: true })

// Named constants, on a constructor and on its prototype.
export const defineConstants = (outer, constants) => {
  for (const name in constants) {
    const descriptor = readOnly(constants[name])
    defineProperty(outer, name, descriptor)
    defineProperty(outer.prototype, name, descriptor)
  }
}

// A function of the global object, under its name and without a length. Called with any other `this` it refuses.
export const globalFunction = (global, name, implementation) => {
  const holder = {
    [name](...args) {
      if (this !== undefined && this !== null && this !== global) throw illegalInvocation()
      return implementation(...args)
    },
  }
  return holder[name]
}
