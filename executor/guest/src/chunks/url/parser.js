// The basic URL parser of the URL standard, without its state machine: each of its states is a place in the text here.
import { parseHost } from './host.js'
import { CONTROL, FRAGMENT, PATH, QUERY, SPECIAL_QUERY, USERINFO, percentEncode } from './percent.js'
import { Record, copyAuthority, isDefaultPort, isSpecial } from './record.js'

export const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const DRIVE = /^[a-z][:|]$/i
const STARTS_WITH_DRIVE = /^[a-z][:|](?:[/\\?#]|$)/i
const FIRST_IS_DRIVE = /^\/[a-z]:(?:\/|$)/i
const ONLY_DRIVE = /^\/[a-z]:$/i
const HAS_DOTS = /(?:^|[/\\])(?:\.|%2e)/i
const DOT = /^(?:\.|%2e)$/i
const TWO_DOTS = /^(?:\.|%2e){2}$/i

export const withoutTabs = (text) => (/[\t\n\r]/.test(text) ? text.replace(/[\t\n\r]+/g, '') : text)

const trimmed = (text) => {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 0x20) start++
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--
  return withoutTabs(text.slice(start, end))
}

const isSlash = (url, character) => character === '/' || (url.special && character === '\\')

// Where the first match of `pattern` is, or else the end.
const find = (pattern, text, from) => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? text.length : found.index
}

