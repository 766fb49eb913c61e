// The tokens of a pattern.
import { refuse } from './refused.js'

export const OPEN = 0
export const CLOSE = 1
export const REGEXP = 2
export const NAME = 3
export const CHAR = 4
export const ESCAPED = 5
export const MODIFIER = 6
export const ASTERISK = 7
export const END = 8
export const INVALID = 9

const STARTS_NAME = /[$_\p{ID_Start}]/u
const CONTINUES_NAME = /[$_\u200c\u200d\p{ID_Continue}]/u

export const continuesName = (character) => CONTINUES_NAME.test(character)

const SINGLE = { __proto__: null, '*': ASTERISK, '+': MODIFIER, '?': MODIFIER, '{': OPEN, '}': CLOSE }

const at = (text, index) => String.fromCodePoint(text.codePointAt(index))

const endOfName = (text, from) => {
  let index = from
  while (index < text.length) {
    const character = at(text, index)
    if (!(index === from ? STARTS_NAME : CONTINUES_NAME).test(character)) break
    index += character.length
  }
  return index
}

// Where the regular expression that begins after a `(` ends; -1 if it is none. It is ASCII and captures nothing.
const endOfRegExp = (text, from) => {
  let depth = 1
  for (let index = from; index < text.length; index++) {
    const character = text[index]
    if (character > '\x7f' || (index === from && character === '?')) return -1
    if (character === '\\') {
      index++
      if (index >= text.length || text[index] > '\x7f') return -1
    } else if (character === ')') {
      if (--depth === 0) return index === from ? -1 : index
    } else if (character === '(') {
      depth++
      if (text[index + 1] !== '?') return -1
    }
  }
  return -1
}

// `{ type, index, value }` each. What is no token is one character that is INVALID if `lenient`, and else refused.
export const tokenize = (text, lenient) => {
  const tokens = []
  let index = 0
  const add = (type, next, value) => {
    tokens.push({ type, index, value })
    index = next
  }
  const addInvalid = (next) => {
    if (!lenient) refuse()
    add(INVALID, next, text.slice(index, next))
  }
  while (index < text.length) {
    const character = at(text, index)
    const next = index + character.length
    const single = SINGLE[character]
    if (single !== undefined) {
      add(single, next, character)
    } else if (character === '\\') {
      if (next === text.length) {
        addInvalid(next)
      } else {
        const escaped = at(text, next)
        add(ESCAPED, next + escaped.length, escaped)
      }
    } else if (character === ':') {
      const end = endOfName(text, next)
      if (end === next) addInvalid(next)
      else add(NAME, end, text.slice(next, end))
    } else if (character === '(') {
      const end = endOfRegExp(text, next)
      if (end === -1) addInvalid(next)
      else add(REGEXP, end + 1, text.slice(next, end))
    } else {
      add(CHAR, next, character)
    }
  }
  tokens.push({ type: END, index, value: '' })
  return tokens
}
