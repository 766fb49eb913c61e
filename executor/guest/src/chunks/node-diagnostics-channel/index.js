// node:diagnostics_channel.
import { publish } from '../shape.js'
import { badArgument, illegalInvocation } from '../texts.js'
import { createTracing } from './tracing.js'

const { apply } = Reflect
const MODULE = 'DiagnosticsChannelModule'

// Where there is structuredClone, there are its exceptions.
const refuseToClone = (realm, { name, prototype }) => {
  const cloners = (realm.exports.cloners ??= new Map())
  cloners.set(prototype, () => {
    const text = `Could not serialize object of type "${name}". This type does not support serialization.`
    throw new (realm.exports['dom-exception'].DOMException)(text, 'DataCloneError')
  })
}

export default function install(realm) {
  realm.lazyModule('diagnostics_channel', () => {
    const channels = new Map() // by name
    let stateOf

    class ChannelInner {
      #state

      constructor(name) {
        this.#state = { __proto__: null, name, listeners: new Set(), stores: new Map() }
      }

      hasSubscribers() {
        return stateOf(this).listeners.size > 0
      }

      publish(...args) {
        const { name, listeners } = stateOf(this)
        if (args.length === 0) throw badArgument('publish', 'Channel', 1, 'Value')
        for (const listener of [...listeners]) listener(args[0], name)
      }

      subscribe(listener) {
        const { listeners } = stateOf(this)
        if (typeof listener !== 'function') throw badArgument('subscribe', 'Channel', 1, 'function')
        listeners.add(listener)
      }

      unsubscribe(listener) {
        const { listeners } = stateOf(this)
        if (typeof listener !== 'function') throw badArgument('unsubscribe', 'Channel', 1, 'function')
        listeners.delete(listener)
      }

      bindStore(store, transform) {
        const { stores } = stateOf(this)
        if (!isStorage(store)) throw badArgument('bindStore', 'Channel', 1, 'AsyncLocalStorage')
        if (transform !== undefined && typeof transform !== 'function') {
          throw badArgument('bindStore', 'Channel', 2, 'function')
        }
        stores.set(store, transform)
      }

      unbindStore(store) {
        const { stores } = stateOf(this)
        if (!isStorage(store)) throw badArgument('unbindStore', 'Channel', 1, 'AsyncLocalStorage')
        stores.delete(store)
      }

      runStores(...args) {
        const { stores } = stateOf(this)
        const [message, callback, thisArg, ...rest] = args
        if (args.length === 0) throw badArgument('runStores', 'Channel', 1, 'Value')
        if (typeof callback !== 'function') throw badArgument('runStores', 'Channel', 2, 'function')
        let run = () => {
          this.publish(message)
          return apply(callback, thisArg, rest)
        }
        for (const [store, transform] of stores) {
          const inner = run
          run = () => store.run(transform === undefined ? message : transform(message), inner)
        }
        return run()
      }

      static {
        stateOf = (value) => {
          if (typeof value === 'object' && value !== null && #state in value) return value.#state
          throw illegalInvocation()
        }
      }
    }
    const Channel = publish(ChannelInner, 'Channel', { constructible: false })
    refuseToClone(realm, Channel)

    // There is none unless its module is there.
    const isStorage = (value) => {
      if (realm.exports['node-async-hooks'] === undefined) return false
      return value instanceof realm.findModule('async_hooks').AsyncLocalStorage
    }

    const find = (name) => {
      const key = typeof name === 'symbol' ? name : `${name}`
      let found = channels.get(key)
      if (found === undefined) channels.set(key, (found = new ChannelInner(key)))
      return found
    }

    const { TracingChannel, tracingChannel } = createTracing(realm, Channel, find)

    const members = {
      hasSubscribers(name) { return find(name).hasSubscribers() },
      channel(name) { return find(name) },
      subscribe(name, listener) {
        const channel = find(name)
        if (typeof listener !== 'function') throw badArgument('subscribe', MODULE, 2, 'function')
        channel.subscribe(listener)
      },
      unsubscribe(name, listener) {
        const channel = find(name)
        if (typeof listener !== 'function') throw badArgument('unsubscribe', MODULE, 2, 'function')
        channel.unsubscribe(listener)
      },
      tracingChannel,
      Channel,
    }
    return { ...members, TracingChannel, default: members }
  })
}
