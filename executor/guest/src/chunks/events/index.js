// Events: their classes, EventTarget, and the global object as one.
import { globalFunction } from '../shape.js'
import { SCOPE, badArgument } from '../texts.js'
import { Event, EventInner, stateOf } from './event.js'
import {
  CloseEvent, CustomEvent, ErrorEvent, ExtendableEvent, FetchEvent, MessageEvent, PromiseRejectionEvent, ScheduledEvent,
  TailEvent,
} from './kinds.js'
import {
  EventTarget, EventTargetInner, addListener, createLists, dispatch, dispatchOn, dispatchTrusted, links, removeListener,
} from './target.js'

const UNCAUGHT = 9 // LEVELS of wire/messages.py

export default function install(realm) {
  const { global } = realm
  links.global = global
  links.DOMException = realm.exports['dom-exception'].DOMException
  const classes = {
    EventTarget, Event, CustomEvent, ErrorEvent, MessageEvent, CloseEvent, PromiseRejectionEvent, ExtendableEvent,
    FetchEvent, ScheduledEvent, TailEvent, TraceEvent: TailEvent,
  }
  for (const name in classes) realm.define(name, classes[name])

  const all = createLists()

  // What nobody catches: the program's own listeners come first, and it is written down unless one of them has seen to it.
  const report = (error) => {
    const { name, message } = realm.describe(error)
    const shown = name === '' || name === message ? message : `${name}: ${message}`
    const event = new ErrorEvent('error', { message: `Uncaught ${shown}`, error })
    const state = stateOf(event)
    state.trusted = true
    if (dispatch(global, all, event, state)) realm.log(UNCAUGHT, message)
  }

  const define = (name, implementation) =>
    realm.defineEnumerable(name, globalFunction(global, name, implementation))
  define('addEventListener', (...args) => addListener(all, args))
  define('removeEventListener', (...args) => removeListener(all, args))
  define('dispatchEvent', (...args) => dispatchOn(global, all, args))
  define('reportError', (...args) => {
    if (args.length === 0) throw badArgument('reportError', SCOPE, 1, 'JsValue')
    report(args[0])
  })
  return {
    __proto__: null,
    Event,
    EventInner,
    EventTarget,
    EventTargetInner,
    ErrorEvent,
    MessageEvent,
    CloseEvent,
    dispatchTrusted,
    report,
    setSignals: (signals) => {
      links.signals = signals
    },
  }
}
