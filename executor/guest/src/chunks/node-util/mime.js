// MIMEType and MIMEParams, with the parsing and serialising of the MIME Sniffing Standard.

import { publish } from '../shape.js'
import { badArgument } from '../texts.js'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const QUOTABLE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/
const trim = (text) => text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
const trimEnd = (text) => text.replace(/[\t\n\r ]+$/, '')

export const createMime = () => {
  const invalid = (what) => new TypeError('Not a valid MIME ' + what)

  const keyOf = (method, args) => {
    if (args.length === 0) throw badArgument(method, 'MIMEParams', 1, 'string')
    return `${args[0]}`.toLowerCase()
  }

  const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()))
  const iterate = (kind, items) => Object.create(iteratorPrototype, {
    next: { value: { next: () => items.next() }.next, configurable: true },
    [Symbol.toStringTag]: { value: kind + 'Iterator', configurable: true },
  })

  class MIMEParams {
    #map = new Map()
    delete(...args) { this.#map.delete(keyOf('delete', args)) }
    get(...args) { return this.#map.get(keyOf('get', args)) ?? null }
    has(...args) { return this.#map.has(keyOf('has', args)) }
    set(...args) {
      const key = keyOf('set', args)
      if (args.length === 1) throw badArgument('set', 'MIMEParams', 2, 'string')
      const text = `${args[1]}`
      if (!TOKEN.test(key)) throw invalid('parameter')
      this.#map.set(key, text)
    }
    entries() { return iterate('Entry', this.#map.entries()) }
    keys() { return iterate('Key', this.#map.keys()) }
    values() { return iterate('Value', this.#map.values()) }
    toString() {
      let text = ''
      for (const [name, value] of this.#map) {
        if (text !== '') text += ';'
        text += name + '=' + (TOKEN.test(value) ? value : '"' + value.replace(/["\\]/g, '\\$&') + '"')
      }
      return text
    }
    toJSON() { return this.toString() }
    [Symbol.iterator]() { return iterate('Entry', this.#map.entries()) }
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
      const text = trim(`${input}`)
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
      if (!TOKEN.test(`${value}`)) throw invalid('type')
      this.#type = `${value}`.toLowerCase()
    }
    get subtype() { return this.#subtype }
    set subtype(value) {
      if (!TOKEN.test(`${value}`)) throw invalid('subtype')
      this.#subtype = `${value}`.toLowerCase()
    }
    get essence() { return this.#type + '/' + this.#subtype }
    get params() { return this.#params }
    toString() {
      const params = this.#params.toString()
      return this.essence + (params === '' ? '' : ';' + params)
    }
    toJSON() { return this.toString() }
  }
  return { MIMEType: publish(MIMEType, 'MIMEType'), MIMEParams: publish(MIMEParams, 'MIMEParams') }
}
