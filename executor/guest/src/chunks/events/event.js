// Event, and the state of one: what its getters show, and what a dispatch changes.
import { defineConstants, publish } from '../shape.js'
import { badConstructorArgument, illegalInvocation, isDictionary } from '../texts.js'

const AT_TARGET = 2

let stateOf

// The arguments of an event's constructor.
export const checkInit = (args, owner, dictionary) => {
  if (args.length === 0) throw badConstructorArgument(owner, 1, 'string')
  if (!isDictionary(args[1])) throw badConstructorArgument(owner, 2, dictionary)
  return args
}

export class EventInner {
  #state

  constructor(...args) {
    const [type, init] = checkInit(args, 'Event', 'Init')
    this.#state = {
      __proto__: null,
      type: `${type}`,
      bubbles: !!init?.bubbles,
      cancelable: !!init?.cancelable,
      composed: !!init?.composed,
      target: undefined,
      trusted: false,
      dispatching: false,
      prevented: false,
      stopping: false, // no further listener is called
      stopped: false, // what cancelBubble shows
    }
  }

  get type() { return state(this).type }
  get eventPhase() { return state(this).dispatching ? AT_TARGET : 0 }
  get composed() { return state(this).composed }
  get bubbles() { return state(this).bubbles }
  get cancelable() { return state(this).cancelable }
  get defaultPrevented() { return isPrevented(state(this)) }
  get returnValue() { return !isPrevented(state(this)) }
  get currentTarget() { return state(this).target }
  get target() { return state(this).target }
  get srcElement() { return state(this).target }
  get timeStamp() { return state(this), 0 }
  get isTrusted() { return state(this).trusted }
  get cancelBubble() { return state(this).stopped }
  set cancelBubble(value) { state(this).stopped = !!value }

  stopImmediatePropagation() { state(this).stopping = true }
  preventDefault() { state(this).prevented = true }
  stopPropagation() { state(this).stopped = true }
  composedPath() {
    const { dispatching, target } = state(this)
    return dispatching ? [target] : []
  }

  static {
    stateOf = (value) => (typeof value === 'object' && value !== null && #state in value ? value.#state : undefined)
  }
}

const isPrevented = ({ cancelable, prevented }) => cancelable && prevented

// The state of an event, undefined for what is none.
export { stateOf }

export const state = (event) => {
  const found = stateOf(event)
  if (found === undefined) throw illegalInvocation()
  return found
}

export const Event = publish(EventInner, 'Event')
defineConstants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 })
