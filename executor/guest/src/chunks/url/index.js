// URL and URLSearchParams.
import { parseForm, serializeForm } from './form.js'
import { parse } from './parser.js'
import { isDefaultPort, isSpecial } from './record.js'
import { List, URLSearchParams, isParams, paramsOf } from './search-params.js'
import * as setters from './setters.js'
import { createURL } from './url.js'

// A program parses the same few hosts again and again, and each question costs a call into the worker.
const MAX_REMEMBERED = 64
const MAX_HOST_LENGTH = 4096 // MAX_LENGTH of worker/idna.py

export default function install(realm) {
  const remembered = new Map()
  const toASCII = (host) => {
    const known = remembered.get(host)
    if (known !== undefined) return known
    if (host.length > MAX_HOST_LENGTH) return null
    const { value } = realm.hostCall('url_host', { __proto__: null, host })
    if (remembered.size === MAX_REMEMBERED) remembered.clear()
    remembered.set(host, value)
    return value
  }
  // As node:url has them: '' for what is no name of a host.
  const domainToASCII = (name) => {
    const url = parse('ws://x', null, toASCII)
    url.host = ''
    setters.setHostname(url, name, toASCII)
    return url.host
  }
  const domainToUnicode = (name) => {
    const host = domainToASCII(name)
    if (!host.includes('xn--') || host.length > MAX_HOST_LENGTH) return host
    return realm.hostCall('idna_to_unicode', { __proto__: null, host }).value
  }

  const isBlob = (value) => typeof realm.global.Blob === 'function' && value instanceof realm.global.Blob

  const { URL, normalize } = createURL({ toASCII, isBlob })
  realm.define('URL', URL)
  realm.define('URLSearchParams', URLSearchParams)
  return {
    URL,
    URLSearchParams,
    // The text of a URL, or null: (text, base or undefined), both well-formed.
    normalize,
    // Pairs of texts from and to application/x-www-form-urlencoded.
    parseForm,
    serializeForm,
    isParams,
    paramsOfPairs: (pairs) => paramsOf(new List(pairs)),
    domainToASCII,
    domainToUnicode,
    // For URLPattern.
    parser: {
      parse: (text, base) => parse(text, base, toASCII),
      setters: { ...setters, setHostname: (url, value) => setters.setHostname(url, value, toASCII) },
      isSpecial,
      isDefaultPort,
    },
  }
}
