// AbortController and AbortSignal.
import { publish } from '../shape.js'
import { badArgument, badElement, illegalConstructor, illegalInvocation } from '../texts.js'

const MAX_DELAY_MS = 2147483647

export default function install(realm) {
  const { DOMException } = realm.exports['dom-exception']
  const { Event, EventTargetInner, dispatchTrusted, setSignals } = realm.exports.events

  let stateOf
  const making = Symbol('making')

  class AbortSignalInner extends EventTargetInner {
    #state = { __proto__: null, aborted: false, reason: undefined, handler: null, algorithms: [], dependents: [] }

    constructor(token) {
      if (token !== making) throw illegalConstructor()
      super()
    }

    get aborted() { return state(this).aborted }
    get reason() { return state(this).reason }
    get onabort() { return state(this).handler }
    set onabort(value) {
      const isHandler = typeof value === 'function' || (typeof value === 'object' && value !== null)
      state(this).handler = isHandler ? value : null
    }

    throwIfAborted() {
      const { aborted, reason } = state(this)
      if (aborted) throw reason
    }

    static abort(reason) {
      const signal = create()
      trigger(signal, reason)
      return signal
    }

    static timeout(...args) {
      if (args.length === 0) throw badArgument('timeout', 'AbortSignal', 1, 'number')
      const signal = create()
      const ms = +args[0]
      const abort = () => {
        try {
          trigger(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
        } catch (error) {
          realm.exports.events.report(error)
        }
      }
      realm.setTimer(abort, ms > MAX_DELAY_MS ? MAX_DELAY_MS : ms)
      return signal
    }

    static any(...args) {
      const [signals] = args
      if (!Array.isArray(signals)) throw badArgument('any', 'AbortSignal', 1, 'Array')
      const sources = []
      for (let i = 0; i < signals.length; i++) {
        const source = stateOf(signals[i])
        if (source === undefined) throw badElement(i, 'AbortSignal')
        sources.push(source)
      }
      const signal = create()
      const aborted = sources.find((source) => source.aborted)
      if (aborted !== undefined) trigger(signal, aborted.reason)
      else for (const source of sources) source.dependents.push(signal)
      return signal
    }

    static {
      stateOf = (value) => (typeof value === 'object' && value !== null && #state in value ? value.#state : undefined)
    }
  }

  const state = (signal) => {
    const found = stateOf(signal)
    if (found === undefined) throw illegalInvocation()
    return found
  }

  const create = () => new AbortSignalInner(making)

  // Those that depend on a signal hear of it first, as in workerd.
  const trigger = (signal, reason) => {
    const current = stateOf(signal)
    if (current.aborted) return
    current.aborted = true
    current.reason = reason === undefined ? new DOMException('The operation was aborted', 'AbortError') : reason
    const { algorithms, dependents } = current
    current.algorithms = current.dependents = []
    for (let i = 0; i < algorithms.length; i++) algorithms[i](current.reason)
    for (let i = 0; i < dependents.length; i++) trigger(dependents[i], current.reason)
    dispatchTrusted(signal, new Event('abort'))
  }

  let signalOf

  class AbortControllerInner {
    #signal = create()

    get signal() { return signalOf(this) }
    abort(reason) { trigger(signalOf(this), reason) }

    static {
      signalOf = (value) => {
        if (typeof value !== 'object' || value === null || !(#signal in value)) throw illegalInvocation()
        return value.#signal
      }
    }
  }

  const AbortSignal = publish(AbortSignalInner, 'AbortSignal', { constructible: false })
  realm.define('AbortSignal', AbortSignal)
  realm.define('AbortController', publish(AbortControllerInner, 'AbortController'))

  const signals = {
    __proto__: null,
    isSignal: (value) => stateOf(value) !== undefined,
    isAborted: (signal) => stateOf(signal).aborted,
    reasonOf: (signal) => stateOf(signal).reason,
    // Calls `algorithm(reason)` before any listener hears of it; answers a function that withdraws it.
    onAbort: (signal, algorithm) => {
      const current = stateOf(signal)
      current.algorithms.push(algorithm)
      return () => {
        const at = current.algorithms.indexOf(algorithm)
        if (at >= 0) current.algorithms.splice(at, 1)
      }
    },
    abort: trigger,
    create,
  }
  setSignals(signals)
  return signals
}
