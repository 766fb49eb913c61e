// A pattern: its eight components, compiled.
import { HOSTNAME, PATHNAME, PLAIN, compile, matchComponent } from './component.js'
import { parseConstructorString } from './constructor-string.js'
import { COMPONENTS, processInit } from './init.js'
import { refuse } from './refused.js'

const SPECIAL_SCHEMES = ['http', 'https', 'ws', 'wss', 'ftp', 'file']

const matchesSpecialScheme = (component) => SPECIAL_SCHEMES.some((scheme) => component.regExp.test(scheme))

const isIPv6 = (pattern) => /^(?:\[|[{\\]\[)/.test(pattern) && pattern.length > 1

const initOf = (input, base, urls) => {
  if (typeof input !== 'string') return base === undefined ? input : refuse()
  const init = parseConstructorString(input, (text) => matchesSpecialScheme(compile(text, urls.encode.protocol, PLAIN, false)))
  if (base !== undefined) init.baseURL = base
  else if (init.protocol === undefined) refuse()
  return init
}

// `input` is a text or a dictionary of texts. What is no pattern is refused.
export const compilePattern = (input, base, ignoreCase, urls) => {
  const { encode } = urls
  const init = processInit(initOf(input, base, urls), true, urls)
  for (const name of COMPONENTS) init[name] ??= '*'
  if (urls.isDefaultPort(init.protocol, init.port)) init.port = ''
  const protocol = compile(init.protocol, encode.protocol, PLAIN, false)
  const isSpecial = matchesSpecialScheme(protocol)
  return {
    protocol,
    username: compile(init.username, encode.username, PLAIN, false),
    password: compile(init.password, encode.password, PLAIN, false),
    hostname: compile(init.hostname, isIPv6(init.hostname) ? encode.ipv6 : encode.hostname, HOSTNAME, false),
    port: compile(init.port, (value) => encode.port(value), PLAIN, false),
    pathname: isSpecial
      ? compile(init.pathname, encode.pathname, PATHNAME, ignoreCase)
      : compile(init.pathname, encode.opaquePathname, PLAIN, ignoreCase),
    search: compile(init.search, encode.search, PLAIN, ignoreCase),
    hash: compile(init.hash, encode.hash, PLAIN, ignoreCase),
  }
}

// The components of what is to be matched; null for what is no URL.
export const componentsToMatch = (input, base, urls) => {
  if (typeof input !== 'string') return processInit(input, false, urls)
  const baseRecord = base === undefined ? null : (urls.parse(base, null) ?? refuse())
  return urls.componentsOf(urls.parseToMatch(input, baseRecord) ?? refuse())
}

export const matchPattern = (pattern, components) => {
  const result = {}
  for (const name of COMPONENTS) {
    const match = matchComponent(pattern[name], components[name])
    if (match === null) return null
    result[name] = match
  }
  return result
}
