// node:querystring.
const HEX = /%[0-9A-Fa-f]{2}/
const PLAIN = /^[A-Za-z0-9_.!~*'()-]*$/

const hexValue = (unit) => {
  if (unit >= 48 && unit <= 57) return unit - 48
  const lower = unit | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

export default function install(realm) {
  realm.lazyModule('querystring', () => {
    const { Buffer } = realm.exports.buffer
    const { errorClass } = realm.exports['node-errors']
    const InvalidUri = errorClass('ERR_INVALID_URI', URIError)

    // As encodeURIComponent, but for the texts of its failures.
    const encodeText = (text) => {
      if (PLAIN.test(text)) return text
      if (!text.isWellFormed()) throw new InvalidUri('URI malformed')
      return encodeURIComponent(text)
    }

    function escape(str) {
      if (typeof str !== 'string') str = typeof str === 'object' ? String(str) : str + ''
      return encodeText(str)
    }

    function unescapeBuffer(s, decodeSpaces) {
      const out = Buffer.allocUnsafe(s.length)
      let to = 0
      for (let i = 0; i < s.length; i++) {
        const unit = s.charCodeAt(i)
        if (unit === 43 && decodeSpaces) {
          out[to++] = 32
          continue
        }
        if (unit === 37 && i + 2 < s.length) {
          const high = hexValue(s.charCodeAt(i + 1))
          const low = hexValue(s.charCodeAt(i + 2))
          if (high >= 0 && low >= 0) {
            out[to++] = high * 16 + low
            i += 2
            continue
          }
        }
        out[to++] = unit
      }
      return to === s.length ? out : out.slice(0, to)
    }

    function unescape(s, decodeSpaces) {
      try {
        return decodeURIComponent(s)
      } catch {
        return querystring.unescapeBuffer(s, decodeSpaces).toString()
      }
    }

    const primitive = (value) => {
      if (typeof value === 'string') return value
      if (typeof value === 'number' && Number.isFinite(value)) return String(value)
      if (typeof value === 'bigint') return String(value)
      if (typeof value === 'boolean') return value ? 'true' : 'false'
      return ''
    }
    const encoded = (value, encode) => {
      if (typeof value === 'string') return value.length > 0 ? encode(value) : ''
      // Such numbers have nothing to escape but the plus of an exponent.
      if (typeof value === 'number' && Number.isFinite(value)) {
        return Math.abs(value) < 1e21 ? String(value) : encode(String(value))
      }
      if (typeof value === 'bigint') return String(value)
      if (typeof value === 'boolean') return value ? 'true' : 'false'
      return ''
    }

    function stringify(obj, sep, eq, options) {
      sep = sep || '&'
      eq = eq || '='
      const custom = options && typeof options.encodeURIComponent === 'function' ? options.encodeURIComponent : undefined
      const encode = custom ?? querystring.escape
      const convert = custom !== undefined || encode !== escape ? (value) => encode(primitive(value)) : (value) => encoded(value, encode)
      if (obj === null || typeof obj !== 'object') return ''
      const fields = []
      for (const key of Object.keys(obj)) {
        const name = convert(key) + eq
        const value = obj[key]
        if (Array.isArray(value)) for (const item of value) fields.push(name + convert(item))
        else fields.push(name + convert(value))
      }
      return fields.join(sep)
    }

    const decodeText = (text, decode) => {
      try {
        return decode(text)
      } catch {
        return querystring.unescape(text, true)
      }
    }

    function parse(qs, sep, eq, options) {
      const result = { __proto__: null }
      if (typeof qs !== 'string' || qs.length === 0) return result
      const separator = sep ? sep + '' : '&'
      const equals = eq ? eq + '' : '='
      let pairs = options && typeof options.maxKeys === 'number' ? options.maxKeys : 1000
      if (!(pairs > 0)) pairs = Infinity
      const decode = options && typeof options.decodeURIComponent === 'function' ? options.decodeURIComponent : querystring.unescape
      const custom = decode !== unescape
      const text = (raw) => {
        const spaced = raw.replaceAll('+', custom ? '%20' : ' ')
        return custom || HEX.test(spaced) ? decodeText(spaced, decode) : spaced
      }
      for (const field of qs.split(separator)) {
        if (field === '') continue
        if (pairs === 0) break
        pairs -= 1
        const at = field.indexOf(equals)
        const key = text(at === -1 ? field : field.slice(0, at))
        const value = at === -1 ? '' : text(field.slice(at + equals.length))
        const known = result[key]
        if (!(key in result)) result[key] = value
        else if (Array.isArray(known)) known.push(value)
        else result[key] = [known, value]
      }
      return result
    }

    const querystring = { decode: parse, encode: stringify, escape, parse, stringify, unescape, unescapeBuffer }
    return querystring
  })
}
