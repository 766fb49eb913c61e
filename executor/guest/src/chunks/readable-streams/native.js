// Classes that look and refuse as those of workerd do. What an object is made of is a state in a private field; methods
// get it as their first argument, so that no code of a class has to ask whether `this` is one of it.
import {
  badArgument, badConstructorArgument, badField, illegalConstructor, illegalInvocation, needsNew,
} from '../texts.js'

const { apply, construct, defineProperty, getPrototypeOf } = Reflect

class Stamped {
  constructor(object) {
    return object
  }
}

// A private field of its own that can be given to any object.
const createSlot = () =>
  class Slot extends Stamped {
    #state
    constructor(object, state) {
      super(object)
      this.#state = state
    }
    static has(value) {
      return isObject(value) && #state in value
    }
    static of(object) {
      return object.#state
    }
  }

export const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'

const hidden = (object, key, value) => {
  defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true })
}

// A lone surrogate goes through workerd's UTF-8 as three bytes that come back as three replacement characters.
export const toText = (value) => {
  const text = `${value}`
  return text.isWellFormed() ? text : text.replace(/[\ud800-\udfff]/gu, '\ufffd\ufffd\ufffd')
}

// An unsigned integer as V8's bindings of workerd take one.
export const toUnsigned = (value) => {
  const number = Number(value)
  if (!Number.isFinite(number)) throw new TypeError('The value cannot be converted because it is not an integer.')
  if (number < 0) {
    throw new TypeError('The value cannot be converted because it is negative and this API expects a positive bigint.')
  }
  return Math.trunc(number)
}

// The members of an options object; `bad(index, type)` makes the error for what is none.
export const toDictionary = (value, bad, index, type) => {
  if (value === undefined || value === null) return { __proto__: null }
  if (!isObject(value)) throw bad(index, type)
  return value
}

// The error for a dictionary that may not be left out; `type` as the compiler writes it.
export const missingMembers = (type) =>
  new TypeError(`Cannot initialize ${type} with required members from an undefined or null value.`)

export const toCallback = (dictionary, field, type) => {
  const value = dictionary[field]
  if (value === undefined) return undefined
  if (typeof value !== 'function') throw badField(field, type, 'function')
  return value
}

// Arguments are converted one after the other: what is wrong with one that is there comes before one that is missing.
const checkMissing = (args, types, bad) => {
  if (args.length >= types.length) return
  for (let i = 0; i < args.length; i++) {
    if (types[i] === 'string') void `${args[i]}`
    else if (types[i] === 'integer') void +args[i]
  }
  throw bad(args.length + 1, types[args.length])
}

const createMethod = (owner, key, types, slot, run) => {
  const bad = (index, type) => badArgument(String(key), owner, index, type)
  const method = {
    [key](...args) {
      if (!slot.has(this)) throw illegalInvocation()
      checkMissing(args, types, bad)
      return run(slot.of(this), args, this, bad)
    },
  }
  return method[key]
}

