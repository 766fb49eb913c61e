// Response, as workerd has it.
import { badField } from '../texts.js'
import { isNullBody, isRedirect, phraseOf } from './status.js'

const INIT = 'InitializerDict'
const INIT_OR_RESPONSE = `${INIT} or Response`
const BAD_STATUS_TEXT = /[\0\r\n]/

const toInteger = (value) => Math.trunc(+value) || 0

export const createResponse = (realm, { base, extract, ofContent, clone, refuseToClone }, headersOf) => {
  const { native, utf8 } = realm.exports.native
  const { createInterface, isObject, toText } = native
  const { URL } = realm.global
  const { headers } = headersOf
  const stringify = JSON.stringify
  // The class of the other end of a pair, if there is one in this run.
  const isWebSocket = (value) => realm.exports.sockets?.webSocket.has(value) ?? false

  const finish = (state) => {
    state.contentType = () => headersOf.get(state.headers, 'content-type')
    state.facade = headers.make(state.headers)
    return state
  }

  const fresh = (body, status, headersState) =>
    finish({
      status, statusText: undefined, headers: headersState, body, cf: undefined, webSocket: null, type: 'default', url: '',
      redirected: false,
    })

  const readInit = (given, bad) => {
    if (given === undefined || given === null) return { headers: headersOf.create() }
    if (!isObject(given)) throw bad(2, INIT_OR_RESPONSE)
    if (response.has(given)) {
      const { status, statusText, headers: other, cf, webSocket } = response.of(given)
      return { status, statusText, headers: headersOf.copy(other), cf, webSocket }
    }
    const { status, statusText, headers: init, cf, webSocket, encodeBody } = given
    if (webSocket !== undefined && webSocket !== null && !isWebSocket(webSocket)) {
      throw badField('webSocket', INIT, 'WebSocket')
    }
    if (encodeBody !== undefined && `${encodeBody}` !== 'automatic' && `${encodeBody}` !== 'manual') {
      throw new TypeError(`encodeBody: unexpected value: ${encodeBody}`)
    }
    return {
      status: status === undefined ? undefined : toInteger(status),
      statusText: statusText === undefined ? undefined : toText(statusText),
      headers: headersOf.from(init, (type) => badField('headers', INIT, type)),
      cf,
      webSocket: webSocket ?? undefined,
    }
  }

  // `give()` answers the body.
  const build = (give, given, bad) => {
    const init = readInit(given, bad)
    const { status = init.webSocket == null ? 200 : 101, statusText, headers: state, cf, webSocket = null } = init
    if (webSocket !== null) {
      if (status !== 101) throw new RangeError('Responses with a WebSocket must have status code 101.')
    } else if (!(status >= 200 && status <= 599)) {
      throw new RangeError('Responses may only be constructed with status codes in the range 200 to 599, inclusive.')
    }
    if (statusText !== undefined && BAD_STATUS_TEXT.test(statusText)) throw new TypeError('Invalid statusText')
    let body = give()
    if (body !== null && isNullBody(status)) {
      if (body.stream !== undefined || body.content().length > 0) {
        throw new TypeError('Response with null body status (101, 204, 205, or 304) cannot have a body.')
      }
      body = null
    }
    headersOf.setType(state, body?.type)
    return { ...fresh(body, status, state), statusText, cf, webSocket }
  }

  const response = createInterface('Response', {
    parent: base,
    construct: ([value, init], bad) =>
      finish(build(() => (value === undefined || value === null ? null : extract(value)), init, bad)),
    methods: {
      clone(state) {
        const [mine, other] = clone(state.body)
        state.body = mine
        const copied = { ...headersOf.copy(state.headers), immutable: state.headers.immutable }
        return response.make(finish({ ...state, headers: copied, body: other }))
      },
    },
    getters: {
      status: (state) => state.status,
      statusText: (state) => state.statusText ?? phraseOf(state.status),
      headers: (state) => state.facade,
      ok: ({ status }) => status >= 200 && status <= 299,
      redirected: (state) => state.redirected,
      url: (state) => state.url,
      webSocket: (state) => state.webSocket,
      cf: (state) => state.cf,
      type: (state) => state.type,
    },
    statics: {
      error: () => response.make({ ...fresh(null, 0, headersOf.create()), type: 'error' }),
      redirect(state, [target, given]) {
        const text = toText(target)
        const status = given === undefined ? 302 : toInteger(given)
        if (!isRedirect(status)) {
          throw new RangeError(`${status} is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.`)
        }
        const url = URL.parse(text)
        if (url === null) throw new TypeError(`Unable to parse URL: ${text}`)
        const headersState = headersOf.create()
        headersOf.set(headersState, 'location', url.href)
        headersState.immutable = true
        return response.make(fresh(null, status, headersState))
      },
      json(state, [data, init], self, bad) {
        const text = `${stringify(data)}`
        const body = ofContent(() => utf8.encode(text), 'application/json')
        return response.make(finish(build(() => body, init, bad)))
      },
    },
    required: { redirect: ['string'], json: ['JsValue'] },
  })
  realm.define('Response', response.Class)

  return {
    response,
    // An answer of our own, and one of the host.
    make: (bytes, status, state) => response.make(fresh(ofContent(() => bytes), status, state)),
    receive: (body, status, headersState, more) => response.make(Object.assign(fresh(body, status, headersState), more)),
    // For structuredClone.
    clone(value) {
      const state = response.of(value)
      refuseToClone(state.body)
      return response.make(finish({ ...state, headers: headersOf.copy(state.headers), url: '', redirected: false }))
    },
  }
}
