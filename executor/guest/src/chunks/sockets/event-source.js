// EventSource: of a stream that a program has; one of a URL finds no network.
import { badField } from '../texts.js'
import { defineConstants, readOnly } from '../shape.js'
import { createParser } from './event-stream.js'

const CONNECTING = 0
const OPEN = 1
const CLOSED = 2
const INIT = 'EventSourceInit'

export const createEventSource = (realm) => {
  const { native, bytes, readable, Reader } = realm.exports['readable-streams']
  const { createInterface, toDictionary, toText } = native
  const { EventTarget, ErrorEvent, MessageEvent, dispatchTrusted } = realm.exports.events
  const { DOMException } = realm.exports['dom-exception']
  const { refusal } = realm.exports.fetch
  const { TextDecoder, URL } = realm.global

  const create = (self, url) => ({ self, url, readyState: CONNECTING, handlers: { __proto__: null } })

  const fail = (state, error) => {
    if (state.readyState === CLOSED) return
    state.readyState = CLOSED
    dispatchTrusted(state.self, new ErrorEvent('error', { error }))
  }

  const nextChunk = (reader) =>
    new Promise((chunk, error) => {
      reader.read({ chunk: (value) => chunk({ value }), close: () => chunk(undefined), error })
    })

  const give = (state, { type, data, id }) => {
    const event = new MessageEvent(type, { data })
    Object.defineProperty(event, 'lastEventId', readOnly(id))
    dispatchTrusted(state.self, event)
  }

  const run = async (state, reader) => {
    const decoder = new TextDecoder()
    const feed = createParser((event) => give(state, event))
    try {
      for (let chunk; state.readyState !== CLOSED && (chunk = await nextChunk(reader)) !== undefined;) {
        if (!bytes.isBufferSource(chunk.value)) throw new TypeError('This ReadableStream did not return bytes.')
        feed(decoder.decode(chunk.value, { stream: true }))
      }
    } catch (error) {
      return fail(state, error)
    }
    fail(state, new Error('The server disconnected.'))
  }

  const refuse = async (state) => {
    await undefined
    const isHttp = state.url.startsWith('http:') || state.url.startsWith('https:')
    fail(state, isHttp ? refusal() : new TypeError(`Fetch API cannot load: ${state.url}`))
  }

  const handler = (name) => ({
    get: (state) => state.handlers[name] ?? null,
    set: (state, value) => void (state.handlers[name] = typeof value === 'function' ? value : null),
  })
  const handlers = { onopen: handler('open'), onmessage: handler('message'), onerror: handler('error') }
  const pick = (which) => Object.fromEntries(Object.entries(handlers).map(([name, accessors]) => [name, accessors[which]]))

  const eventSource = createInterface('EventSource', {
    base: EventTarget,
    required: { constructor: ['string'], from: ['ReadableStream'] },
    construct([address, given], bad, self) {
      const text = toText(address)
      const init = toDictionary(given, bad, 2, INIT)
      const url = URL.parse(text)
      if (url === null) throw new DOMException(`Cannot open an EventSource to '${text}'. The URL is invalid.`, 'SyntaxError')
      if (init.withCredentials) {
        throw new DOMException(
          'The init.withCredentials option is not supported. It must be false or undefined.',
          'NotSupportedError',
        )
      }
      if (init.fetcher !== undefined) throw badField('fetcher', INIT, 'Fetcher')
      const state = create(self, url.href)
      refuse(state)
      return state
    },
    methods: { close: (state) => void (state.readyState = CLOSED) },
    getters: {
      url: (state) => state.url,
      withCredentials: () => false,
      readyState: (state) => state.readyState,
      ...pick('get'),
    },
    setters: pick('set'),
    statics: {
      from(state, [stream], self, bad) {
        if (!readable.has(stream)) throw bad(1, 'ReadableStream')
        const reader = new Reader(readable.of(stream), 'This ReadableStream is locked.')
        const made = create(undefined, '')
        made.self = Object.setPrototypeOf(eventSource.stamp(new EventTarget(), made), eventSource.Class.prototype)
        made.readyState = OPEN
        run(made, reader)
        return made.self
      },
    },
  })
  eventSource.hide(Symbol.dispose, (state) => void (state.readyState = CLOSED))
  defineConstants(eventSource.Class, { CONNECTING, OPEN, CLOSED })
  realm.define('EventSource', eventSource.Class)
}
