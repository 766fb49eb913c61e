// What a URL consists of, and its one text.
const DEFAULT_PORTS = { __proto__: null, 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' }

export const isSpecial = (protocol) => DEFAULT_PORTS[protocol] !== undefined
export const isDefaultPort = (protocol, port) => DEFAULT_PORTS[protocol] === port

// `path` is the serialized path; only an opaque one may begin without a slash. `host` is null where there is none, and so
// are `query` and `fragment`.
export class Record {
  protocol = ''
  special = false
  username = ''
  password = ''
  host = null
  port = ''
  path = ''
  opaque = false
  query = null
  fragment = null
}

export const copyAuthority = (url, base) => {
  url.username = base.username
  url.password = base.password
  url.host = base.host
  url.port = base.port
}

export const hasCredentials = (url) => url.username !== '' || url.password !== ''

// Whether there may be credentials and a port.
export const takesCredentials = (url) => url.host !== null && url.host !== '' && url.protocol !== 'file:'

const authority = (url) => {
  if (url.host === null) {
    // Without it the path would be read as an authority.
    return !url.opaque && url.path.startsWith('//') ? '/.' : ''
  }
  let text = '//'
  if (hasCredentials(url)) {
    text += url.username
    if (url.password !== '') text += ':' + url.password
    text += '@'
  }
  return text + hostAndPort(url)
}

export const hostAndPort = (url) => (url.host === null ? '' : url.port === '' ? url.host : url.host + ':' + url.port)

export const serialize = (url) => {
  let text = url.protocol + authority(url) + url.path
  if (url.query !== null) text += '?' + url.query
  if (url.fragment !== null) text += '#' + url.fragment
  return text
}