// Where the first of `/`, `?`, `#` is, and of `\` in a special URL.
const endOfPart = (url, text, from) => find(url.special ? /[/\\?#]/g : /[/?#]/g, text, from)

const endOfPath = (text, from) => find(/[?#]/g, text, from)

const skipSlashes = (text, from) => {
  while (text[from] === '/' || text[from] === '\\') from++
  return from
}

const shorten = (url) => {
  if (url.protocol === 'file:' && ONLY_DRIVE.test(url.path)) return
  url.path = url.path.slice(0, Math.max(0, url.path.lastIndexOf('/')))
}

export const setQuery = (url, text) => {
  url.query = percentEncode(text, url.special ? SPECIAL_QUERY : QUERY)
}

export const setFragment = (url, text) => {
  url.fragment = percentEncode(text, FRAGMENT)
}

// What follows the path.
const parseRest = (url, text, from) => {
  let at = from
  if (text[at] === '?') {
    const hash = text.indexOf('#', at)
    const end = hash === -1 ? text.length : hash
    setQuery(url, text.slice(at + 1, end))
    at = end
  }
  if (text[at] === '#') setFragment(url, text.slice(at + 1))
  return url
}

// Appends the segments of `text` to the path that there is.
export const appendPath = (url, text) => {
  const encoded = percentEncode(text, PATH)
  const isFile = url.protocol === 'file:'
  if (!isFile && !HAS_DOTS.test(encoded)) {
    url.path += '/' + (url.special ? encoded.replaceAll('\\', '/') : encoded)
    return
  }
  const path = url.path.split('/')
  const segments = encoded.split(url.special ? /[/\\]/ : '/')
  const last = segments.length - 1
  for (let i = 0; i <= last; i++) {
    let segment = segments[i]
    if (TWO_DOTS.test(segment)) {
      const stays = path.length === 1 || (isFile && path.length === 2 && /^[a-z]:$/i.test(path[1]))
      if (!stays) path.pop()
      segment = '.'
    }
    if (DOT.test(segment)) {
      if (i === last) path.push('')
      continue
    }
    if (isFile && path.length === 1 && DRIVE.test(segment)) segment = segment[0] + ':'
    path.push(segment)
  }
  url.path = path.join('/')
}

const parsePath = (url, text, from) => {
  const end = endOfPath(text, from)
  appendPath(url, text.slice(from, end))
  return parseRest(url, text, end)
}

const parseOpaquePath = (url, text, from) => {
  const end = endOfPath(text, from)
  url.opaque = true
  url.path = percentEncode(text.slice(from, end), CONTROL)
  // A space before a query or a fragment would be lost when that is taken away.
  if (end < text.length && url.path.endsWith(' ')) url.path = url.path.slice(0, -1) + '%20'
  return parseRest(url, text, end)
}

const parsePathStart = (url, text, from) => {
  if (isSlash(url, text[from])) return parsePath(url, text, from + 1)
  return url.special ? parsePath(url, text, from) : parseRest(url, text, from)
}

// Where the host ends: at the first colon that is not in brackets.
export const endOfHost = (text) => {
  let inBrackets = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === ':' && !inBrackets) return i
    if (character === '[') inBrackets = true
    else if (character === ']') inBrackets = false
  }
  return text.length
}

// Whether `digits` are a port, which `url` then has.
export const setPort = (url, digits) => {
  const port = parseInt(digits, 10)
  if (!(port <= 65535)) return false
  url.port = isDefaultPort(url.protocol, String(port)) ? '' : String(port)
  return true
}

const parseCredentials = (url, text) => {
  const colon = text.indexOf(':')
  if (colon !== -1) url.password = percentEncode(text.slice(colon + 1), USERINFO)
  url.username = percentEncode(colon === -1 ? text : text.slice(0, colon), USERINFO)
}

const parseAuthority = (url, text, from, toASCII) => {
  const end = endOfPart(url, text, from)
  let rest = text.slice(from, end)
  const at = rest.lastIndexOf('@')
  if (at !== -1) {
    if (at === rest.length - 1) return null
    parseCredentials(url, rest.slice(0, at))
    rest = rest.slice(at + 1)
  }
  const colon = endOfHost(rest)
  if (colon === 0 && (url.special || rest !== '')) return null
  url.host = parseHost(rest.slice(0, colon), url.special, toASCII)
  if (url.host === null) return null
  const digits = rest.slice(colon + 1)
  if (digits !== '' && !(/^[0-9]+$/.test(digits) && setPort(url, digits))) return null
  return parsePathStart(url, text, end)
}

const parseFileHost = (url, text, from, toASCII) => {
  const end = endOfPart(url, text, from)
  const host = text.slice(from, end)
  if (DRIVE.test(host)) return parsePath(url, text, from)
  if (host !== '') {
    url.host = parseHost(host, true, toASCII)
    if (url.host === null) return null
    if (url.host === 'localhost') url.host = ''
  }
  return parsePathStart(url, text, end)
}

const parseFile = (url, text, from, base, toASCII) => {
  url.host = ''
  if (isSlash(url, text[from])) {
    if (isSlash(url, text[from + 1])) return parseFileHost(url, text, from + 2, toASCII)
    if (base !== null) {
      url.host = base.host
      if (!STARTS_WITH_DRIVE.test(text.slice(from + 1, from + 4)) && FIRST_IS_DRIVE.test(base.path)) url.path = base.path.slice(0, 3)
    }
    return parsePath(url, text, from + 1)
  }
  if (base === null) return parsePath(url, text, from)
  url.host = base.host
  return resolve(url, text, from, base)
}

// The end of a relative reference: what it does not say is the base's.
const resolve = (url, text, from, base) => {
  const next = text[from]
  if (next === undefined || next === '#') {
    url.path = base.path
    url.query = base.query
    return parseRest(url, text, from)
  }
  if (next === '?') {
    url.path = base.path
    return parseRest(url, text, from)
  }
  if (url.protocol !== 'file:' || !STARTS_WITH_DRIVE.test(text.slice(from, from + 3))) {
    url.path = base.path
    shorten(url)
  }
  return parsePath(url, text, from)
}

const parseRelative = (url, text, from, base, toASCII) => {
  if (isSlash(url, text[from])) {
    if (url.special && isSlash(url, text[from + 1])) return parseAuthority(url, text, skipSlashes(text, from), toASCII)
    if (text[from + 1] === '/') return parseAuthority(url, text, from + 2, toASCII)
    copyAuthority(url, base)
    return parsePath(url, text, from + 1)
  }
  copyAuthority(url, base)
  return resolve(url, text, from, base)
}

const parseWithScheme = (url, text, from, base, toASCII) => {
  const sameAsBase = base !== null && base.protocol === url.protocol
  if (url.protocol === 'file:') return parseFile(url, text, from, sameAsBase ? base : null, toASCII)
  if (url.special) {
    if (sameAsBase && !text.startsWith('//', from)) return parseRelative(url, text, from, base, toASCII)
    return parseAuthority(url, text, skipSlashes(text, from), toASCII)
  }
  if (text.startsWith('//', from)) return parseAuthority(url, text, from + 2, toASCII)
  return text[from] === '/' ? parsePath(url, text, from + 1) : parseOpaquePath(url, text, from)
}

// A Record, or null for what is no URL.
export const parse = (input, base, toASCII) => {
  const text = trimmed(input)
  const url = new Record()
  const scheme = SCHEME.exec(text)
  if (scheme !== null) {
    url.protocol = scheme[0].toLowerCase()
    url.special = isSpecial(url.protocol)
    return parseWithScheme(url, text, scheme[0].length, base, toASCII)
  }
  if (base === null) return null
  url.protocol = base.protocol
  url.special = base.special
  if (base.opaque) {
    if (text[0] !== '#') return null
    url.opaque = true
    return resolve(url, text, 0, base)
  }
  if (url.protocol === 'file:') return parseFile(url, text, 0, base, toASCII)
  return parseRelative(url, text, 0, base, toASCII)
}
