// Headers, as workerd has them: names are what HTTP calls tokens or not ASCII at all, values are any text in one line.
import { badElement } from './elements.js'

const BAD_NAME = /[\0-\x20"(),/:;<=>?@[\\\]{}\x7f]/
const BAD_VALUE = /[\0\r\n]/
const EDGES = /^[\t\n\r ]+|[\t\n\r ]+$/g
const SET_COOKIE = 'set-cookie'
const CONTENT_TYPE = 'content-type'
const INIT = 'Headers or Sequence or object'

export const createHeaders = (realm, { createInterface, isObject, pairMethods, toText }) => {
  const toName = (value) => {
    const name = toText(value)
    if (BAD_NAME.test(name)) throw new TypeError('Invalid header name.')
    return name.toLowerCase()
  }

  const toValue = (value) => {
    const text = toText(value).replace(EDGES, '')
    if (BAD_VALUE.test(text)) throw new TypeError('Invalid header value.')
    return text
  }

  const change = (state) => {
    if (state.immutable) throw new TypeError("Can't modify immutable headers.")
    return state.map
  }

  // One more of a name in lower case.
  const add = ({ map }, name, value) => {
    const values = map.get(name)
    if (values === undefined) map.set(name, [value])
    else values.push(value)
  }

  const append = (state, name, value) => {
    const key = toName(name)
    const text = toValue(value)
    change(state)
    add(state, key, text)
  }

  const fill = (state, init) => {
    if (headers.has(init)) {
      for (const [name, values] of headers.of(init).map) state.map.set(name, values.slice())
      return
    }
    const iterate = init[Symbol.iterator]
    if (iterate === undefined || iterate === null) {
      for (const name of Object.keys(init)) append(state, name, init[name])
      return
    }
    for (const pair of init) {
      if (!isObject(pair) || typeof pair[Symbol.iterator] !== 'function') throw badElement('Sequence')
      const items = [...pair]
      if (items.length !== 2) {
        throw new TypeError(
          'To initialize a Headers object from a sequence, each inner sequence must have exactly two elements.',
        )
      }
      append(state, items[0], items[1])
    }
  }

  // Sorted by name, and every cookie by itself.
  const list = ({ map }) => {
    const pairs = []
    for (const name of [...map.keys()].sort()) {
      const values = map.get(name)
      if (name === SET_COOKIE) for (const value of values) pairs.push([name, value])
      else pairs.push([name, values.join(', ')])
    }
    return pairs
  }

  const create = () => ({ map: new Map(), immutable: false })

  // `bad()` makes the error for what is no initializer.
  const from = (init, bad) => {
    const state = create()
    if (init === undefined) return state
    if (!isObject(init)) throw bad(INIT)
    fill(state, init)
    return state
  }

  const { forEach, ...pairs } = pairMethods((seen, index) => seen[index], list)
  const headers = createInterface('Headers', {
    construct: ([init], bad) => from(init, (type) => bad(1, type)),
    methods: {
      get: (state, [name]) => state.map.get(toName(name))?.join(', ') ?? null,
      getAll(state, [name]) {
        if (toText(name).toLowerCase() !== SET_COOKIE) {
          throw new TypeError('getAll() can only be used with the header name "Set-Cookie".')
        }
        return (state.map.get(SET_COOKIE) ?? []).slice()
      },
      getSetCookie: (state) => (state.map.get(SET_COOKIE) ?? []).slice(),
      has: (state, [name]) => state.map.has(toName(name)),
      set(state, [name, value]) {
        const key = toName(name)
        const text = toValue(value)
        change(state).set(key, [text])
      },
      append: (state, [name, value]) => append(state, name, value),
      delete: (state, [name]) => void change(state).delete(toName(name)),
      forEach,
      ...pairs,
    },
    required: {
      get: ['string'], getAll: ['string'], has: ['string'], set: ['string', 'string'], append: ['string', 'string'],
      delete: ['string'], forEach: ['function'],
    },
  })
  headers.hide(Symbol.iterator, pairs.entries)
  realm.define('Headers', headers.Class)

  const copy = ({ map }) => ({ map: new Map([...map].map(([name, values]) => [name, values.slice()])), immutable: false })

  return {
    headers,
    create,
    from,
    add,
    copy,
    list,
    clone: (value) => headers.make(copy(headers.of(value))),
    get: (state, name) => state.map.get(name)?.join(', ') ?? null,
    set: (state, name, value) => void state.map.set(name, [value]),
    // What a body says of itself, where nothing else does.
    setType(state, type) {
      if (type !== undefined && !state.map.has(CONTENT_TYPE)) state.map.set(CONTENT_TYPE, [type])
    },
  }
}
