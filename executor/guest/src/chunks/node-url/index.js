// node:url.
import { createLegacy } from './legacy.js'
import { toUnicode } from './punycode.js'

export default function install(realm) {
  realm.lazyModule('url', () => {
    const errors = realm.exports['node-errors']
    const { errorClass, invalidArgType, validateString, validateObject } = errors
    const { URL, URLSearchParams } = realm.global
    const { posix } = realm.exports['node-path']
    const querystring = realm.findModule('querystring')

    const hostOf = (domain) => {
      const text = `${domain}`
      if (/[\0\t\n\r #%/:<>?@\\^|]/.test(text) && !/^\[.*\]$/.test(text)) return ''
      const url = URL.parse('ws://' + text)
      return url === null ? '' : url.hostname
    }
    const legacy = createLegacy({ errors, querystring, toAscii: hostOf })
    const { Url, parse } = legacy

    const requireDomain = (count) => {
      if (count === 0) throw errors.typeError('ERR_MISSING_ARGS', 'The "domain" argument must be specified')
    }

    const isUrl = (value) => value !== null && typeof value === 'object' && typeof value.href === 'string' &&
      typeof value.protocol === 'string' && value.auth === undefined && value.path === undefined

    const InvalidScheme = errorClass('ERR_INVALID_URL_SCHEME')
    const InvalidPath = errorClass('ERR_INVALID_FILE_URL_PATH')
    const InvalidHost = errorClass('ERR_INVALID_FILE_URL_HOST')

    const windowsPath = ({ hostname, pathname }) => {
      if (/%2f|%5c/i.test(pathname)) throw new InvalidPath('File URL path must not include encoded \\ or / characters')
      const path = decodeURIComponent(pathname.replaceAll('/', '\\'))
      if (hostname !== '') return '\\\\' + toUnicode(hostname) + path
      if (!/^\\[A-Za-z]:/.test(path)) throw new InvalidPath('File URL path must be absolute')
      return path.slice(1)
    }
    const posixPath = ({ hostname, pathname }) => {
      if (hostname !== '') throw new InvalidHost('File URL host must be "localhost" or empty on linux')
      if (/%2f/i.test(pathname)) throw new InvalidPath('File URL path must not include encoded / characters')
      return decodeURIComponent(pathname)
    }

    function fileURLToPath(path, options) {
      if (typeof path === 'string') path = new URL(path)
      else if (!isUrl(path)) throw invalidArgType('path', ['string', 'URL'], path)
      if (path.protocol !== 'file:') throw new InvalidScheme('The URL must be of scheme file')
      return options?.windows ? windowsPath(path) : posixPath(path)
    }

    function pathToFileURL(filepath, options) {
      validateString(filepath, 'filepath')
      const windows = options?.windows
      let path = windows ? realm.findModule('path/win32').resolve(filepath) : posix.resolve(filepath)
      if (/[\\/]$/.test(filepath) && !path.endsWith(windows ? '\\' : '/')) path += windows ? '\\' : '/'
      const url = new URL('file://')
      const escaped = (text) => text
        .replaceAll('%', '%25').replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('\t', '%09')
        .replaceAll('?', '%3F').replaceAll('#', '%23')
      if (windows) {
        const share = /^\\\\([^\\]+)(\\.*)$/.exec(path)
        if (share !== null) {
          url.hostname = share[1]
          path = share[2]
        }
        url.pathname = escaped(path).replaceAll('\\', '/')
      } else url.pathname = escaped(path).replaceAll('\\', '%5C')
      return url
    }

    function toPathIfFileURL(fileURLOrPath) {
      return isUrl(fileURLOrPath) ? fileURLToPath(fileURLOrPath) : fileURLOrPath
    }

    function urlToHttpOptions(url) {
      const { hostname, pathname, port, username, password, search } = url
      const options = {
        __proto__: null,
        ...url,
        protocol: url.protocol,
        hostname: hostname && hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
        hash: url.hash,
        search,
        pathname,
        path: (pathname || '') + (search || ''),
        href: url.href,
      }
      if (port !== '') options.port = Number(port)
      if (username || password) options.auth = decodeURIComponent(username) + ':' + decodeURIComponent(password)
      return options
    }

    function format(urlObject, options) {
      if (typeof urlObject === 'string') return parse(urlObject).format()
      if (urlObject === null || typeof urlObject !== 'object') throw invalidArgType('urlObject', ['object', 'string'], urlObject)
      if (!(urlObject instanceof URL)) return Url.prototype.format.call(urlObject)
      let fragment = true
      let unicode = false
      let search = true
      let auth = true
      if (options) {
        validateObject(options, 'options')
        if (options.fragment !== undefined && options.fragment !== null) fragment = Boolean(options.fragment)
        if (options.unicode !== undefined && options.unicode !== null) unicode = Boolean(options.unicode)
        if (options.search !== undefined && options.search !== null) search = Boolean(options.search)
        if (options.auth !== undefined && options.auth !== null) auth = Boolean(options.auth)
      }
      const url = new URL(urlObject.href)
      if (!fragment) url.hash = ''
      if (!search) url.search = ''
      if (!auth) {
        url.username = ''
        url.password = ''
      }
      return unicode && url.hostname !== '' ? url.href.replace(url.hostname, toUnicode(url.hostname)) : url.href
    }

    return {
      domainToASCII(domain) {
        requireDomain(arguments.length)
        return hostOf(domain)
      },
      domainToUnicode(domain) {
        requireDomain(arguments.length)
        return toUnicode(hostOf(domain))
      },
      URL, URLSearchParams, fileURLToPath, pathToFileURL, toPathIfFileURL, urlToHttpOptions, format,
      parse, resolve: legacy.resolve, resolveObject: legacy.resolveObject, Url,
    }
  })
}
