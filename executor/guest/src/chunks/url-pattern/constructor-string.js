// A pattern that is one text, such as `https://*.example.com/books/:id`: where its components begin and end.
import { ASTERISK, CHAR, CLOSE, END, ESCAPED, INVALID, NAME, OPEN, REGEXP, tokenize } from './tokens.js'

const BEFORE_HOSTNAME = new Set(['protocol', 'authority', 'username', 'password'])
const BEFORE_PATHNAME = new Set([...BEFORE_HOSTNAME, 'hostname', 'port'])
const BEFORE_SEARCH = new Set([...BEFORE_PATHNAME, 'pathname'])

export const parseConstructorString = (text, matchesSpecialScheme) => {
  const tokens = tokenize(text, true)
  const result = {}
  let state = 'init'
  let index = 0
  let start = 0
  let step = 1
  let depth = 0
  let bracketDepth = 0
  let isSpecial = false

  const is = (offset, character) => {
    const token = tokens[index + offset]
    return token !== undefined && token.value === character &&
      (token.type === CHAR || token.type === ESCAPED || token.type === INVALID)
  }
  const isSearch = () => {
    if (is(0, '?')) return true
    if (tokens[index].value !== '?') return false
    const previous = tokens[index - 1]?.type
    return previous !== NAME && previous !== REGEXP && previous !== CLOSE && previous !== ASTERISK
  }
  const component = () => text.slice(tokens[start].index, tokens[index].index)
  const rewind = (to) => {
    index = start
    step = 0
    state = to
  }
  const change = (to, skip) => {
    if (state !== 'init' && state !== 'authority') result[state] = component()
    if (state !== 'init' && to !== 'done') {
      const isAfterPath = to === 'search' || to === 'hash'
      if (BEFORE_HOSTNAME.has(state) && (isAfterPath || to === 'pathname')) result.hostname ??= ''
      if (BEFORE_PATHNAME.has(state) && isAfterPath) result.pathname ??= isSpecial ? '/' : ''
      if (BEFORE_SEARCH.has(state) && to === 'hash') result.search ??= ''
    }
    state = to
    index += skip
    start = index
    step = 0
  }

  const afterAuthority = () => {
    if (is(0, '/')) change('pathname', 0)
    else afterPath()
  }
  const afterPath = () => {
    if (isSearch()) change('search', 1)
    else if (is(0, '#')) change('hash', 1)
  }
  const states = {
    init() {
      if (is(0, ':')) rewind('protocol')
    },
    protocol() {
      if (!is(0, ':')) return
      isSpecial = matchesSpecialScheme(component())
      if (is(1, '/') && is(2, '/')) change('authority', 3)
      else change(isSpecial ? 'authority' : 'pathname', 1)
    },
    authority() {
      if (is(0, '@')) rewind('username')
      else if (is(0, '/') || isSearch() || is(0, '#')) rewind('hostname')
    },
    username() {
      if (is(0, ':')) change('password', 1)
      else if (is(0, '@')) change('hostname', 1)
    },
    password() {
      if (is(0, '@')) change('hostname', 1)
    },
    hostname() {
      if (is(0, '[')) bracketDepth++
      else if (is(0, ']')) bracketDepth--
      else if (is(0, ':') && bracketDepth === 0) change('port', 1)
      else afterAuthority()
    },
    port: afterAuthority,
    pathname: afterPath,
    search() {
      if (is(0, '#')) change('hash', 1)
    },
    hash() {},
  }

  for (; index < tokens.length; index += step) {
    step = 1
    const { type } = tokens[index]
    if (type === END) {
      if (state === 'init') {
        rewind('init')
        if (is(0, '#')) change('hash', 1)
        else if (isSearch()) change('search', 1)
        else change('pathname', 0)
      } else if (state === 'authority') {
        rewind('hostname')
      } else {
        change('done', 0)
        break
      }
    } else if (type === OPEN) {
      depth++
    } else if (depth > 0) {
      if (type === CLOSE) depth--
    } else {
      states[state]()
    }
  }
  if (result.hostname !== undefined) result.port ??= ''
  return result
}
