// url.parse, url.format and url.resolve: the older parser, which keeps what it was given where the standard would change it.

const HOSTLESS = ['javascript', 'javascript:']
const SLASHED = ['http', 'http:', 'https', 'https:', 'ftp', 'ftp:', 'gopher', 'gopher:', 'file', 'file:', 'ws', 'ws:', 'wss', 'wss:']
const PROTOCOL = /^[a-z0-9.+-]+:/i
const SIMPLE = /^(\/\/?(?!\/)[^?\s]*)(\?[^\s]*)?$/
const USER_AND_HOST = /^\/\/[^@/]+@[^@/]+/
const ESCAPED = /[\t\n\r "'<>\\^`{|}]/g
const FORBIDDEN = /[\0\t\n\r #%/:<>?@[\\\]^|]/
const FORBIDDEN_IPV6 = /[\0\t\n\r #%/<>?@\\^|]/
const isBracketed = (name) => name.startsWith('[') && name.endsWith(']')

const escapeOne = (character) => '%' + character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')

export const createLegacy = ({ errors, querystring, toAscii }) => {
  const { errorClass, validateString } = errors
  const InvalidUrl = errorClass('ERR_INVALID_URL')
  const invalid = (input) => {
    const error = new InvalidUrl('Invalid URL')
    error.input = input
    return error
  }

  function Url() {
    for (const key of FIELDS) this[key] = null
  }
  const FIELDS = [
    'protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href',
  ]

  // Blanks around it are not the address's; a backslash before the query is a slash.
  const tidy = (url) => {
    const text = url.replace(/^[\t\n\f\r \u00a0\ufeff]+|[\t\n\f\r \u00a0\ufeff]+$/g, '')
    const end = text.search(/[?#]/)
    return end === -1 ? text.replaceAll('\\', '/') : text.slice(0, end).replaceAll('\\', '/') + text.slice(end)
  }

  const hostEndOf = (rest) => {
    let end = -1
    let at = -1
    let other = -1
    for (let i = 0; i < rest.length; i++) {
      const character = rest[i]
      if (/[\t\n\r "%';<>\\^`{|}]/.test(character)) {
        if (other === -1) other = i
      } else if (character === '#' || character === '/' || character === '?') {
        if (other === -1) other = i
        end = i
      } else if (character === '@') {
        at = i
        other = -1
      }
      if (end !== -1) break
    }
    return { at, other }
  }

  Url.prototype.parse = function parse(url, parseQueryString, slashesDenoteHost) {
    validateString(url, 'url')
    let rest = tidy(url)
    if (!slashesDenoteHost && !/[#@]/.test(rest)) {
      const simple = SIMPLE.exec(rest)
      if (simple !== null) {
        this.path = rest
        this.href = rest
        this.pathname = simple[1]
        if (simple[2]) {
          this.search = simple[2]
          this.query = parseQueryString ? querystring.parse(simple[2].slice(1)) : simple[2].slice(1)
        } else if (parseQueryString) {
          this.search = null
          this.query = { __proto__: null }
        }
        return this
      }
    }
    const match = PROTOCOL.exec(rest)
    const proto = match === null ? '' : match[0]
    const lower = proto.toLowerCase()
    if (proto !== '') {
      this.protocol = lower
      rest = rest.slice(proto.length)
    }
    let slashes
    if (slashesDenoteHost || proto !== '' || USER_AND_HOST.test(rest)) {
      slashes = rest.startsWith('//')
      if (slashes && !HOSTLESS.includes(lower)) {
        rest = rest.slice(2)
        this.slashes = true
      }
    }
    if (!HOSTLESS.includes(lower) && (slashes || (proto !== '' && !SLASHED.includes(proto)))) {
      const { at, other } = hostEndOf(rest)
      let start = 0
      if (at !== -1) {
        this.auth = decodeURIComponent(rest.slice(0, at))
        start = at + 1
      }
      this.host = other === -1 ? rest.slice(start) : rest.slice(start, other)
      rest = other === -1 ? '' : rest.slice(other)
      this.parseHost()
      if (typeof this.hostname !== 'string') this.hostname = ''
      const { hostname } = this
      const ipv6 = isBracketed(hostname)
      this.hostname = this.hostname.length > 255 ? '' : this.hostname.toLowerCase()
      if (this.hostname !== '') {
        if (ipv6) {
          if (FORBIDDEN_IPV6.test(this.hostname)) throw invalid(url)
        } else {
          this.hostname = toAscii(this.hostname)
          if (this.hostname === '' || FORBIDDEN.test(this.hostname)) throw invalid(url)
        }
      }
      this.host = (this.hostname || '') + (this.port ? ':' + this.port : '')
      if (ipv6) {
        this.hostname = this.hostname.slice(1, -1)
        if (rest[0] !== '/') rest = '/' + rest
      }
    }
    if (!HOSTLESS.includes(lower)) rest = rest.replace(ESCAPED, escapeOne)
    const hash = rest.indexOf('#')
    if (hash !== -1) this.hash = rest.slice(hash)
    const before = hash === -1 ? rest : rest.slice(0, hash)
    const question = before.indexOf('?')
    if (question !== -1) {
      this.search = before.slice(question)
      const query = before.slice(question + 1)
      this.query = parseQueryString ? querystring.parse(query) : query
    } else if (parseQueryString) {
      this.search = null
      this.query = { __proto__: null }
    }
    const pathname = question === -1 ? before : before.slice(0, question)
    if (pathname !== '') this.pathname = pathname
    if (SLASHED.includes(lower) && this.hostname && !this.pathname) this.pathname = '/'
    if (this.pathname || this.search) this.path = (this.pathname || '') + (this.search || '')
    this.href = this.format()
    return this
  }

  Url.prototype.format = function format() {
    let auth = this.auth || ''
    if (auth !== '') auth = encodeURIComponent(auth).replace(/%3A/i, ':').replaceAll('%3A', ':') + '@'
    let protocol = this.protocol || ''
    let pathname = this.pathname || ''
    let hash = this.hash || ''
    let host = ''
    if (this.host) host = auth + this.host
    else if (this.hostname) {
      const name = this.hostname
      host = auth + (name.includes(':') && !isBracketed(name) ? '[' + name + ']' : name) + (this.port ? ':' + this.port : '')
    }
    const query = this.query !== null && typeof this.query === 'object' ? querystring.stringify(this.query) : ''
    let search = this.search || (query && '?' + query) || ''
    if (protocol !== '' && !protocol.endsWith(':')) protocol += ':'
    pathname = pathname.replace(/[#?]/g, escapeOne)
    if (this.slashes || SLASHED.includes(protocol)) {
      if (this.slashes || host) {
        if (pathname && pathname[0] !== '/') pathname = '/' + pathname
        host = '//' + host
      } else if (/^file:?$/.test(protocol)) host = '//'
    }
    search = search.replaceAll('#', '%23')
    if (hash && hash[0] !== '#') hash = '#' + hash
    if (search && search[0] !== '?') search = '?' + search
    return protocol + host + pathname + search + hash
  }

  Url.prototype.parseHost = function parseHost() {
    let { host } = this
    const match = /:[0-9]*$/.exec(host)
    if (match !== null) {
      const port = match[0]
      if (port !== ':') this.port = port.slice(1)
      host = host.slice(0, host.length - port.length)
    }
    if (host) this.hostname = host
  }

  const { parse } = {
    parse(url, parseQueryString, slashesDenoteHost) {
      return url instanceof Url ? url : new Url().parse(url, parseQueryString, slashesDenoteHost)
    },
  }

  const pathOf = (url) => {
    if (url.pathname !== null || url.search !== null) url.path = (url.pathname || '') + (url.search || '')
  }

  // '.' and '..' of a merged path, as a browser takes them.
  const climb = (segments, absolute) => {
    let up = 0
    for (let i = segments.length - 1; i >= 0; i--) {
      const segment = segments[i]
      if (segment === '.') segments.splice(i, 1)
      else if (segment === '..') {
        segments.splice(i, 1)
        up += 1
      } else if (up > 0) {
        segments.splice(i, 1)
        up -= 1
      }
    }
    if (!absolute) while (up-- > 0) segments.unshift('..')
  }

  Url.prototype.resolve = function resolve(relative) {
    return this.resolveObject(parse(relative, false, true)).format()
  }

  Url.prototype.resolveObject = function resolveObject(relative) {
    if (typeof relative === 'string') relative = new Url().parse(relative, false, true)
    const result = Object.assign(new Url(), this)
    // The fragment is always the relative one's.
    result.hash = relative.hash
    if (relative.href === '') {
      result.href = result.format()
      return result
    }
    if (relative.slashes && !relative.protocol) {
      for (const key of Object.keys(relative)) if (key !== 'protocol') result[key] = relative[key]
      if (SLASHED.includes(result.protocol) && result.hostname && !result.pathname) {
        result.pathname = '/'
        result.path = '/'
      }
      result.href = result.format()
      return result
    }
    if (relative.protocol && relative.protocol !== result.protocol) {
      if (!SLASHED.includes(relative.protocol)) {
        Object.assign(result, relative)
        result.href = result.format()
        return result
      }
      result.protocol = relative.protocol
      if (!relative.host && !/^file:?$/.test(relative.protocol) && !HOSTLESS.includes(relative.protocol)) {
        const path = (relative.pathname || '').split('/')
        while (path.length > 0 && !(relative.host = path.shift()));
        relative.host ||= ''
        relative.hostname ||= ''
        if (path[0] !== '') path.unshift('')
        if (path.length < 2) path.unshift('')
        result.pathname = path.join('/')
      } else result.pathname = relative.pathname
      result.search = relative.search
      result.query = relative.query
      result.host = relative.host || ''
      result.auth = relative.auth
      result.hostname = relative.hostname || relative.host
      result.port = relative.port
      if (result.pathname || result.search) result.path = (result.pathname || '') + (result.search || '')
      result.slashes = result.slashes || relative.slashes
      result.href = result.format()
      return result
    }
    const isSourceAbsolute = result.pathname && result.pathname[0] === '/'
    const isRelativeAbsolute = relative.host || (relative.pathname && relative.pathname[0] === '/')
    let mustEndAbsolute = isRelativeAbsolute || isSourceAbsolute || (result.host && relative.pathname)
    const removeAllDots = mustEndAbsolute
    let source = (result.pathname && result.pathname.split('/')) || []
    const given = (relative.pathname && relative.pathname.split('/')) || []
    const hostInPath = result.protocol && !SLASHED.includes(result.protocol)
    if (hostInPath) {
      result.hostname = ''
      result.port = null
      if (result.host) {
        if (source[0] === '') source[0] = result.host
        else source.unshift(result.host)
      }
      result.host = ''
      if (relative.protocol) {
        relative.hostname = null
        relative.port = null
        result.auth = null
        if (relative.host) {
          if (given[0] === '') given[0] = relative.host
          else given.unshift(relative.host)
        }
        relative.host = null
      }
      mustEndAbsolute = mustEndAbsolute && (given[0] === '' || source[0] === '')
    }
    if (isRelativeAbsolute) {
      if (relative.host || relative.host === '') {
        if (result.host !== relative.host) result.auth = null
        result.host = relative.host
        result.port = relative.port
      }
      if (relative.hostname || relative.hostname === '') {
        if (result.hostname !== relative.hostname) result.auth = null
        result.hostname = relative.hostname
      }
      result.search = relative.search
      result.query = relative.query
      source = given
    } else if (given.length > 0) {
      source.pop()
      source = source.concat(given)
      result.search = relative.search
      result.query = relative.query
    } else if (relative.search !== null && relative.search !== undefined) {
      if (hostInPath) {
        result.hostname = result.host = source.shift()
        takeAuth(result)
      }
      result.search = relative.search
      result.query = relative.query
      pathOf(result)
      result.href = result.format()
      return result
    }
    if (source.length === 0) {
      result.pathname = null
      result.path = result.search ? '/' + result.search : null
      result.href = result.format()
      return result
    }
    const last = source[source.length - 1]
    const trailing = ((result.host || relative.host || source.length > 1) && (last === '.' || last === '..')) || last === ''
    climb(source, mustEndAbsolute || removeAllDots)
    if (mustEndAbsolute && source[0] !== '' && (!source[0] || source[0][0] !== '/')) source.unshift('')
    if (trailing && !source.join('/').endsWith('/')) source.push('')
    const isAbsolute = source[0] === '' || (source[0] && source[0][0] === '/')
    if (hostInPath) {
      result.hostname = result.host = isAbsolute ? '' : source.length > 0 ? source.shift() : ''
      takeAuth(result)
    }
    mustEndAbsolute = mustEndAbsolute || (result.host && source.length > 0)
    if (mustEndAbsolute && !isAbsolute) source.unshift('')
    if (source.length === 0) {
      result.pathname = null
      result.path = null
    } else result.pathname = source.join('/')
    if (result.pathname !== null || result.search !== null) result.path = (result.pathname || '') + (result.search || '')
    result.auth = relative.auth || result.auth
    result.slashes = result.slashes || relative.slashes
    result.href = result.format()
    return result
  }

  const takeAuth = (url) => {
    const parts = url.host && url.host.indexOf('@') > 0 && url.host.split('@')
    if (!parts) return
    url.auth = parts.shift()
    url.host = url.hostname = parts.shift()
  }

  return {
    Url,
    parse,
    resolve(source, relative) { return parse(source, false, true).resolve(relative) },
    resolveObject(source, relative) { return source ? parse(source, false, true).resolveObject(relative) : relative },
  }
}
