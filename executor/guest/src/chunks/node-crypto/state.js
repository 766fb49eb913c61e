// The inner side of an object that a program holds: a private member stamped onto it, which no patched builtin leads to,
// as a WeakMap's methods could. Keys are among what is kept so.
class Given {
  constructor(object) {
    return object
  }
}

export class Stamp extends Given {
  #state

  constructor(object, state) {
    super(object)
    this.#state = state
  }

  // undefined for any other object.
  static of(object) {
    return (typeof object === 'object' || typeof object === 'function') && object !== null && #state in object
      ? object.#state
      : undefined
  }
}
const { of } = Stamp
export const stateOf = (object) => of(object)

// Makes the constructors of the module: functions that work with and without `new`, on top of `Base`, a stream where the
// program has loaded node:stream.
export const constructorOf = (name, length, Base, create, methods) => {
  const Made = {
    [name]: function (...args) {
      if (new.target === undefined) return Reflect.construct(Made, args)
      const { state, options } = create(...args)
      const self = Base === undefined ? this : Reflect.construct(Base, options === undefined ? [] : [options], new.target)
      new Stamp(self, state)
      return self
    },
  }[name]
  Object.defineProperty(Made, 'length', { __proto__: null, value: length, configurable: true })
  if (Base !== undefined) {
    Object.setPrototypeOf(Made.prototype, Base.prototype)
    Object.setPrototypeOf(Made, Base)
  }
  for (const key of Object.keys(methods)) Made.prototype[key] = methods[key]
  return Made
}
