// queueMicrotask, setImmediate, scheduler.wait. What a callback throws ends nothing, and is not hidden.
import { globalFunction, publish } from '../shape.js'
import { SCOPE, badArgument, badField, illegalInvocation, isDictionary } from '../texts.js'

const { apply } = Reflect
const UNCAUGHT = 9 // LEVELS of wire/messages.py
const MAX_DELAY_MS = 2147483647

const isObject = (value) => typeof value === 'object' && value !== null

export default function install(realm) {
  const { global } = realm
  const log = (error) => realm.log(UNCAUGHT, realm.describe(error).message)
  // Listeners of the global "error" event hear of microtasks, and, as upstream, of nothing else.
  const report = (error) => {
    const { events } = realm.exports
    if (events === undefined) return log(error)
    try {
      events.report(error)
    } catch (another) {
      log(another)
    }
  }

  // Not by a promise's `then`: a program may have replaced it.
  const microtask = async (callback) => {
    await undefined
    try {
      apply(callback, global, [])
    } catch (error) {
      report(error)
    }
  }

  let immediateOf

  class ImmediateInner {
    #immediate

    constructor(callback, args) {
      const run = () => {
        try {
          apply(callback, global, args)
        } catch (error) {
          log(error)
        }
      }
      this.#immediate = { __proto__: null, timer: realm.setTimer(run, 0) }
    }

    ref() { immediate(this) }
    unref() { immediate(this) }
    hasRef() { return immediate(this), false }
    [Symbol.dispose]() { realm.clearTimer(immediate(this).timer) }

    static {
      immediateOf = (value) => (isObject(value) && #immediate in value ? value.#immediate : undefined)
    }
  }

  const immediate = (value) => {
    const found = immediateOf(value)
    if (found === undefined) throw illegalInvocation()
    return found
  }
  publish(ImmediateInner, 'Immediate', { constructible: false })

  const define = (name, implementation) =>
    realm.defineEnumerable(name, globalFunction(global, name, implementation))

  define('queueMicrotask', (callback) => {
    if (typeof callback !== 'function') throw badArgument('queueMicrotask', SCOPE, 1, 'function')
    microtask(callback)
  })
  define('setImmediate', (callback, ...args) => {
    if (typeof callback !== 'function') throw badArgument('setImmediate', SCOPE, 1, 'function')
    return new ImmediateInner(callback, args)
  })
  define('clearImmediate', (...args) => {
    const [value] = args
    if (args.length > 0 && (value === undefined || value === null)) return
    const found = immediateOf(value)
    if (found === undefined) throw badArgument('clearImmediate', SCOPE, 1, 'Immediate')
    realm.clearTimer(found.timer)
  })

  let isScheduler

  const signalOf = (options) => {
    if (!isDictionary(options)) throw badArgument('wait', 'Scheduler', 2, 'WaitOptions')
    const signal = options?.signal
    if (signal === undefined) return undefined
    if (!realm.exports.abort?.isSignal(signal)) throw badField('signal', 'WaitOptions', 'AbortSignal')
    return signal
  }

  // Upstream's rejection passes through its own kind of exception, which makes an Error of what is no object.
  const rejection = (reason) =>
    isObject(reason) || typeof reason === 'function' ? reason : new Error(String(reason))

  const wait = async (args) => {
    if (args.length === 0) throw badArgument('wait', 'Scheduler', 1, 'number')
    const ms = +args[0]
    const signal = signalOf(args[1])
    const { abort } = realm.exports
    if (signal !== undefined && abort.isAborted(signal)) throw rejection(abort.reasonOf(signal))
    await new Promise((resolve, reject) => {
      let withdraw
      const done = () => {
        withdraw?.()
        resolve()
      }
      const timer = realm.setTimer(done, ms > MAX_DELAY_MS ? MAX_DELAY_MS : ms)
      if (signal === undefined) return
      withdraw = abort.onAbort(signal, (reason) => {
        realm.clearTimer(timer)
        reject(rejection(reason))
      })
    })
  }

  class SchedulerInner {
    #brand

    wait(...args) {
      if (!isScheduler(this)) throw illegalInvocation() // now; all else rejects
      return wait(args)
    }

    static {
      isScheduler = (value) => isObject(value) && #brand in value
    }
  }
  const scheduler = new SchedulerInner()
  publish(SchedulerInner, 'Scheduler', { constructible: false })
  realm.defineEnumerable('scheduler', scheduler)
}
