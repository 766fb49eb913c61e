// Request, as workerd has it.
import { badField } from '../texts.js'

const INIT = 'RequestInitializerDict'
const INIT_OR_REQUEST = `${INIT} or Request`
const METHODS = new Set([
  'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'PURGE', 'OPTIONS', 'TRACE', 'COPY', 'LOCK', 'MKCOL', 'MOVE', 'PROPFIND',
  'PROPPATCH', 'SEARCH', 'UNLOCK', 'ACL', 'REPORT', 'MKACTIVITY', 'CHECKOUT', 'MERGE', 'MSEARCH', 'NOTIFY', 'SUBSCRIBE',
  'UNSUBSCRIBE', 'QUERY', 'BAN',
])

const toMethod = (value) => {
  const method = `${value}`
  if (!METHODS.has(method.toUpperCase())) throw new TypeError(`Invalid HTTP method string: ${method}`)
  return method.toUpperCase()
}

const toRedirect = (value) => {
  const redirect = `${value}`
  if (redirect !== 'follow' && redirect !== 'manual') {
    throw new TypeError(
      'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make ' +
        'sense at the edge; use "manual" and check the response status code).',
    )
  }
  return redirect
}

const toCache = (value) => {
  const cache = `${value}`
  if (cache !== 'no-store') throw new TypeError(`Unsupported cache mode: ${cache}`)
  return cache
}

export const createRequest = (realm, { base, extract, clone, take, refuseToClone }, headersOf) => {
  const { createInterface, isObject, toText } = realm.exports.native.native
  const { URL } = realm.global
  const isSignal = (value) => realm.exports.abort?.isSignal(value) ?? false
  const { headers } = headersOf

  const toUrl = (input) => {
    const text = toText(input)
    const url = URL.parse(text)
    if (url === null) throw new TypeError(`Invalid URL: ${text}`)
    return url.href
  }

  const fresh = (url) => ({
    url,
    method: 'GET',
    headers: headersOf.create(),
    body: null,
    redirect: 'follow',
    cache: undefined,
    cf: undefined,
    signal: undefined,
  })

  const finish = (state) => {
    state.contentType = () => headersOf.get(state.headers, 'content-type')
    state.facade = headers.make(state.headers)
    return state
  }

  const applyRequest = (state, other) => {
    state.method = other.method
    state.headers = headersOf.copy(other.headers)
    state.redirect = other.redirect
    state.cache = other.cache
    state.cf = other.cf
    state.signal = other.signal
    state.body = take(other.body)
  }

  const applyInit = (state, init) => {
    if (init.method !== undefined) state.method = toMethod(init.method)
    if (init.headers !== undefined) {
      state.headers = headersOf.from(init.headers, (type) => badField('headers', INIT, type))
    }
    if (init.fetcher !== undefined && init.fetcher !== null) throw badField('fetcher', INIT, 'Fetcher')
    if (init.redirect !== undefined) state.redirect = toRedirect(init.redirect)
    if (init.cache !== undefined) state.cache = toCache(init.cache)
    if (init.cf !== undefined) {
      if (!isObject(init.cf)) throw badField('cf', INIT, 'Object')
      state.cf = init.cf
    }
    if (init.integrity !== undefined && `${init.integrity}` !== '') {
      throw new TypeError(
        'Subrequest integrity checking is not implemented. The integrity option must be either undefined or an empty ' +
          'string.',
      )
    }
    if (init.signal !== undefined) {
      if (init.signal !== null && !isSignal(init.signal)) throw badField('signal', INIT, 'AbortSignal')
      state.signal = init.signal ?? undefined
    }
    if (init.body !== undefined) {
      state.body = init.body === null ? null : extract(init.body)
      const { body } = state
      headersOf.setType(state.headers, body?.type)
    }
    if (state.body !== null && (state.method === 'GET' || state.method === 'HEAD')) {
      throw new TypeError('Request with a GET or HEAD method cannot have a body.')
    }
  }

  // `bad` makes the error for an argument that is not of its type.
  const build = ([input, given], bad) => {
    const isRequest = request.has(input)
    if (given !== undefined && given !== null && !isObject(given)) throw bad(2, INIT_OR_REQUEST)
    const state = fresh(isRequest ? request.of(input).url : toUrl(input))
    if (isRequest) {
      const other = request.of(input)
      // Its body stays where another one is given.
      const replaced = isObject(given) && !request.has(given) && given.body !== undefined
      applyRequest(state, replaced ? { ...other, body: null } : other)
    }
    if (request.has(given)) applyRequest(state, request.of(given))
    else if (isObject(given)) applyInit(state, given)
    return finish(state)
  }

  const request = createInterface('Request', {
    parent: base,
    required: { constructor: ['Request or string'] },
    construct: build,
    methods: {
      clone(state) {
        const [mine, other] = clone(state.body)
        state.body = mine
        const headers = headersOf.copy(state.headers)
        return request.make(finish({ ...state, headers, body: other, ownSignal: undefined }))
      },
    },
    getters: {
      method: (state) => state.method,
      url: (state) => state.url,
      headers: (state) => state.facade,
      redirect: (state) => state.redirect,
      fetcher: () => null,
      signal: (state) => state.signal ?? (state.ownSignal ??= realm.exports.abort?.create() ?? null),
      cf: (state) => state.cf,
      integrity: () => '',
      keepalive: () => false,
      cache: (state) => state.cache,
    },
  })
  realm.define('Request', request.Class)

  // For structuredClone.
  const cloneObject = (value) => {
    const state = request.of(value)
    refuseToClone(state.body)
    const headers = headersOf.copy(state.headers)
    return request.make(finish({ ...state, headers, signal: undefined, ownSignal: undefined }))
  }
  return { request, build, clone: cloneObject }
}
