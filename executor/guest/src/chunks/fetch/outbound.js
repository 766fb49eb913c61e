// Where a request leaves: for the host, if that has opened the network. A run has none of its own.
import { createLife } from './life.js'
import { isNullBody, isRedirect } from './status.js'

const BLOCKED =
  'This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities ' +
  "(such as bindings in 'env') to talk to the outside world."
const BAD_LOCATION = 'Invalid Location header; unable to follow redirect.'
const ONE_TIME =
  'A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring ' +
  'the body to be retransmitted. To avoid this error in the future, construct this request from a buffer-like body ' +
  'initializer.'
const MAX_REDIRECTS = 20
// What was meant for one origin is not shown to another.
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization']
const OF_LENGTH = ['content-length', 'transfer-encoding']

// What everything is told that would open a connection.
export const refusal = () => new Error(BLOCKED)

const withoutHash = (url) => {
  const hash = url.indexOf('#')
  return hash === -1 ? url : url.slice(0, hash)
}

const isObject = (value) => typeof value === 'object' && value !== null
const isPair = (value) => Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'string'

const isAnswer = (value) =>
  isObject(value) && Number.isInteger(value.status) && value.status >= 200 && value.status <= 599 &&
  Array.isArray(value.headers) && value.headers.every(isPair) && value.body instanceof Uint8Array

export const createSend = (realm, { ofContent, consume }, responses, headersOf) => {
  const { utf8 } = realm.exports.native
  const { URL } = realm.global
  const errors = { __proto__: null, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, Error }

  // A header is text here and bytes on its way, where every character is one.
  const toBytes = (text) =>
    /[^\0-\x7f]/.test(text) ? Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join('') : text
  const toText = (value) =>
    /[\x80-\xff]/.test(value) ? utf8.decode(Uint8Array.from(value, (unit) => unit.charCodeAt(0))) : value

  // What failed on the host's side, as the class that its name says.
  const toError = (error) => {
    if (!Object.hasOwn(error, 'name')) return new TypeError(`The request cannot be sent: ${error.message}`)
    const { [error.name]: Class = Error } = errors
    const made = new Class(error.message)
    for (const key of ['name', 'code', 'details', 'cause']) {
      const isOwn = Object.hasOwn(error, key) && !(key === 'name' && made.name === error.name)
      if (isOwn) Object.defineProperty(made, key, Object.getOwnPropertyDescriptor(error, key))
    }
    made.remote = true
    return made
  }

  const toHeaders = (state, body) => {
    const headers = headersOf.copy(state.headers)
    const { map } = headers
    if (body !== null && !map.has('content-length')) map.set('content-length', [`${body.length}`])
    if (state.cache === 'no-store') {
      for (const [name, value] of [['cache-control', 'no-cache'], ['pragma', 'no-cache']]) {
        if (!map.has(name)) map.set(name, [value])
      }
    }
    return headers
  }

  // Fragment and user do not leave.
  const toAddress = (href) => {
    if (!/[#@]/.test(href)) return href
    const url = new URL(href)
    url.hash = url.username = url.password = ''
    return url.href
  }

  const ask = async (outbound, { method, url, headers, body }, redirect, life) => {
    life?.check() // it may have been aborted between two steps
    const { promise, cancel } = outbound({
      method,
      url: toAddress(url),
      headers: headersOf.list(headers).map(([name, value]) => [name, toBytes(value)]),
      body,
      redirect,
    })
    let answer
    try {
      answer = await (life === undefined ? promise : life.until(promise, cancel))
    } catch (error) {
      throw life?.aborted ? error : toError(error)
    }
    if (!isAnswer(answer)) throw new TypeError('The request was answered by what is no response.')
    return answer
  }

  const readHeaders = (pairs) => {
    const state = headersOf.create()
    for (const [name, value] of pairs) headersOf.add(state, name.toLowerCase(), toText(value))
    state.immutable = true
    return state
  }

  const respond = ({ status, statusText, body: content, url, redirected }, headers, hop, hops, life) => {
    let body = null
    if (isNullBody(status) || hop.method === 'HEAD') life?.end()
    else body = { ...ofContent(() => content), life }
    return responses.receive(body, status, headers, {
      statusText: statusText || undefined,
      url: redirected && url ? `${url}` : withoutHash(hop.url),
      redirected: redirected === true || hops > 0,
    })
  }

  // The request to where a redirect leads, as workerd changes it; but it keeps the credentials.
  const follow = (hop, status, location, isOneTime) => {
    const url = URL.parse(location, hop.url)
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) throw new TypeError(BAD_LOCATION)
    const next = { ...hop, url: url.href, headers: headersOf.copy(hop.headers) }
    const drop = (names) => names.forEach((name) => next.headers.map.delete(name))
    if (status !== 303 && hop.body !== null && isOneTime) throw new TypeError(ONE_TIME)
    if (status === 303 || (hop.method === 'POST' && (status === 301 || status === 302))) {
      if (next.method !== 'HEAD') next.method = 'GET'
      next.body = null
      drop(OF_LENGTH)
    }
    if (new URL(hop.url).origin !== url.origin) drop(CREDENTIALS)
    return next
  }

  const exchange = async (outbound, state, life) => {
    const isOneTime = state.body !== null && state.body.content === undefined
    const follows = state.redirect === 'follow'
    if (state.body?.stream?.locked) throw new TypeError('The ReadableStream has been locked to a reader.')
    const reading = state.body === null ? null : consume(state.body)
    const body = reading === null ? null : await (life === undefined ? reading : life.until(reading, () => undefined))
    let hop = { method: state.method, url: state.url, headers: toHeaders(state, body), body }
    const urls = []
    for (;;) {
      urls.push(hop.url)
      // The host may follow redirects itself, or give them back.
      const answer = await ask(outbound, hop, follows && !isOneTime ? 'follow' : 'manual', life)
      const headers = readHeaders(answer.headers)
      const location = headersOf.get(headers, 'location')
      if (!follows || !isRedirect(answer.status) || !location) return respond(answer, headers, hop, urls.length - 1, life)
      if (urls.length > MAX_REDIRECTS) throw new TypeError(`Too many redirects.${urls.join(', ')}`)
      hop = follow(hop, answer.status, location, isOneTime)
    }
  }

  // Answers a promise of a Response to `state`, the state of a Request.
  return async (state, outbound) => {
    if (outbound === undefined) throw refusal()
    const { signal } = state
    if (signal === undefined) return exchange(outbound, state)
    const life = createLife(realm.exports.abort, signal)
    try {
      return await exchange(outbound, state, life)
    } catch (error) {
      life.end()
      throw error
    }
  }
}
