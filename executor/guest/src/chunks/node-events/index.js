// node:events.
export default function install(realm) {
  const make = () => {
    const {
      abortError, errorClass, invalidArgType, outOfRange, validateAbortSignal, validateBoolean, validateFunction,
      validateInteger, validateObject,
    } = realm.exports['node-errors']
    const { inspect } = realm.exports['node-inspect']
    const UnhandledError = errorClass('ERR_UNHANDLED_ERROR')

    const captureSymbol = Symbol.for('nodejs.rejection')
    const errorMonitor = Symbol('events.errorMonitor')
    const capture = Symbol('kCapture')
    const maxTargets = Symbol('events.maxEventTargetListeners')
    const maxTargetsWarned = Symbol('events.maxEventTargetListenersWarned')

    let defaultMax = 10
    let defaultCapture = false

    const isEventTarget = (value) => typeof value?.addEventListener === 'function' &&
      typeof value?.removeEventListener === 'function'
    const checkMax = (n, name = 'n') => {
      if (typeof n !== 'number' || !(n >= 0)) throw outOfRange(name, 'a non-negative number', n)
    }
    const checkListener = (listener) => validateFunction(listener, 'listener')

    function EventEmitter(options) {
      EventEmitter.init.call(this, options)
      return this
    }
    EventEmitter.prototype._events = undefined
    EventEmitter.prototype._eventsCount = 0
    EventEmitter.prototype._maxListeners = undefined

    const init = function (options) {
      if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
        this._events = { __proto__: null }
        this._eventsCount = 0
      }
      this._maxListeners = this._maxListeners || undefined
      if (options?.captureRejections) {
        validateBoolean(options.captureRejections, 'options.captureRejections')
        this[capture] = Boolean(options.captureRejections)
      } else this[capture] = defaultCapture
    }

    const nextTick = async (callback) => {
      await undefined
      callback()
    }

    // The rejection of an asynchronous listener becomes an 'error' event, if that was asked for.
    const captureRejection = (emitter, result, type, args) => {
      if (!emitter[capture]) return
      try {
        const { then } = result
        if (typeof then !== 'function') return
        then.call(result, undefined, (error) => {
          void nextTick(() => {
            if (typeof emitter[captureSymbol] === 'function') {
              emitter[captureSymbol](error, type, ...args)
              return
            }
            const before = emitter[capture]
            try {
              emitter[capture] = false
              emitter.emit('error', error)
            } finally {
              emitter[capture] = before
            }
          })
        })
      } catch (error) {
        emitter.emit('error', error)
      }
    }

    const maxOf = (emitter) => (emitter._maxListeners === undefined ? defaultMax : emitter._maxListeners)

    const add = (emitter, type, listener, prepend) => {
      checkListener(listener)
      let events = emitter._events
      let existing
      if (events === undefined) {
        events = emitter._events = { __proto__: null }
        emitter._eventsCount = 0
      } else {
        if (events.newListener !== undefined) {
          emitter.emit('newListener', type, listener.listener ?? listener)
          events = emitter._events
        }
        existing = events[type]
      }
      if (existing === undefined) {
        events[type] = listener
        emitter._eventsCount += 1
        return emitter
      }
      if (typeof existing === 'function') existing = events[type] = prepend ? [listener, existing] : [existing, listener]
      else if (prepend) existing.unshift(listener)
      else existing.push(listener)
      const most = maxOf(emitter)
      if (most > 0 && existing.length > most && !existing.warned) {
        existing.warned = true
        realm.global.console.log(
          'Possible EventEmitter memory leak detected. ' + existing.length + ' ' + String(type) + ' listeners added to ' +
          'an EventEmitter. Use emitter.setMaxListeners() to increase limit',
        )
      }
      return emitter
    }

    const onceOnly = (emitter, type, listener) => {
      const state = { fired: false }
      const wrapped = function (...args) {
        if (state.fired) return undefined
        emitter.removeListener(type, wrapped)
        state.fired = true
        return Reflect.apply(listener, emitter, args)
      }
      wrapped.listener = listener
      return wrapped
    }

    const listed = (emitter, type, unwrap) => {
      const found = emitter._events?.[type]
      if (found === undefined) return []
      const all = typeof found === 'function' ? [found] : found.slice()
      return unwrap ? all.map((listener) => listener.listener || listener) : all
    }

    const raise = (args) => {
      const [error] = args
      if (error instanceof Error) throw error
      let shown
      try {
        shown = inspect(error)
      } catch {
        shown = error
      }
      const unhandled = new UnhandledError('Unhandled error. (' + shown + ')')
      unhandled.context = error
      throw unhandled
    }

    const countOf = (emitter, type) => {
      const found = emitter._events?.[type]
      return found === undefined ? 0 : typeof found === 'function' ? 1 : found.length
    }

    const methods = {
      setMaxListeners(n) {
        checkMax(n)
        this._maxListeners = n
        return this
      },
      getMaxListeners() { return maxOf(this) },
      emit(type, ...args) {
        const events = this._events
        let isError = type === 'error'
        if (events !== undefined) {
          if (isError && events[errorMonitor] !== undefined) this.emit(errorMonitor, ...args)
          isError = isError && events.error === undefined
        }
        if (isError) raise(args)
        const handler = events?.[type]
        if (handler === undefined) return false
        for (const listener of typeof handler === 'function' ? [handler] : handler.slice()) {
          const result = Reflect.apply(listener, this, args)
          if (result !== undefined && result !== null) captureRejection(this, result, type, args)
        }
        return true
      },
      addListener(type, listener) { return add(this, type, listener, false) },
      on: undefined, // the same function, below
      prependListener(type, listener) { return add(this, type, listener, true) },
      once(type, listener) {
        checkListener(listener)
        this.on(type, onceOnly(this, type, listener))
        return this
      },
      prependOnceListener(type, listener) {
        checkListener(listener)
        this.prependListener(type, onceOnly(this, type, listener))
        return this
      },
      removeListener(type, listener) {
        checkListener(listener)
        const events = this._events
        const list = events?.[type]
        if (list === undefined) return this
        const all = typeof list === 'function' ? [list] : list
        const index = all.findLastIndex((one) => one === listener || one.listener === listener)
        if (index === -1) return this
        if (all.length === 1) {
          this._eventsCount -= 1
          if (this._eventsCount === 0) this._events = { __proto__: null }
          else delete events[type]
          if (events.removeListener) this.emit('removeListener', type, all[0].listener || listener)
          return this
        }
        const [removed] = list.splice(index, 1)
        if (list.length === 1) events[type] = list[0]
        if (events.removeListener !== undefined) this.emit('removeListener', type, removed.listener || listener)
        return this
      },
      off: undefined,
      removeAllListeners(type) {
        const events = this._events
        if (events === undefined) return this
        if (events.removeListener === undefined) {
          if (arguments.length === 0) {
            this._events = { __proto__: null }
            this._eventsCount = 0
          } else if (events[type] !== undefined) {
            this._eventsCount -= 1
            if (this._eventsCount === 0) this._events = { __proto__: null }
            else delete events[type]
          }
          return this
        }
        if (arguments.length === 0) {
          for (const key of Reflect.ownKeys(events)) if (key !== 'removeListener') this.removeAllListeners(key)
          this.removeAllListeners('removeListener')
          this._events = { __proto__: null }
          this._eventsCount = 0
          return this
        }
        for (const listener of listed(this, type, false).reverse()) this.removeListener(type, listener)
        return this
      },
      listeners(type) { return listed(this, type, true) },
      rawListeners(type) { return listed(this, type, false) },
      listenerCount(type) { return countOf(this, type) },
      eventNames() { return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [] },
    }
    methods.on = methods.addListener
    methods.off = methods.removeListener
    for (const key of [
      'setMaxListeners', 'getMaxListeners', 'emit', 'addListener', 'on', 'prependListener', 'once', 'prependOnceListener',
      'removeListener', 'off', 'removeAllListeners', 'listeners', 'rawListeners', 'listenerCount', 'eventNames',
    ]) EventEmitter.prototype[key] = methods[key]

    const addTo = (emitter, name, listener, flags) => {
      if (typeof emitter.on === 'function') {
        if (flags?.once) emitter.once(name, listener)
        else emitter.on(name, listener)
      } else if (typeof emitter.addEventListener === 'function') emitter.addEventListener(name, listener, flags)
      else throw invalidArgType('emitter', 'EventEmitter', emitter)
    }
    const removeFrom = (emitter, name, listener, flags) => {
      if (typeof emitter.removeListener === 'function') emitter.removeListener(name, listener)
      else if (typeof emitter.removeEventListener === 'function') emitter.removeEventListener(name, listener, flags)
      else throw invalidArgType('emitter', 'EventEmitter', emitter)
    }

    async function once(emitter, name, options = {}) {
      validateObject(options, 'options')
      const { signal } = options
      validateAbortSignal(signal, 'options.signal')
      if (signal?.aborted) throw abortError({ cause: signal.reason })
      return new Promise((resolve, reject) => {
        const onError = (error) => {
          removeFrom(emitter, name, onEvent)
          if (signal !== undefined) removeFrom(signal, 'abort', onAbort)
          reject(error)
        }
        const onEvent = (...args) => {
          if (typeof emitter.removeListener === 'function') emitter.removeListener('error', onError)
          if (signal !== undefined) removeFrom(signal, 'abort', onAbort)
          resolve(args)
        }
        const onAbort = () => {
          removeFrom(emitter, name, onEvent)
          removeFrom(emitter, 'error', onError)
          reject(abortError())
        }
        addTo(emitter, name, onEvent, { once: true })
        if (name !== 'error' && typeof emitter.once === 'function') emitter.once('error', onError)
        if (signal !== undefined) addTo(signal, 'abort', onAbort, { once: true })
      })
    }

    const asyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype)

    function on(emitter, event, options = {}) {
      const { signal } = options
      validateAbortSignal(signal, 'options.signal')
      if (signal?.aborted) throw abortError({ cause: signal.reason })
      const high = options.highWaterMark ?? options.highWatermark ?? Number.MAX_SAFE_INTEGER
      const low = options.lowWaterMark ?? options.lowWatermark ?? 1
      validateInteger(high, 'options.highWaterMark', 1)
      validateInteger(low, 'options.lowWaterMark', 1)
      const events = []
      const waiting = []
      let error = null
      let finished = false
      let paused = false

      const handler = (...args) => {
        const promise = waiting.shift()
        if (promise !== undefined) promise.resolve({ value: args, done: false })
        else {
          events.push(args)
          if (events.length > high && typeof emitter.pause === 'function') {
            paused = true
            emitter.pause()
          }
        }
      }
      const onError = (reason) => {
        const promise = waiting.shift()
        if (promise !== undefined) promise.reject(reason)
        else error = reason
        iterator.return()
      }
      const onAbort = () => onError(abortError({ cause: signal.reason }))
      const onClose = () => iterator.return()
      const close = () => {
        removeFrom(emitter, event, handler)
        if (event !== 'error' && typeof emitter.on === 'function') removeFrom(emitter, 'error', onError)
        for (const name of options.close ?? []) removeFrom(emitter, name, onClose)
        if (signal !== undefined) removeFrom(signal, 'abort', onAbort)
        finished = true
        for (const promise of waiting.splice(0)) promise.resolve({ value: undefined, done: true })
      }

      const iterator = Object.setPrototypeOf({
        next() {
          if (events.length > 0) {
            const value = events.shift()
            if (paused && events.length < low) {
              emitter.resume()
              paused = false
            }
            return Promise.resolve({ value, done: false })
          }
          if (error !== null) {
            const reason = error
            error = null
            return Promise.reject(reason)
          }
          if (finished) return Promise.resolve({ value: undefined, done: true })
          return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
        },
        return() {
          close()
          return Promise.resolve({ value: undefined, done: true })
        },
        throw(reason) {
          if (!reason || !(reason instanceof Error)) throw invalidArgType('EventEmitter.AsyncIterator', 'Error', reason)
          onError(reason)
        },
        [Symbol.asyncIterator]() { return this },
      }, asyncIteratorPrototype)

      addTo(emitter, event, handler)
      if (event !== 'error' && typeof emitter.on === 'function') emitter.on('error', onError)
      for (const name of options.close ?? []) addTo(emitter, name, onClose)
      if (signal !== undefined) addTo(signal, 'abort', onAbort, { once: true })
      return iterator
    }

    function getEventListeners(emitterOrTarget, type) {
      if (typeof emitterOrTarget.listeners === 'function') return emitterOrTarget.listeners(type)
      const found = isEventTarget(emitterOrTarget) ? realm.exports.events?.listenersOf?.(emitterOrTarget, type) : undefined
      if (isEventTarget(emitterOrTarget)) return found ?? []
      throw invalidArgType('emitter', ['EventEmitter', 'EventTarget'], emitterOrTarget)
    }

    function getMaxListeners(emitterOrTarget) {
      const own = emitterOrTarget._maxListeners
      return own ?? emitterOrTarget[maxTargets] ?? defaultMax
    }

    function setMaxListeners(n = defaultMax, ...targets) {
      checkMax(n)
      if (targets.length === 0) defaultMax = n
      for (const target of targets) {
        if (typeof target?.setMaxListeners === 'function') target.setMaxListeners(n)
        else if (isEventTarget(target)) target[maxTargets] = n
        else throw invalidArgType('eventTargets', ['EventEmitter', 'EventTarget'], target)
      }
    }
    Object.defineProperty(setMaxListeners, 'length', { value: 0 })

    function listenerCount(emitter, type) {
      return typeof emitter.listenerCount === 'function' ? emitter.listenerCount(type) : countOf(emitter, type)
    }

    function addAbortListener(signal, listener) {
      if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal)
      validateAbortSignal(signal, 'signal')
      validateFunction(listener, 'listener')
      let remove
      if (signal.aborted) void nextTick(() => listener())
      else {
        signal.addEventListener('abort', listener, { once: true })
        remove = () => signal.removeEventListener('abort', listener)
      }
      return { [Symbol.dispose]() { remove?.() } }
    }

    const makeResourceEmitter = () => {
      const { AsyncResource } = realm.exports['node-async-hooks']
      class EventEmitterReferencingAsyncResource extends AsyncResource {
        #emitter
        constructor(emitter, type, options) {
          super(type, options)
          this.#emitter = emitter
        }
        get eventEmitter() { return this.#emitter }
      }
      return class EventEmitterAsyncResource extends EventEmitter {
        #resource
        constructor(options) {
          let name
          if (typeof options === 'string') {
            name = options
            options = undefined
          } else name = options?.name || new.target.name
          super(options)
          this.#resource = new EventEmitterReferencingAsyncResource(this, name, options)
        }
        emit(event, ...args) { return this.#resource.runInAsyncScope(super.emit, this, event, ...args) }
        get asyncResource() { return this.#resource }
      }
    }

    EventEmitter.on = on
    EventEmitter.once = once
    EventEmitter.getEventListeners = getEventListeners
    EventEmitter.getMaxListeners = getMaxListeners
    EventEmitter.setMaxListeners = setMaxListeners
    EventEmitter.listenerCount = listenerCount
    EventEmitter.EventEmitter = EventEmitter
    EventEmitter.usingDomains = false
    EventEmitter.captureRejectionSymbol = captureSymbol
    EventEmitter.errorMonitor = errorMonitor
    EventEmitter.EventEmitterAsyncResource = makeResourceEmitter()
    Object.defineProperties(EventEmitter, {
      captureRejections: {
        get: () => defaultCapture,
        set: (value) => {
          validateBoolean(value, 'EventEmitter.captureRejections')
          defaultCapture = value
        },
        enumerable: true,
        configurable: false,
      },
      defaultMaxListeners: {
        get: () => defaultMax,
        set: (value) => {
          checkMax(value, 'defaultMaxListeners')
          defaultMax = value
        },
        enumerable: true,
        configurable: false,
      },
      kMaxEventTargetListeners: { value: maxTargets, enumerable: false },
      kMaxEventTargetListenersWarned: { value: maxTargetsWarned, enumerable: false },
    })
    EventEmitter.init = Object.defineProperty(init, 'name', { value: '' })
    EventEmitter.addAbortListener = addAbortListener
    return EventEmitter
  }
  let made
  realm.lazyModule('events', () => {
    made ??= make()
    const { captureRejections, init, ...named } = made
    return { ...named, default: made }
  })
}
