// URLs, their components, and how each is encoded: what patterns need of the `url` chunk.
import { refuse } from './refused.js'

// What a reference is resolved against where there is nothing: upstream matches one that stands alone, too.
const NOTHING = {
  protocol: '', special: false, username: '', password: '', host: null, port: '', path: '', opaque: false, query: null,
  fragment: null,
}

export const createUrls = ({ parse, setters, isSpecial, isDefaultPort }) => {
  const parsed = (text) => parse(text, null) ?? refuse()
  // A component through its setter, on a URL where it is empty.
  const through = (set, name, value, text = 'fake://fake') => {
    if (value === '') return ''
    const record = parsed(text)
    set(record, value)
    return record[name] ?? ''
  }

  const encode = {
    protocol: (value) => (value === '' ? '' : parsed(value + '://dummy.test').protocol.slice(0, -1)),
    username: (value) => through(setters.setUsername, 'username', value),
    password: (value) => through(setters.setPassword, 'password', value),
    hostname(value) {
      if (value === '' || /^[a-z0-9.-]+$/.test(value)) return value
      const record = parsed('https://x')
      record.host = ''
      setters.setHostname(record, value)
      return record.host === '' ? refuse() : record.host
    },
    ipv6: (value) => (/^[0-9a-f:[\]]*$/i.test(value) ? value.toLowerCase() : refuse()),
    port(value, protocol = '') {
      const text = value.replace(/[\t\n\r]/g, '')
      if (text === '') return ''
      const digits = /^(?:0(?![0-9])|[1-9][0-9]*)/.exec(text)
      if (digits === null || digits[0] > 65535) return refuse()
      return isDefaultPort(protocol + ':', digits[0]) ? '' : digits[0]
    },
    pathname(value) {
      if (value === '') return ''
      if (value[0] === '/') return parsed('fake://fake' + value).path
      return parsed('fake://fake/-' + value).path.slice(2)
    },
    opaquePathname: (value) => (value === '' ? '' : parsed('fake:' + value).path),
    search: (value) => through(setters.setSearch, 'query', value),
    hash: (value) => through(setters.setHash, 'fragment', value),
  }

  return {
    encode,
    // Whether paths of the protocol are lists of segments.
    encodesPath: (protocol) => protocol === '' || isSpecial(protocol + ':'),
    isDefaultPort: (protocol, port) => isDefaultPort(protocol + ':', port),
    parse,
    parseToMatch: (text, base) => parse(text, base ?? NOTHING),
    componentsOf: (record) => ({
      protocol: record.protocol.slice(0, -1),
      username: record.username,
      password: record.password,
      hostname: record.host ?? '',
      port: record.port,
      pathname: record.path,
      search: record.query ?? '',
      hash: record.fragment ?? '',
    }),
  }
}
