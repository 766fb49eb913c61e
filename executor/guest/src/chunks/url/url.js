import { publish } from '../shape.js'
import { badArgument, badConstructorArgument, illegalInvocation } from '../texts.js'
import { optionalText, textArgument, toText } from './convert.js'
import { parseForm, serializeForm } from './form.js'
import { parse } from './parser.js'
import { hostAndPort, serialize } from './record.js'
import { List, paramsOf } from './search-params.js'
import * as setters from './setters.js'

const invalid = () => new TypeError('Invalid URL string.')

const afterMark = (mark, text) => (text === null || text === '' ? '' : mark + text)

const ORIGINS = { __proto__: null, 'http:': true, 'https:': true, 'ws:': true, 'wss:': true, 'ftp:': true }

export const createURL = ({ toASCII, isBlob }) => {
  // A Record, or null.
  const parsed = (text, base) => {
    if (base === undefined) return parse(text, null, toASCII)
    const record = parse(base, null, toASCII)
    return record === null ? null : parse(text, record, toASCII)
  }

  const originOf = (record) => {
    if (ORIGINS[record.protocol]) return record.protocol + '//' + hostAndPort(record)
    if (record.protocol !== 'blob:') return 'null'
    const inner = parse(record.path, null, toASCII)
    return inner !== null && (inner.protocol === 'http:' || inner.protocol === 'https:') ? originOf(inner) : 'null'
  }

  const parseArguments = (given, method) => {
    const text = textArgument(given, 0, 'URL', method)
    return parsed(text, optionalText(given[1]))
  }

  let stateOf

  // The query has been set as a text.
  const refresh = (state) => {
    state.list?.reset(state.url.query === null ? [] : parseForm(state.url.query))
  }

  const linkedParams = (state) => {
    state.list = new List([], (pairs) => {
      state.url.query = pairs.length === 0 ? null : serializeForm(pairs)
    })
    refresh(state)
    return paramsOf(state.list)
  }

  class Url {
    #state

    static {
      stateOf = (self) => {
        try {
          return self.#state
        } catch {
          throw illegalInvocation()
        }
      }
    }

    constructor() {
      if (arguments.length === 0) throw badConstructorArgument('URL', 1, 'USVString')
      const url = parseArguments(arguments)
      if (url === null) throw invalid()
      this.#state = { url, list: undefined, params: undefined }
    }

    static canParse() {
      return parseArguments(arguments, 'canParse') !== null
    }

    static parse() {
      const url = parseArguments(arguments, 'parse')
      return url === null ? null : new URL(serialize(url))
    }

    static createObjectURL() {
      if (!isBlob(arguments[0])) throw badArgument('createObjectURL', 'URL', 1, 'File or Blob')
      throw new Error('URL.createObjectURL() is not implemented')
    }

    static revokeObjectURL() {
      textArgument(arguments, 0, 'URL', 'revokeObjectURL')
      throw new Error('URL.revokeObjectURL() is not implemented')
    }

    get origin() {
      return originOf(stateOf(this).url)
    }

    get href() {
      return serialize(stateOf(this).url)
    }

    set href(value) {
      const state = stateOf(this)
      const url = parse(toText(value), null, toASCII)
      if (url === null) {
        throw new TypeError("Failed to set the 'href' property on 'URL': the provided value is not of type 'valid URL string'.")
      }
      state.url = url
      refresh(state)
    }

    get protocol() {
      return stateOf(this).url.protocol
    }

    set protocol(value) {
      setters.setProtocol(stateOf(this).url, toText(value))
    }

    get username() {
      return stateOf(this).url.username
    }

    set username(value) {
      setters.setUsername(stateOf(this).url, toText(value))
    }

    get password() {
      return stateOf(this).url.password
    }

    set password(value) {
      setters.setPassword(stateOf(this).url, toText(value))
    }

    get host() {
      return hostAndPort(stateOf(this).url)
    }

    set host(value) {
      setters.setHost(stateOf(this).url, toText(value), toASCII)
    }

    get hostname() {
      return stateOf(this).url.host ?? ''
    }

    set hostname(value) {
      setters.setHostname(stateOf(this).url, toText(value), toASCII)
    }

    get port() {
      return stateOf(this).url.port
    }

    set port(value) {
      setters.setPortText(stateOf(this).url, toText(value))
    }

    get pathname() {
      return stateOf(this).url.path
    }

    set pathname(value) {
      setters.setPathname(stateOf(this).url, toText(value))
    }

    get search() {
      return afterMark('?', stateOf(this).url.query)
    }

    set search(value) {
      const state = stateOf(this)
      setters.setSearch(state.url, toText(value))
      refresh(state)
    }

    get hash() {
      return afterMark('#', stateOf(this).url.fragment)
    }

    set hash(value) {
      setters.setHash(stateOf(this).url, toText(value))
    }

    get searchParams() {
      const state = stateOf(this)
      return (state.params ??= linkedParams(state))
    }

    toJSON() {
      return serialize(stateOf(this).url)
    }

    toString() {
      return serialize(stateOf(this).url)
    }
  }

  const URL = publish(Url, 'URL')
  return { URL, normalize: (text, base) => serializeOrNull(parsed(text, base)) }
}

const serializeOrNull = (record) => (record === null ? null : serialize(record))
