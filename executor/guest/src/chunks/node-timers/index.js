// node:timers and node:timers/promises.
import { badArgument } from '../texts.js'

const MAX_DELAY_MS = 2147483647

export default function install(realm) {
  const { setTimeout, setInterval, clearTimeout, setImmediate, clearImmediate } = realm.global
  const bound = (callback) => realm.exports['node-async-hooks']?.bind(callback) ?? callback

  const make = () => {
    const {
      abortError, named, validateAbortSignal, validateBoolean, validateFunction, validateNumber, validateObject,
    } = realm.exports['node-errors']

    class Timeout {
      #start
      #id
      #referenced = true
      constructor(callback, after = 1, args = [], isRepeat = false, isRefed = true) {
        let ms = +after
        if (!(ms >= 1 && ms <= MAX_DELAY_MS)) ms = 1
        const run = bound(callback)
        this.#start = () => (isRepeat ? setInterval(run, ms, ...args) : setTimeout(run, ms, ...args))
        this.#id = this.#start()
        this.#referenced = isRefed
      }
      refresh() {
        clearTimeout(this.#id)
        this.#id = this.#start()
        return this
      }
      unref() {
        this.#referenced = false
        return this
      }
      ref() {
        this.#referenced = true
        return this
      }
      hasRef() { return this.#referenced }
      close() {
        clearTimeout(this.#id)
        return this
      }
      [Symbol.dispose]() { clearTimeout(this.#id) }
      [Symbol.toPrimitive]() { return this.#id }
    }
    Object.defineProperty(Timeout, 'length', { value: 1 })

    const clear = (timer) => {
      if (timer instanceof Timeout) timer.close()
      else if (typeof timer === 'number' || typeof timer === 'string') clearTimeout(+timer)
    }

    const checkOptions = (options, delay) => {
      if (delay !== undefined) validateNumber(delay, 'delay')
      validateObject(options, 'options')
      validateAbortSignal(options.signal, 'options.signal')
      if (options.ref !== undefined) validateBoolean(options.ref, 'options.ref')
      return options.signal
    }

    // A promise of one call of `start`'s callback.
    const later = (signal, value, start, stop) => {
      if (signal?.aborted) return Promise.reject(abortError({ cause: signal.reason }))
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          stop(timer)
          reject(abortError({ cause: signal.reason }))
        }
        const timer = start(() => {
          signal?.removeEventListener('abort', onAbort)
          resolve(value)
        })
        signal?.addEventListener('abort', onAbort, { once: true })
      })
    }

    const promises = {
      async setTimeout(delay, value, options = {}) {
        const signal = checkOptions(options, delay)
        return later(signal, value, (callback) => setTimeout(callback, delay), clearTimeout)
      },
      async setImmediate(value, options = {}) {
        const signal = checkOptions(options)
        return later(signal, value, (callback) => setImmediate(callback), clearImmediate)
      },
      async* setInterval(delay, value, options = {}) {
        const signal = checkOptions(options, delay)
        if (signal?.aborted) throw abortError({ cause: signal.reason })
        let due = 0
        let wake
        const timer = setInterval(() => {
          due += 1
          wake?.()
        }, delay)
        const onAbort = () => {
          clearTimeout(timer)
          wake?.()
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        try {
          while (!signal?.aborted) {
            if (due === 0) await new Promise((resolve) => { wake = resolve })
            for (; due > 0; due -= 1) yield value
          }
          throw abortError({ cause: signal.reason })
        } finally {
          clearTimeout(timer)
          signal?.removeEventListener('abort', onAbort)
        }
      },
    }
    Object.defineProperty(promises.setTimeout, 'length', { value: 2 })
    class Scheduler {
      yield() { return promises.setImmediate() }
      wait(...args) { return realm.global.scheduler.wait(...args) }
    }
    promises.scheduler = new Scheduler()

    const timers = {
      promises: Object.assign({ __proto__: null }, promises),
      setTimeout(callback, after, ...args) {
        validateFunction(callback, 'callback')
        return new Timeout(callback, after, args, false, true)
      },
      clearTimeout(timer) { clear(timer) },
      setImmediate: named('setImmediate', (...args) => {
        const [callback, ...rest] = args
        if (typeof callback !== 'function') throw badArgument('setImmediate', 'TimersUtil', 1, 'function')
        return setImmediate(bound(callback), ...rest)
      }),
      clearImmediate: named('clearImmediate', (...args) => {
        try {
          clearImmediate(...args)
        } catch {
          throw badArgument('clearImmediate', 'TimersUtil', 1, 'Immediate')
        }
        // The global function takes no argument for an error only if there is one.
        if (args.length === 0) throw badArgument('clearImmediate', 'TimersUtil', 1, 'Immediate')
      }),
      setInterval(callback, repeat, ...args) {
        validateFunction(callback, 'callback')
        return new Timeout(callback, repeat, args, true, true)
      },
      clearInterval(timer) { clear(timer) },
      active(timer) { timer?.refresh?.() },
      unenroll(timer) { clear(timer) },
      enroll(item, msecs) { throw new Error('Not implemented. Please use setTimeout() instead.') },
    }
    // As a namespace object looks.
    Object.defineProperty(timers.promises, Symbol.toStringTag, { value: 'Module' })
    return { timers, Timeout, promises }
  }
  let made
  const all = () => (made ??= make())
  // `Timeout` is an export, but not a member of the default one.
  realm.lazyModule('timers', () => ({ ...all().timers, Timeout: all().Timeout, default: all().timers }))
  realm.lazyModule('timers/promises', () => all().promises)
}
