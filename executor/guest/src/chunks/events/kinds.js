// The further kinds of events. Of some a program finds the class but can make no instance.
import { publish, readOnly } from '../shape.js'
import { badConstructorArgument, illegalInvocation } from '../texts.js'
import { EventInner, checkInit, state } from './event.js'

const { defineProperty } = Reflect

// In workerd only a plain Event that a program makes is not trusted.
const trust = (event) => {
  state(event).trusted = true
}

class CustomEventInner extends EventInner {
  #detail

  constructor(...args) {
    super(...checkInit(args, 'CustomEvent', 'CustomEventInit'))
    trust(this)
    this.#detail = args[1]?.detail
  }

  get detail() { return isObject(this) && #detail in this ? this.#detail : illegal() }
}

const INT_MIN = -2147483648
const INT_MAX = 2147483647

const toInt = (value) => {
  if (value === undefined) return 0
  const number = Math.trunc(+value) || 0
  if (number < INT_MIN || number > INT_MAX) {
    throw new TypeError(`Value out of range. Must be between ${INT_MIN} and ${INT_MAX} (inclusive).`)
  }
  return number
}

const toText = (value) => (value === undefined ? '' : `${value}`)

let fieldsOf

class ErrorEventInner extends EventInner {
  #fields

  constructor(...args) {
    super(...withoutFlags(args, 'ErrorEvent', 'ErrorEventInit'))
    trust(this)
    const init = args[1]
    this.#fields = {
      __proto__: null,
      message: toText(init?.message),
      filename: toText(init?.filename),
      lineno: toInt(init?.lineno),
      colno: toInt(init?.colno),
      error: init?.error,
    }
  }

  get filename() { return fieldsOf(this).filename }
  get message() { return fieldsOf(this).message }
  get lineno() { return fieldsOf(this).lineno }
  get colno() { return fieldsOf(this).colno }
  get error() { return fieldsOf(this).error }

  static {
    fieldsOf = (event) => (isObject(event) && #fields in event ? event.#fields : illegal())
  }
}

class MessageEventInner extends EventInner {
  constructor(...args) {
    super(...withoutFlags(args, 'MessageEvent', 'Initializer'))
    trust(this)
    const init = args[1]
    if (init === undefined && args.length < 2) throw badConstructorArgument('MessageEvent', 2, 'Initializer')
    if (init === undefined || init === null) {
      throw new TypeError(
        'Cannot initialize N7workerd3api12MessageEvent11InitializerE with required members from an undefined or null value.',
      )
    }
    defineProperty(this, 'ports', readOnly([]))
    defineProperty(this, 'source', readOnly(null))
    defineProperty(this, 'lastEventId', readOnly(''))
    defineProperty(this, 'origin', readOnly(null))
    defineProperty(this, 'data', readOnly(init.data))
  }
}

class CloseEventInner extends EventInner {
  constructor(...args) {
    super(...withoutFlags(args, 'CloseEvent', 'Initializer'))
    trust(this)
    const init = args[1]
    defineProperty(this, 'wasClean', readOnly(!!init?.wasClean))
    defineProperty(this, 'reason', readOnly(toText(init?.reason)))
    defineProperty(this, 'code', readOnly(toInt(init?.code)))
  }
}

class PromiseRejectionEventInner extends EventInner {}

class ExtendableEventInner extends EventInner {
  waitUntil() { illegal() }
}

class FetchEventInner extends ExtendableEventInner {
  respondWith() { illegal() }
  passThroughOnException() { illegal() }
}

class ScheduledEventInner extends ExtendableEventInner {
  noRetry() { illegal() }
}

class TailEventInner extends ExtendableEventInner {}

const isObject = (value) => typeof value === 'object' && value !== null

const illegal = () => {
  throw illegalInvocation()
}

// Those whose dictionary has no member of Event's own.
const withoutFlags = (args, owner, dictionary) => [checkInit(args, owner, dictionary)[0]]

export const CustomEvent = publish(CustomEventInner, 'CustomEvent')
export const ErrorEvent = publish(ErrorEventInner, 'ErrorEvent')
export const MessageEvent = publish(MessageEventInner, 'MessageEvent')
export const CloseEvent = publish(CloseEventInner, 'CloseEvent')

const none = { constructible: false }
export const PromiseRejectionEvent = publish(PromiseRejectionEventInner, 'PromiseRejectionEvent', none)
export const ExtendableEvent = publish(ExtendableEventInner, 'ExtendableEvent', none)
export const FetchEvent = publish(FetchEventInner, 'FetchEvent', none)
export const ScheduledEvent = publish(ScheduledEventInner, 'ScheduledEvent', none)
export const TailEvent = publish(TailEventInner, 'TailEvent', none)
