import { publish } from '../shape.js'
import { badArgument, illegalInvocation } from '../texts.js'
import { optionalText, textArgument, toText } from './convert.js'
import { parseForm, serializeForm } from './form.js'

const NAME = 'URLSearchParams'

// The pairs of a URLSearchParams, and what has to be done when they change. No program ever holds one.
export class List {
  #pairs
  #changed

  constructor(pairs, changed) {
    this.#pairs = pairs
    this.#changed = changed
  }

  static is(value) {
    return typeof value === 'object' && value !== null && #pairs in value
  }

  get pairs() {
    return this.#pairs
  }

  // By a program: a URL takes it over.
  change(pairs) {
    this.#pairs = pairs
    this.#changed?.(pairs)
  }

  // By the URL.
  reset(pairs) {
    this.#pairs = pairs
  }
}

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'

const notSequence = () => new TypeError("Incorrect type: the provided value is not of type 'Sequence'.")

const sequence = (value) => {
  if (!isObject(value) || typeof value[Symbol.iterator] !== 'function') throw notSequence()
  return Array.from(value)
}

const pairsOf = (init) => {
  if (init === undefined) return []
  if (!isObject(init)) {
    const text = toText(init)
    return parseForm(text[0] === '?' ? text.slice(1) : text)
  }
  if (typeof init[Symbol.iterator] === 'function') {
    return sequence(init)
      .map((pair) => sequence(pair).map(toText))
      .map((pair) => {
        if (pair.length !== 2) throw new TypeError('Invalid URL search params sequence.')
        return pair
      })
  }
  return Object.keys(init).map((key) => [toText(key), toText(init[key])])
}

const byName = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)

const iteratorClass = (name, pick) => {
  class Iterator {
    #list
    #at = 0

    constructor(list) {
      this.#list = list
    }

    next() {
      if (!isObject(this) || !(#list in this)) throw illegalInvocation()
      const { pairs } = this.#list
      if (this.#at >= pairs.length) return { done: true }
      return { done: false, value: pick(pairs[this.#at++]) }
    }

    [Symbol.iterator]() {
      return this
    }
  }
  Object.setPrototypeOf(Iterator.prototype, Object.getPrototypeOf(Object.getPrototypeOf([].values())))
  publish(Iterator, name, { constructible: false })
  return Iterator
}

let EntryIterator
let KeyIterator
let ValueIterator

const entryIterator = (list) => {
  EntryIterator ??= iteratorClass('EntryIterator', ([name, value]) => [name, value])
  return new EntryIterator(list)
}

export let isParams
let listOf

class SearchParams {
  #list

  constructor(init) {
    this.#list = List.is(init) ? init : new List(pairsOf(init))
  }

  // Not static methods: a program would find them.
  static {
    isParams = (value) => typeof value === 'object' && value !== null && #list in value
    listOf = (self) => {
      try {
        return self.#list
      } catch {
        throw illegalInvocation()
      }
    }
  }

  get size() {
    return listOf(this).pairs.length
  }

  append() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'append')
    const value = textArgument(arguments, 1, NAME, 'append')
    const { pairs } = list
    pairs.push([name, value])
    list.change(pairs)
  }

  delete() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'delete')
    const value = optionalText(arguments[1])
    list.change(list.pairs.filter((pair) => pair[0] !== name || (value !== undefined && pair[1] !== value)))
  }

  get() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'get')
    const found = list.pairs.find((pair) => pair[0] === name)
    return found === undefined ? null : found[1]
  }

  getAll() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'getAll')
    return list.pairs.filter((pair) => pair[0] === name).map((pair) => pair[1])
  }

  has() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'has')
    const value = optionalText(arguments[1])
    return list.pairs.some((pair) => pair[0] === name && (value === undefined || pair[1] === value))
  }

  set() {
    const list = listOf(this)
    const name = textArgument(arguments, 0, NAME, 'set')
    const value = textArgument(arguments, 1, NAME, 'set')
    const { pairs } = list
    const first = pairs.findIndex((pair) => pair[0] === name)
    if (first === -1) {
      pairs.push([name, value])
      list.change(pairs)
      return
    }
    const kept = pairs.filter((pair, index) => index <= first || pair[0] !== name)
    kept[first] = [name, value]
    list.change(kept)
  }

  sort() {
    const list = listOf(this)
    list.change(list.pairs.sort(byName))
  }

  entries() {
    return entryIterator(listOf(this))
  }

  keys() {
    const list = listOf(this)
    KeyIterator ??= iteratorClass('KeyIterator', (pair) => pair[0])
    return new KeyIterator(list)
  }

  values() {
    const list = listOf(this)
    ValueIterator ??= iteratorClass('ValueIterator', (pair) => pair[1])
    return new ValueIterator(list)
  }

  forEach() {
    const list = listOf(this)
    const callback = arguments[0]
    if (typeof callback !== 'function') throw badArgument('forEach', NAME, 1, 'function')
    for (let i = 0; i < list.pairs.length; i++) {
      const [name, value] = list.pairs[i]
      Reflect.apply(callback, arguments[1], [value, name, this])
    }
  }

  toString() {
    return serializeForm(listOf(this).pairs)
  }

  [Symbol.iterator]() {
    return entryIterator(listOf(this))
  }
}

export const URLSearchParams = publish(SearchParams, NAME)
export const paramsOf = (list) => new SearchParams(list)
