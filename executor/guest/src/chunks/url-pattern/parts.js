// A pattern as a list of parts: fixed texts and groups, each with its modifier.
import { refuse } from './refused.js'
import { ASTERISK, CHAR, CLOSE, END, ESCAPED, MODIFIER, NAME, OPEN, REGEXP, tokenize } from './tokens.js'

export const FIXED = 0
export const MATCHES_REGEXP = 1
export const SEGMENT = 2
const FULL = 3

const escapeRegExp = (text) => text.replace(/[.+*?^${}()[\]|/\\]/g, '\\$&')

// What a name without a regular expression matches.
export const segmentOf = (delimiter) => (delimiter === '' ? '[^]+?' : '[^' + escapeRegExp(delimiter) + ']+?')

export const parseParts = (text, encode, { delimiter, prefix: usualPrefix }) => {
  const tokens = tokenize(text, false)
  const segment = segmentOf(delimiter)
  const parts = []
  const names = new Set()
  let index = 0
  let pending = ''
  let nextNumber = 0

  const take = (type) => (tokens[index].type === type ? tokens[index++] : null)
  const takeRegExpOrWildcard = (name) => take(REGEXP) ?? (name === null ? take(ASTERISK) : null)
  const takeModifier = () => (take(MODIFIER) ?? take(ASTERISK))?.value ?? ''
  const takeText = () => {
    let taken = ''
    for (let token; (token = take(CHAR) ?? take(ESCAPED)) !== null;) taken += token.value
    return taken
  }

  const addPending = () => {
    if (pending === '') return
    const value = encode(pending)
    pending = ''
    parts.push({ type: FIXED, value, modifier: '', name: '', prefix: '', suffix: '' })
  }

  const add = (prefix, name, pattern, suffix, modifier) => {
    if (name === null && pattern === null && modifier === '') {
      pending += prefix
      return
    }
    addPending()
    if (name === null && pattern === null) {
      if (prefix !== '') parts.push({ type: FIXED, value: encode(prefix), modifier, name: '', prefix: '', suffix: '' })
      return
    }
    let value = pattern === null ? segment : pattern.type === ASTERISK ? '.*' : pattern.value
    let type = MATCHES_REGEXP
    if (value === segment) type = SEGMENT
    else if (value === '.*') type = FULL
    if (type !== MATCHES_REGEXP) value = ''
    const ownName = name === null ? String(nextNumber++) : name.value
    if (names.has(ownName)) refuse()
    names.add(ownName)
    parts.push({ type, value, modifier, name: ownName, prefix: encode(prefix), suffix: encode(suffix) })
  }

  while (index < tokens.length) {
    const character = take(CHAR)
    const name = take(NAME)
    const pattern = takeRegExpOrWildcard(name)
    if (name !== null || pattern !== null) {
      let prefix = character === null ? '' : character.value
      if (prefix !== usualPrefix) {
        pending += prefix
        prefix = ''
      }
      addPending()
      add(prefix, name, pattern, '', takeModifier())
      continue
    }
    const fixed = character ?? take(ESCAPED)
    if (fixed !== null) {
      pending += fixed.value
      continue
    }
    if (take(OPEN) !== null) {
      const prefix = takeText()
      const groupName = take(NAME)
      const groupPattern = takeRegExpOrWildcard(groupName)
      const suffix = takeText()
      if (take(CLOSE) === null) refuse()
      // A group without a name or a pattern has only one text.
      add(prefix, groupName, groupPattern, suffix, takeModifier())
      continue
    }
    addPending()
    if (take(END) === null) refuse()
  }
  return parts
}

// The regular expression of `parts`, as text, and the names of what it captures.
export const regExpOf = (parts, { delimiter }) => {
  const names = []
  let text = '^'
  for (const { type, value, modifier, name, prefix, suffix } of parts) {
    if (type === FIXED) {
      text += modifier === '' ? escapeRegExp(value) : '(?:' + escapeRegExp(value) + ')' + modifier
      continue
    }
    names.push(name)
    const inner = type === SEGMENT ? segmentOf(delimiter) : type === FULL ? '.*' : value
    const before = escapeRegExp(prefix)
    const after = escapeRegExp(suffix)
    const repeats = modifier === '*' || modifier === '+'
    if (prefix === '' && suffix === '') {
      text += repeats ? '((?:' + inner + ')' + modifier + ')' : '(' + inner + ')' + modifier
    } else if (!repeats) {
      text += '(?:' + before + '(' + inner + ')' + after + ')' + modifier
    } else {
      text += '(?:' + before + '((?:' + inner + ')(?:' + after + before + '(?:' + inner + '))*)' + after + ')'
      if (modifier === '*') text += '?'
    }
  }
  return { text: text + '$', names }
}
