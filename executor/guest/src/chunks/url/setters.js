// The setters' part of the basic URL parser: each changes a Record, or leaves it as it is for a value that does not fit.
import { parseHost } from './host.js'
import { SCHEME, appendPath, endOfHost, setFragment, setPort, setQuery, withoutTabs } from './parser.js'
import { USERINFO, percentEncode } from './percent.js'
import { hasCredentials, isDefaultPort, isSpecial, takesCredentials } from './record.js'

export const setProtocol = (url, value) => {
  const scheme = SCHEME.exec(withoutTabs(value) + ':')
  if (scheme === null) return
  const protocol = scheme[0].toLowerCase()
  if (isSpecial(protocol) !== url.special) return
  if (protocol === 'file:' && (hasCredentials(url) || url.port !== '')) return
  if (url.protocol === 'file:' && url.host === '') return
  url.protocol = protocol
  if (isDefaultPort(protocol, url.port)) url.port = ''
}

export const setUsername = (url, value) => {
  if (takesCredentials(url)) url.username = percentEncode(value, USERINFO)
}

export const setPassword = (url, value) => {
  if (takesCredentials(url)) url.password = percentEncode(value, USERINFO)
}

const setFileHost = (url, text, toASCII) => {
  const host = text === '' ? '' : parseHost(text, true, toASCII)
  if (host !== null) url.host = host === 'localhost' ? '' : host
}

const setHostPart = (url, value, toASCII, withPort) => {
  if (url.opaque) return
  const all = withoutTabs(value)
  const end = all.search(url.special ? /[/\\?#]/ : /[/?#]/)
  const text = end === -1 ? all : all.slice(0, end)
  if (url.protocol === 'file:') return setFileHost(url, text, toASCII)
  const colon = endOfHost(text)
  const hasColon = colon < text.length
  if (hasColon && (colon === 0 || !withPort)) return
  if (text === '' && (url.special || hasCredentials(url) || url.port !== '')) return
  const host = parseHost(text.slice(0, colon), url.special, toASCII)
  if (host === null) return
  url.host = host
  if (hasColon) setLeadingPort(url, text.slice(colon + 1))
}

const setLeadingPort = (url, text) => {
  const digits = /^[0-9]+/.exec(text)
  if (digits !== null) setPort(url, digits[0])
}

export const setHost = (url, value, toASCII) => setHostPart(url, value, toASCII, true)
export const setHostname = (url, value, toASCII) => setHostPart(url, value, toASCII, false)

export const setPortText = (url, value) => {
  if (!takesCredentials(url)) return
  if (value === '') url.port = ''
  else setLeadingPort(url, withoutTabs(value))
}

export const setPathname = (url, value) => {
  if (url.opaque) return
  const text = withoutTabs(value)
  url.path = ''
  if (text === '' && !url.special) {
    if (url.host === null) url.path = '/'
    return
  }
  const first = text[0]
  appendPath(url, first === '/' || (url.special && first === '\\') ? text.slice(1) : text)
}

export const setSearch = (url, value) => {
  if (value === '') url.query = null
  else setQuery(url, withoutTabs(value[0] === '?' ? value.slice(1) : value))
}

export const setHash = (url, value) => {
  if (value === '') url.fragment = null
  else setFragment(url, withoutTabs(value[0] === '#' ? value.slice(1) : value))
}
