// MIMEType and MIMEParams, with the parsing and serialising of the MIME Sniffing Standard.

import { publish } from '../shape.js'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const QUOTABLE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/
const trim = (text) => text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
const trimEnd = (text) => text.replace(/[\t\n\r ]+$/, '')

export const createMime = () => {
  const custom = Symbol.for('nodejs.util.inspect.custom')
  const invalid = (what) => new TypeError('Not a valid MIME ' + what)

  class MIMEParams {
    #map = new Map()
    delete(name) { this.#map.delete(String(name).toLowerCase()) }
    get(name) { return this.#map.get(String(name).toLowerCase()) ?? null }
    has(name) { return this.#map.has(String(name).toLowerCase()) }
    set(name, value) {
      const key = String(name).toLowerCase()
      const text = String(value)
      if (!TOKEN.test(key)) throw invalid('parameter')
      this.#map.set(key, text)
    }
    entries() { return this.#map.entries() }
    keys() { return this.#map.keys() }
    values() { return this.#map.values() }
    toString() {
      let text = ''
      for (const [name, value] of this.#map) {
        if (text !== '') text += ';'
        text += name + '=' + (TOKEN.test(value) ? value : '"' + value.replace(/["\\]/g, '\\$&') + '"')
      }
      return text
    }
    toJSON() { return this.toString() }
    [Symbol.iterator]() { return this.#map.entries() }
    [custom](depth, options, inspect) {
      return 'MIMEParams(' + this.#map.size + ') ' + inspect(this.#map, options).replace(/^Map\(\d+\) /, '')
    }
  }

  // `text` begins after the first ';'.
  const parseParams = (params, text) => {
    let at = 0
    while (at < text.length) {
      while (at < text.length && /[\t\n\r ]/.test(text[at])) at += 1
      const from = at
      while (at < text.length && text[at] !== ';' && text[at] !== '=') at += 1
      const name = text.slice(from, at).toLowerCase()
      if (at === text.length) break
      if (text[at] === ';') {
        at += 1
        continue
      }
      at += 1
      let value
      if (text[at] === '"') {
        value = ''
        at += 1
        while (at < text.length && text[at] !== '"') {
          if (text[at] === '\\' && at + 1 < text.length) at += 1
          value += text[at]
          at += 1
        }
        while (at < text.length && text[at] !== ';') at += 1
      } else {
        const start = at
        while (at < text.length && text[at] !== ';') at += 1
        value = trimEnd(text.slice(start, at))
        if (value === '') {
          at += 1
          continue
        }
      }
      at += 1
      if (TOKEN.test(name) && QUOTABLE.test(value) && !params.has(name)) params.set(name, value)
    }
  }

  class MIMEType {
    #type
    #subtype
    #params = new MIMEParams()
    constructor(...args) {
      if (args.length === 0) {
        throw new TypeError("Failed to construct 'MIMEType': constructor parameter 1 is not of type 'string'.")
      }
      const [input] = args
      const text = trim(String(input))
      const slash = text.indexOf('/')
      const semicolon = text.indexOf(';')
      const type = slash === -1 ? '' : text.slice(0, slash)
      const subtype = slash === -1 ? '' : trimEnd(text.slice(slash + 1, semicolon === -1 ? undefined : semicolon))
      if (!TOKEN.test(type) || !TOKEN.test(subtype)) throw new TypeError('Not a valid MIME type: ' + input)
      this.#type = type.toLowerCase()
      this.#subtype = subtype.toLowerCase()
      if (semicolon !== -1) parseParams(this.#params, text.slice(semicolon + 1))
    }
    get type() { return this.#type }
    set type(value) {
      if (!TOKEN.test(String(value))) throw invalid('type')
      this.#type = String(value).toLowerCase()
    }
    get subtype() { return this.#subtype }
    set subtype(value) {
      if (!TOKEN.test(String(value))) throw invalid('subtype')
      this.#subtype = String(value).toLowerCase()
    }
    get essence() { return this.#type + '/' + this.#subtype }
    get params() { return this.#params }
    toString() {
      const params = this.#params.toString()
      return this.essence + (params === '' ? '' : ';' + params)
    }
    toJSON() { return this.toString() }
    [custom](depth, options, inspect) {
      const { type, subtype, essence, params } = this
      return 'MIMEType ' + inspect({ type, subtype, essence, params }, options)
    }
  }
  return { MIMEType: publish(MIMEType, 'MIMEType'), MIMEParams: publish(MIMEParams, 'MIMEParams') }
}
