// TracingChannel: five channels about one operation.
const { apply } = Reflect
const PARTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error']

export const createTracing = (realm, Channel, find) => {
  const { invalidArgType, validateFunction, validateObject } = realm.exports['node-errors']
  let isAllowed = false

  class TracingChannel {
    #parts

    constructor(parts) {
      if (!isAllowed) throw new Error('Use diagnostic_channel.tracingChannels() to create TracingChannel')
      this.#parts = parts
    }

    get start() { return this.#parts.start }
    get end() { return this.#parts.end }
    get asyncStart() { return this.#parts.asyncStart }
    get asyncEnd() { return this.#parts.asyncEnd }
    get error() { return this.#parts.error }

    subscribe(subscribers) {
      for (const part of PARTS) if (subscribers[part] !== undefined) this.#parts[part].subscribe(subscribers[part])
    }

    unsubscribe(subscribers) {
      for (const part of PARTS) if (subscribers[part] !== undefined) this.#parts[part].unsubscribe(subscribers[part])
    }

    traceSync(fn, context = {}, thisArg = undefined, ...args) {
      const { start, end, error } = this.#parts
      return start.runStores(context, () => {
        try {
          return (context.result = apply(fn, thisArg, args))
        } catch (thrown) {
          context.error = thrown
          error.publish(context)
          throw thrown
        } finally {
          end.publish(context)
        }
      })
    }

    tracePromise(fn, context = {}, thisArg = undefined, ...args) {
      const { start, end, asyncStart, asyncEnd, error } = this.#parts
      const settled = () => {
        asyncStart.publish(context)
        asyncEnd.publish(context)
      }
      const onRejected = (thrown) => {
        context.error = thrown
        error.publish(context)
        settled()
        return Promise.reject(thrown)
      }
      const onFulfilled = (result) => {
        context.result = result
        settled()
        return result
      }
      return start.runStores(context, () => {
        try {
          const result = apply(fn, thisArg, args)
          return (result instanceof Promise ? result : Promise.resolve(result)).then(onFulfilled, onRejected)
        } catch (thrown) {
          context.error = thrown
          error.publish(context)
          throw thrown
        } finally {
          end.publish(context)
        }
      })
    }

    traceCallback(fn, position = -1, context = {}, thisArg = undefined, ...args) {
      const { start, end, asyncStart, asyncEnd, error } = this.#parts
      const callback = args.at(position)
      validateFunction(callback, 'callback')
      function wrappedCallback(thrown, result) {
        if (thrown) {
          context.error = thrown
          error.publish(context)
        } else context.result = result
        asyncStart.runStores(context, () => {
          try {
            return apply(callback, this, arguments)
          } finally {
            asyncEnd.publish(context)
          }
        })
      }
      args.splice(position, 1, wrappedCallback)
      return start.runStores(context, () => {
        try {
          return apply(fn, thisArg, args)
        } catch (thrown) {
          context.error = thrown
          error.publish(context)
          throw thrown
        } finally {
          end.publish(context)
        }
      })
    }
  }
  for (const name of ['traceSync', 'tracePromise', 'traceCallback']) {
    Object.defineProperty(TracingChannel.prototype[name], 'length', { value: 1 })
  }
  Object.defineProperty(TracingChannel, 'length', { value: 0 })

  const partsOf = (nameOrChannels) => {
    const parts = { __proto__: null }
    if (typeof nameOrChannels === 'string') {
      for (const part of PARTS) parts[part] = find(`tracing:${nameOrChannels}:${part}`)
      return parts
    }
    validateObject(nameOrChannels, 'channels')
    for (const part of PARTS) {
      const channel = nameOrChannels[part]
      if (!(channel instanceof Channel)) throw invalidArgType(`channels.${part}`, 'Channel', channel)
      parts[part] = channel
    }
    return parts
  }

  function tracingChannel(nameOrChannels) {
    const parts = partsOf(nameOrChannels)
    isAllowed = true
    try {
      return new TracingChannel(parts)
    } finally {
      isAllowed = false
    }
  }

  return { TracingChannel, tracingChannel }
}
