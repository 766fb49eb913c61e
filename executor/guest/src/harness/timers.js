// setTimeout and friends. The clock is the worker's: a timer is a request to be called back, so none outlives its run.
import { CANCEL_TIMER, TIMER, isClosed, send } from './channel.js'
import { TypeErrorCtor, apply, defineProperty, now, safeMap } from './primordials.js'

const MAX_DELAY_MS = 2147483647

export const installTimers = (global, report) => {
  const pending = safeMap()
  let next = 1

  // The time of the call goes along: the message may leave much later.
  const arm = (id, delay) => send(TIMER + ',' + id + ',' + delay + ',' + now(), '')

  const start = (callback, delay, args, repeat) => {
    if (typeof callback !== 'function') {
      throw new TypeErrorCtor("Failed to execute '" + (repeat ? 'setInterval' : 'setTimeout') +
        "' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'.")
    }
    let ms = +delay
    // Browsers and workerd both treat what is not a usable delay as none at all.
    if (!(ms >= 1 && ms <= MAX_DELAY_MS)) ms = repeat ? 1 : 0
    ms = ms - (ms % 1)
    const id = next++
    pending.set(id, { callback, args, delay: ms, repeat })
    arm(id, ms)
    return id
  }

  const startWith = (given, repeat) => {
    const args = []
    for (let i = 2; i < given.length; i++) defineProperty(args, i - 2, { __proto__: null, value: given[i] })
    return start(given[0], given[1], args, repeat)
  }

  const stop = (id) => {
    if (pending.delete(id)) send(CANCEL_TIMER + ',' + id, '')
  }

  // Methods, because they are no constructors; without parameters, because upstream's have none.
  const functions = {
    __proto__: null,
    setTimeout(...args) { return startWith(args, false) },
    setInterval(...args) { return startWith(args, true) },
    clearTimeout(...args) { stop(+args[0]) },
    clearInterval(...args) { stop(+args[0]) },
  }
  const names = ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval']
  for (let i = 0; i < names.length; i++) {
    defineProperty(global, names[i], {
      __proto__: null, value: functions[names[i]], writable: true, enumerable: true, configurable: true,
    })
  }

  // Called by the worker when a timer is due. What the callback throws ends nothing, as upstream, but is not hidden.
  const fire = (id) => {
    const timer = pending.get(id)
    if (timer === undefined || isClosed()) return
    if (timer.repeat) arm(id, timer.delay)
    else pending.delete(id)
    try {
      apply(timer.callback, global, timer.args) // `this`, as upstream
    } catch (error) {
      report(error)
    }
  }
  return {
    __proto__: null,
    fire,
    set: (callback, ms) => start(callback, ms, [], false),
    clear: stop,
  }
}
