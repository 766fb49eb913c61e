// EventTarget: lists of listeners and the dispatch over one, with workerd's own ways. A listener that throws ends the
// dispatch, one that returns true has prevented the default, an `on…` member that is a function comes first, and
// `this` is the global object.
import { publish } from '../shape.js'
import { badArgument, badField, illegalInvocation, isDictionary } from '../texts.js'
import { stateOf } from './event.js'

const { apply } = Reflect

let listsOf

export class EventTargetInner {
  #lists = createLists()

  addEventListener(...args) { addListener(lists(this), args) }
  removeEventListener(...args) { removeListener(lists(this), args) }
  dispatchEvent(...args) { return dispatchOn(this, lists(this), args) }

  static {
    listsOf = (value) => (typeof value === 'object' && value !== null && #lists in value ? value.#lists : undefined)
  }
}

const lists = (target) => {
  const found = listsOf(target)
  if (found === undefined) throw illegalInvocation()
  return found
}

// Listeners by type of event.
export const createLists = () => ({ __proto__: null })

// What the chunks of AbortSignal and DOMException, and the global object, have to do with events.
export const links = {
  __proto__: null,
  global: undefined,
  DOMException: undefined,
  // { isSignal, isAborted, onAbort }; without it there is no signal that could be given.
  signals: undefined,
}

const OWNER = 'EventTarget'

const describeListener = (listener, given) => {
  if (typeof listener === 'function') return { __proto__: null, listener, call: listener, self: links.global }
  if (listener === null || (listener === undefined && given)) return undefined
  if (typeof listener !== 'object') throw badArgument('addEventListener', OWNER, 2, 'function or HandlerObject')
  const call = listener.handleEvent
  if (typeof call !== 'function') throw badField('handleEvent', 'HandlerObject', 'function')
  return { __proto__: null, listener, call, self: listener }
}

const refuseCapture = (method, options) => {
  if (!isDictionary(options)) {
    if (options) throw new TypeError(`${method}(): useCapture must be false.`)
  } else if (options?.capture) {
    throw new TypeError(`${method}(): options.capture must be false.`)
  }
}

const signalOf = (options) => {
  const signal = options?.signal
  if (signal === undefined) return undefined
  if (!links.signals?.isSignal(signal)) throw badField('signal', 'AddEventListenerOptions', 'AbortSignal')
  return signal
}

const find = (list, listener) => {
  for (let i = 0; i < list.length; i++) if (list[i].listener === listener) return i
  return -1
}

const drop = (all, type, entry) => {
  entry.removed = true
  const list = all[type]
  const at = list === undefined ? -1 : find(list, entry.listener)
  if (at >= 0 && list[at] === entry) list.splice(at, 1)
}

export const addListener = (all, args) => {
  if (args.length === 0) throw badArgument('addEventListener', OWNER, 1, 'string')
  const type = `${args[0]}`
  if (args.length === 1) throw badArgument('addEventListener', OWNER, 2, 'function or HandlerObject')
  const entry = describeListener(args[1], true)
  const options = args[2]
  refuseCapture('addEventListener', options)
  const isOptions = isDictionary(options)
  if (isOptions && options?.passive) throw new TypeError('addEventListener(): options.passive must be false.')
  const signal = isOptions ? signalOf(options) : undefined
  if (entry === undefined) return
  entry.once = isOptions && !!options?.once
  entry.removed = false
  if (signal !== undefined && links.signals.isAborted(signal)) return
  const list = (all[type] ??= [])
  if (find(list, entry.listener) >= 0) return
  list.push(entry)
  if (signal !== undefined) links.signals.onAbort(signal, () => drop(all, type, entry))
}

export const removeListener = (all, args) => {
  if (args.length === 0) throw badArgument('removeEventListener', OWNER, 1, 'string')
  const type = `${args[0]}`
  const listener = args[1]
  if (args.length === 1 || !isDictionary(listener)) throw badArgument('removeEventListener', OWNER, 2, 'Object')
  refuseCapture('removeEventListener', args[2])
  const list = all[type]
  if (list === undefined) return
  const at = find(list, listener)
  if (at >= 0) drop(all, type, list[at])
}

export const dispatchOn = (target, all, args) => {
  const event = stateOf(args[0])
  if (event === undefined) throw badArgument('dispatchEvent', OWNER, 1, 'Event')
  return dispatch(target, all, args[0], event)
}

// Answers whether the default is still to happen.
export const dispatch = (target, all, event, state) => {
  if (state.dispatching) {
    throw new links.DOMException('The event is already being dispatched.', 'InvalidStateError')
  }
  state.dispatching = true
  state.prevented = false
  state.target = target
  try {
    const list = all[state.type]
    const entries = list === undefined ? [] : list.slice()
    const handler = target['on' + state.type]
    if (typeof handler === 'function' && !state.stopping) {
      if (apply(handler, links.global, [event]) === true) state.prevented = true
    }
    for (let i = 0; i < entries.length && !state.stopping; i++) {
      const entry = entries[i]
      if (entry.removed) continue
      if (entry.once) drop(all, state.type, entry)
      if (apply(entry.call, entry.self, [event]) === true) state.prevented = true
    }
  } finally {
    state.dispatching = false
  }
  return !state.prevented
}

// An event of the platform's own making, at a target of any class that extends EventTarget.
export const dispatchTrusted = (target, event) => {
  const state = stateOf(event)
  state.trusted = true
  return dispatch(target, lists(target), event, state)
}

export const EventTarget = publish(EventTargetInner, OWNER)
