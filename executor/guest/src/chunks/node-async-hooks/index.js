// node:async_hooks. The stores that are set at a time are one immutable map, the frame. Whatever calls back later
// (a reaction of a promise, a timer, a microtask) is bound to the frame of the moment when it was asked for; the reader
// writes `snapshot` and `restore` around each `await` of a program that names AsyncLocalStorage.
import { publish } from '../shape.js'
import { badArgument, badConstructorArgument, illegalInvocation, isDictionary } from '../texts.js'

const { apply } = Reflect
const isObject = (value) => typeof value === 'object' && value !== null

export default function install(realm) {
  const { global } = realm
  let frame

  const within = (other, callback, thisArg, args) => {
    const before = frame
    frame = other
    try {
      return apply(callback, thisArg, args)
    } finally {
      frame = before
    }
  }
  const bind = (callback) => {
    const captured = frame
    return function (...args) { return within(captured, callback, this, args) }
  }

  // Only once a program has the module: everybody else keeps V8's own promises and timers.
  let active = false
  const activate = () => {
    if (active) return
    active = true
    const reaction = (callback) => (typeof callback === 'function' ? bind(callback) : callback)
    const { then: nativeThen } = Promise.prototype
    const patched = {
      then(onFulfilled, onRejected) { return apply(nativeThen, this, [reaction(onFulfilled), reaction(onRejected)]) },
    }
    Object.defineProperty(Promise.prototype, 'then', {
      value: patched.then, writable: true, enumerable: false, configurable: true,
    })
    for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']) {
      const original = global[name]
      const holder = {
        [name](...args) {
          args[0] = reaction(args[0])
          return apply(original, this, args)
        },
      }
      realm.defineEnumerable(name, holder[name])
    }
  }

  let storeOf

  class LocalStorageInner {
    #state

    constructor(options) {
      if (options !== undefined && options !== null && typeof options !== 'object' && typeof options !== 'function') {
        throw badConstructorArgument('AsyncLocalStorage', 1, 'AsyncLocalStorageOptions')
      }
      this.#state = { __proto__: null, name: String(options?.name ?? ''), otherwise: options?.defaultValue }
    }

    run(...args) {
      const state = storeOf(this)
      if (args.length === 0) throw badArgument('run', 'AsyncLocalStorage', 1, 'Value')
      const [store, callback, ...rest] = args
      if (typeof callback !== 'function') throw badArgument('run', 'AsyncLocalStorage', 2, 'function')
      return within(new Map(frame).set(state, store), callback, undefined, rest)
    }

    exit(callback, ...rest) {
      const state = storeOf(this)
      if (typeof callback !== 'function') throw badArgument('exit', 'AsyncLocalStorage', 1, 'function')
      return within(new Map(frame).set(state, undefined), callback, undefined, rest)
    }

    getStore() {
      const state = storeOf(this)
      return frame?.has(state) ? frame.get(state) : state.otherwise
    }

    enterWith(...args) {
      storeOf(this)
      if (args.length === 0) throw badArgument('enterWith', 'AsyncLocalStorage', 1, 'Value')
      throw new Error('asyncLocalStorage.enterWith() is not implemented')
    }

    disable() {
      storeOf(this)
      throw new Error('asyncLocalStorage.disable() is not implemented')
    }

    get name() { return storeOf(this).name }

    static bind(callback) {
      if (typeof callback !== 'function') throw badArgument('bind', 'AsyncLocalStorage', 1, 'Function')
      return bind(callback)
    }

    static snapshot() {
      const captured = frame
      return Object.defineProperty((callback, ...args) => within(captured, callback, undefined, args), 'length', { value: 0 })
    }

    static {
      storeOf = (value) => {
        if (isObject(value) && #state in value) return value.#state
        throw illegalInvocation()
      }
    }
  }

  let captureOf

  class ResourceInner {
    #frame = { __proto__: null, frame }

    constructor(type, options) {
      void `${type}`
      if (!isDictionary(options)) throw badConstructorArgument('AsyncResource', 2, 'Options')
    }

    asyncId() { return captureOf(this), 0 }
    triggerAsyncId() { return captureOf(this), 0 }
    emitDestroy() { void captureOf(this) }

    runInAsyncScope(...args) {
      const captured = captureOf(this)
      const [callback, thisArg, ...rest] = args
      if (typeof callback !== 'function') throw badArgument('runInAsyncScope', 'AsyncResource', 1, 'function')
      return within(captured.frame, callback, thisArg, rest)
    }

    bind(...args) {
      const captured = captureOf(this)
      const [callback, thisArg] = args
      if (typeof callback !== 'function') throw badArgument('bind', 'AsyncResource', 1, 'Function')
      const hasThis = args.length > 1
      return Object.defineProperty(function (...rest) {
        return within(captured.frame, callback, hasThis ? thisArg : this, rest)
      }, 'length', { value: 0 })
    }

    static bind(callback, type, thisArg) {
      return new AsyncResource(type ?? 'bound-anonymous-fn').bind(callback, ...(thisArg === undefined ? [] : [thisArg]))
    }

    static {
      captureOf = (value) => {
        if (isObject(value) && #frame in value) return value.#frame
        throw illegalInvocation()
      }
    }
  }

  const AsyncResource = publish(ResourceInner, 'AsyncResource')

  realm.lazyModule('async_hooks', () => {
    activate()
    const AsyncLocalStorage = publish(LocalStorageInner, 'AsyncLocalStorage')
    // An accessor like the others, although functions have a `name` too.
    Object.defineProperty(AsyncLocalStorage.prototype, 'name', { enumerable: true })
    return {
      AsyncLocalStorage,
      AsyncResource,
      executionAsyncId() { return 0 },
      executionAsyncResource() { return { __proto__: null } },
      triggerAsyncId() { return 0 },
      createHook() {
        return Object.create({
          enable() { return this },
          disable() { return this },
        })
      },
      asyncWrapProviders: { NONE: 0 },
    }
  })

  return {
    snapshot: () => frame,
    restore: (token) => { frame = token },
    // For what calls back later in other chunks.
    bind: (callback) => (active ? bind(callback) : callback),
    AsyncResource,
  }
}