// The same of what answers a promise: all but a wrong `this` is a rejection.
const createAsyncMethod = (owner, key, types, slot, run) => {
  const bad = (index, type) => badArgument(key, owner, index, type)
  const method = {
    [key](...args) {
      if (!slot.has(this)) throw illegalInvocation()
      try {
        checkMissing(args, types, bad)
        return Promise.resolve(run(slot.of(this), args, this, bad))
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
  return method[key]
}

const defineMethod = (target, key, value) => {
  defineProperty(target, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true })
}

const defineAccessors = (target, key, slot, read, write) => {
  const accessors = {
    get() {
      if (!slot.has(this)) throw illegalInvocation()
      return read(slot.of(this), this)
    },
    set(value) {
      if (!slot.has(this)) throw illegalInvocation()
      write(slot.of(this), value)
    },
  }
  const { get, set } = accessors
  defineProperty(get, 'name', { __proto__: null, value: '' })
  defineProperty(set, 'name', { __proto__: null, value: '' })
  const written = write === undefined ? undefined : set
  defineProperty(target, key, { __proto__: null, get, set: written, enumerable: true, configurable: true })
}

// Static methods are called with any `this`.
const anything = { has: () => true, of: () => undefined }

const defineMembers = (Class, name, slot, spec) => {
  const { methods = {}, promises = {}, getters = {}, setters = {}, statics = {}, required = {} } = spec
  const { prototype } = Class
  const needed = (key) => (Object.hasOwn(required, key) ? required[key] : [])
  for (const key of Object.keys(methods)) {
    defineMethod(prototype, key, createMethod(name, key, needed(key), slot, methods[key]))
  }
  for (const key of Object.keys(promises)) {
    defineMethod(prototype, key, createAsyncMethod(name, key, needed(key), slot, promises[key]))
  }
  for (const key of Object.keys(getters)) defineAccessors(prototype, key, slot, getters[key], setters[key])
  for (const key of Object.keys(statics)) {
    defineMethod(Class, key, createMethod(name, key, needed(key), anything, statics[key]))
  }
}

// The classes that were made, by prototype: structuredClone refuses their objects by name.
export const madePrototypes = new Map()

// Makes a class.
//
//   parent     the interface that it extends; its states are of both
//   base       a constructor that makes the object itself (EventTarget)
//   construct  (args, bad, self) => state; a class without it cannot be constructed
//   required   for `constructor` and for methods: the types of the parameters that must be there
//   methods, promises, getters, setters, statics: each (state, args, self, bad)
//
// `bad(index, type)` makes the error for an argument that is not of the type.
export const createInterface = (name, spec) => {
  const slot = createSlot()
  const { parent, base, construct: build, required = {} } = spec
  const types = Object.hasOwn(required, 'constructor') ? required.constructor : []
  const bad = (index, type) => badConstructorArgument(name, index, type)
  const stamp = (object, state) => {
    new slot(object, state)
    return parent === undefined ? object : parent.stamp(object, state)
  }
  // Named by the key, so that V8 calls its objects by their tag.
  const { [name]: Class } = {
    [name]: function (...args) {
      if (build === undefined) throw illegalConstructor()
      if (new.target === undefined) throw needsNew(name)
      checkMissing(args, types, bad)
      const self = base === undefined ? this : construct(base, [], new.target)
      return stamp(self, build(args, bad, self))
    },
  }
  const { prototype } = Class
  defineProperty(Class, 'prototype', { __proto__: null, writable: false })
  const above = parent?.Class ?? base
  if (above !== undefined) Object.setPrototypeOf(prototype, above.prototype)
  else if (spec.prototypeOf !== undefined) Object.setPrototypeOf(prototype, spec.prototypeOf)
  hidden(prototype, Symbol.toStringTag, name)
  madePrototypes.set(prototype, name)
  defineMembers(Class, name, slot, spec)
  return {
    Class,
    stamp,
    make: (state) => stamp(Object.create(prototype), state),
    has: slot.has,
    of: slot.of,
    // A method that is keyed by a symbol.
    hide: (key, run) => {
      const method = createMethod(name, key, [], slot, run)
      defineProperty(method, 'name', { __proto__: null, value: '', configurable: true })
      hidden(prototype, key, method)
    },
  }
}

const iteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()))

// An iterator class of a collection: `step(state)` answers { value } or undefined at the end.
const createIterator = (name, step) => {
  const made = createInterface(name, {
    prototypeOf: iteratorPrototype,
    methods: {
      next(state) {
        const found = step(state)
        return found === undefined ? { done: true } : { done: false, value: found.value }
      },
    },
  })
  made.hide(Symbol.iterator, (state, args, self) => self)
  return made
}

// entries, keys, values, forEach and the iterator of a collection of pairs. `pairAt(state, index)` answers one, or
// undefined behind the last; `snapshot(state)` is what an iterator looks at.
export const pairMethods = (pairAt, snapshot) => {
  const iterator = (name, pick) =>
    createIterator(name, (cursor) => {
      if (cursor.over) return undefined
      const pair = pairAt(cursor.of, cursor.index++)
      cursor.over = pair === undefined
      return cursor.over ? undefined : { value: pick(pair) }
    })
  const iterators = {
    entries: iterator('EntryIterator', (pair) => [pair[0], pair[1]]),
    keys: iterator('KeyIterator', (pair) => pair[0]),
    values: iterator('ValueIterator', (pair) => pair[1]),
  }
  const start = (kind) => (state) => iterators[kind].make({ of: snapshot(state), index: 0, over: false })
  return {
    entries: start('entries'),
    keys: start('keys'),
    values: start('values'),
    forEach(state, [callback, thisArg], self, bad) {
      if (typeof callback !== 'function') throw bad(1, 'function')
      const seen = snapshot(state)
      for (let i = 0, pair; (pair = pairAt(seen, i)) !== undefined; i++) apply(callback, thisArg, [pair[1], pair[0], self])
    },
  }
}
