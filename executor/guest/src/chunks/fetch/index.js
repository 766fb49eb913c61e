// fetch and the classes of its arguments and answers.
import { globalFunction } from '../shape.js'
import { createBody } from './body.js'
import { createFetch } from './fetch.js'
import { createHeaders } from './headers.js'
import { createSend, refusal } from './outbound.js'
import { createRequest } from './request.js'
import { createResponse } from './response.js'

export default function install(realm) {
  const headersOf = createHeaders(realm, realm.exports.native.native)
  const bodies = createBody(realm)
  const requests = createRequest(realm, bodies, headersOf)
  const responses = createResponse(realm, bodies, headersOf)
  const send = createSend(realm, bodies, responses, headersOf)
  const fetchBy = createFetch(realm, requests, responses, headersOf, send)
  realm.defineEnumerable('fetch', globalFunction(realm.global, 'fetch', fetchBy(realm.outbound)))
  // What structuredClone may copy.
  const cloners = (realm.exports.cloners ??= new Map())
  cloners.set(headersOf.headers.Class.prototype, headersOf.clone)
  cloners.set(requests.request.Class.prototype, requests.clone)
  cloners.set(responses.response.Class.prototype, responses.clone)
  return {
    headers: headersOf.headers,
    request: requests.request,
    response: responses.response,
    // The state of what a program gives as a request.
    toRequest: requests.build,
    refusal,
    // `fetch` whose requests leave elsewhere.
    fetchBy,
  }
}
