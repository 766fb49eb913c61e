// fetch(): what is wrong with its arguments, what needs no network, and the rest.
import * as contentType from '../blob/content-type.js'
import { SCOPE, badArgument } from '../texts.js'
import { readDataUrl } from './data-url.js'

export const createFetch = (realm, { build }, responses, headersOf, send) => {
  const { utf8 } = realm.exports.native
  const bad = (index, type) => badArgument('fetch', SCOPE, index, type)
  const tools = { encode: utf8.encode, contentType }

  const answerDataUrl = (state, cannotLoad) => {
    const found = readDataUrl(state.url, tools)
    if (found === null) throw cannotLoad()
    const headersState = headersOf.create()
    headersOf.set(headersState, 'content-type', found.type)
    const isRead = state.method === 'GET'
    return responses.make(isRead ? found.bytes : new Uint8Array(0), 200, headersState)
  }

  // `outbound`: where requests leave, as the realm has it.
  return (outbound) => async (...args) => {
    if (args.length === 0) throw bad(1, 'Request or string')
    const state = build(args, bad)
    const { url, signal } = state
    const scheme = url.slice(0, url.indexOf(':'))
    const cannotLoad = () => new TypeError(`Fetch API cannot load: ${url}`)
    if (scheme === 'data') return answerDataUrl(state, cannotLoad)
    if (scheme !== 'http' && scheme !== 'https') throw cannotLoad()
    if (signal?.aborted) throw signal.reason
    return send(state, outbound)
  }
}
