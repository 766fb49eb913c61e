// WebSocket and WebSocketPair. No connection leaves a run, so what there is to talk to is the other end of a pair.
import { defineConstants } from '../shape.js'

const OPEN = 1
const CLOSING = 2
const CLOSED = 3
const STATES = { CONNECTING: 0, OPEN, CLOSING, CLOSED }
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const NO_STATUS = 1005
const ABNORMAL = 1006
const NOT_ACCEPTED = 'You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.'

const toProtocols = (given, fail) => {
  if (!Array.isArray(given)) {
    if (!TOKEN.test(given)) throw fail('The protocol header token is invalid.')
    return
  }
  const seen = new Set()
  for (const value of given) {
    const protocol = `${value}`
    if (!TOKEN.test(protocol)) throw fail('One of the protocol header tokens is invalid.')
    if (seen.has(protocol)) throw fail('The protocols header cannot have repeating values.')
    seen.add(protocol)
  }
}

export const createWebSockets = (realm) => {
  const { native, bytes } = realm.exports['readable-streams']
  const { createInterface, toText } = native
  const { EventTarget, ErrorEvent, MessageEvent, CloseEvent, dispatchTrusted } = realm.exports.events
  const { DOMException } = realm.exports['dom-exception']
  const { makeBlob } = realm.exports.blob
  const { refusal } = realm.exports.fetch
  const { URL, structuredClone } = realm.global

  const create = () => ({
    self: undefined,
    peer: undefined,
    accepted: false,
    sentClose: false,
    gotClose: false,
    failed: false,
    binaryType: 'arraybuffer',
    waiting: [],
    delivering: false,
    attachment: undefined,
  })

  const readyState = ({ sentClose, gotClose, failed, peer }) => {
    if (failed || (sentClose && gotClose)) return CLOSED
    return sentClose || gotClose || peer.sentClose ? CLOSING : OPEN
  }

  const received = (data, { binaryType }) => {
    if (typeof data === 'string') return data
    return binaryType === 'blob' ? makeBlob(data, '') : data.buffer
  }

  // A listener that throws ends the connection.
  const fail = (state, error) => {
    const { name, message } = realm.describe(error)
    state.failed = state.peer.failed = true
    state.waiting = []
    put(state.peer, { code: ABNORMAL, reason: '', wasClean: false })
    const shown = name === '' ? message : `${name}: ${message}`
    dispatchTrusted(state.self, new ErrorEvent('error', { message: `Uncaught ${shown}`, error }))
  }

  const eventOf = (state, item) => {
    if (item.code === undefined) return new MessageEvent('message', { data: received(item.data, state) })
    state.gotClose = true
    return new CloseEvent('close', item)
  }

  const deliver = async (state) => {
    if (state.delivering || !state.accepted) return
    state.delivering = true
    // Not before whoever sent it has gone on.
    await undefined
    await undefined
    while (state.waiting.length > 0) {
      const event = eventOf(state, state.waiting.shift())
      try {
        dispatchTrusted(state.self, event)
      } catch (error) {
        fail(state, error)
      }
      await undefined
    }
    state.delivering = false
  }

  const put = (state, item) => {
    state.waiting.push(item)
    deliver(state)
  }

  const toData = (value) => (bytes.isBufferSource(value) ? bytes.copyBytes(value) : toText(value))

  const toCode = (value) => {
    if (value === undefined) return NO_STATUS
    const code = Math.trunc(Number(value))
    if (!(code >= 1000 && code < 5000) || code === 1004 || code === NO_STATUS || code === ABNORMAL) {
      throw new DOMException(`Invalid WebSocket close code: ${code}.`, 'InvalidAccessError')
    }
    return code
  }

  const webSocket = createInterface('WebSocket', {
    base: EventTarget,
    required: { constructor: ['string'], send: ['ArrayBuffer or ArrayBufferView or string'] },
    construct([address, protocols]) {
      const text = toText(address)
      const wanted = protocols === undefined || Array.isArray(protocols) ? protocols : `${protocols}`
      const bad = (what) => new DOMException(`WebSocket Constructor: ${what}`, 'SyntaxError')
      const url = URL.parse(text)
      if (url === null) throw bad('The url is invalid.')
      if (url.protocol !== 'ws:' && url.protocol !== 'wss:') throw bad('The url scheme must be ws or wss.')
      if (url.hash !== '') throw bad('The url fragment must be empty.')
      if (wanted !== undefined) toProtocols(wanted, bad)
      throw refusal()
    },
    methods: {
      accept(state) {
        state.accepted = true
        deliver(state)
      },
      send(state, [message]) {
        const data = toData(message)
        if (!state.accepted) throw new TypeError(NOT_ACCEPTED)
        if (state.sentClose) throw new TypeError("Can't call WebSocket send() after close().")
        if (!state.failed) put(state.peer, { data })
      },
      close(state, [given, text]) {
        const code = toCode(given)
        if (text !== undefined && given === undefined) {
          throw new DOMException(
            'If you specify a WebSocket close reason, you must also specify a code.',
            'InvalidAccessError',
          )
        }
        if (!state.accepted) throw new TypeError(NOT_ACCEPTED)
        if (state.sentClose || state.failed) return
        state.sentClose = true
        put(state.peer, { code, reason: text === undefined ? '' : toText(text), wasClean: true })
      },
      serializeAttachment: (state, [value]) => void (state.attachment = { value: structuredClone(value) }),
      deserializeAttachment: ({ attachment }) => (attachment === undefined ? null : structuredClone(attachment.value)),
    },
    getters: {
      readyState,
      url: () => null,
      protocol: () => '',
      extensions: () => '',
      binaryType: (state) => state.binaryType,
    },
    setters: {
      binaryType(state, value) {
        const type = `${value}`
        if (type === 'blob' || type === 'arraybuffer') state.binaryType = type
      },
    },
  })
  defineConstants(webSocket.Class, STATES)
  for (const name of Object.keys(STATES)) defineConstants(webSocket.Class, { [`READY_STATE_${name}`]: STATES[name] })

  const end = () => {
    const state = create()
    state.self = Object.setPrototypeOf(webSocket.stamp(new EventTarget(), state), webSocket.Class.prototype)
    return state
  }

  const webSocketPair = createInterface('WebSocketPair', {
    construct(args, bad, self) {
      const ends = [end(), end()]
      ends[0].peer = ends[1]
      ends[1].peer = ends[0]
      const sockets = ends.map((state) => state.self)
      sockets.forEach((socket, i) => {
        Object.defineProperty(self, i, {
          __proto__: null, value: socket, writable: true, enumerable: true, configurable: true,
        })
      })
      return sockets
    },
  })
  webSocketPair.hide(Symbol.iterator, (sockets) => sockets.values())

  const requestResponsePair = createInterface('WebSocketRequestResponsePair', {
    required: { constructor: ['string', 'string'] },
    construct: ([request, response]) => ({ request: toText(request), response: toText(response) }),
    getters: { request: (state) => state.request, response: (state) => state.response },
  })

  for (const { Class } of [webSocket, webSocketPair, requestResponsePair]) realm.define(Class.name, Class)
  return webSocket
}
