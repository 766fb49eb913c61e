// Patterns and inputs as dictionaries of components.
import { escapePattern } from './pattern-text.js'
import { refuse } from './refused.js'

export const COMPONENTS = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash']

// The known members of a dictionary that a program gave.
export const readInit = (given, toText) => {
  const init = {}
  for (const name of [...COMPONENTS, 'baseURL']) {
    const value = given[name]
    if (value !== undefined) init[name] = toText(value)
  }
  return init
}

const isAbsolute = (path, isPattern) =>
  path.startsWith('/') || (isPattern && (path.startsWith('\\/') || path.startsWith('{/')))

// A base contributes what comes before all that the dictionary says: these say that a component is not the base's.
const DECIDED_BY = {
  protocol: ['protocol'],
  username: ['protocol', 'hostname', 'port', 'username'],
  password: ['protocol', 'hostname', 'port', 'username', 'password'],
  hostname: ['protocol', 'hostname'],
  port: ['protocol', 'hostname', 'port'],
  pathname: ['protocol', 'hostname', 'port', 'pathname'],
  search: ['protocol', 'hostname', 'port', 'pathname', 'search'],
  hash: ['protocol', 'hostname', 'port', 'pathname', 'search', 'hash'],
}

// All components of `init`. A pattern's stay as they are, apart from what its base contributes; an input's are encoded,
// and what it does not say is empty.
export const processInit = (init, isPattern, url) => {
  const result = {}
  if (!isPattern) for (const name of COMPONENTS) result[name] = ''
  let base = null
  if (init.baseURL !== undefined) {
    base = url.parse(init.baseURL, null) ?? refuse()
    const parts = url.componentsOf(base)
    for (const name of COMPONENTS) {
      if (isPattern && (name === 'username' || name === 'password')) continue
      if (DECIDED_BY[name].some((other) => init[other] !== undefined)) continue
      result[name] = isPattern ? escapePattern(parts[name]) : parts[name]
    }
  }
  const set = (name, value) => {
    if (value !== undefined) result[name] = isPattern ? value : url.encode[name](value, result.protocol)
  }
  set('protocol', init.protocol?.replace(/:$/, ''))
  set('username', init.username)
  set('password', init.password)
  set('hostname', init.hostname)
  set('port', init.port)
  if (init.pathname !== undefined) {
    let path = init.pathname
    if (base !== null && !base.opaque && !isAbsolute(path, isPattern)) {
      const directory = base.path.slice(0, base.path.lastIndexOf('/') + 1)
      path = (isPattern ? escapePattern(directory) : directory) + path
    }
    if (isPattern) result.pathname = path
    else result.pathname = url.encodesPath(result.protocol) ? url.encode.pathname(path) : url.encode.opaquePathname(path)
  }
  set('search', init.search?.replace(/^\?/, ''))
  set('hash', init.hash?.replace(/^#/, ''))
  return result
}
