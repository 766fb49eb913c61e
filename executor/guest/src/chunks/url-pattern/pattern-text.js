// The text of a pattern, as its properties show it.
import { FIXED, MATCHES_REGEXP, SEGMENT, segmentOf } from './parts.js'
import { continuesName } from './tokens.js'

export const escapePattern = (text) => text.replace(/[+*?:{}()\\]/g, '\\$&')

const firstOf = (text) => String.fromCodePoint(text.codePointAt(0))
const startsWithDigit = (name) => /^[0-9]/.test(name)

// Whether the part would be read as another one if it stood beside its neighbours without braces.
const needsBraces = (part, previous, next, usualPrefix) => {
  if (part.suffix !== '' || (part.prefix !== '' && part.prefix !== usualPrefix)) return true
  const isNamed = !startsWithDigit(part.name)
  if (isNamed && part.type === SEGMENT && part.modifier === '' && next !== undefined && next.prefix === '' && next.suffix === '') {
    if (next.type === FIXED ? continuesName(firstOf(next.value)) : startsWithDigit(next.name)) return true
  }
  return part.prefix === '' && previous?.type === FIXED && usualPrefix !== '' && previous.value.endsWith(usualPrefix)
}

const groupText = (part, previous, braces, delimiter) => {
  const isNamed = !startsWithDigit(part.name)
  const name = isNamed ? ':' + part.name : ''
  if (part.type === MATCHES_REGEXP) return name + '(' + part.value + ')'
  if (part.type === SEGMENT) return isNamed ? name : '(' + segmentOf(delimiter) + ')'
  const alone = previous === undefined || previous.type === FIXED || previous.modifier !== '' || braces || part.prefix !== ''
  return !isNamed && alone ? '*' : name + '(.*)'
}

export const textOf = (parts, { delimiter, prefix: usualPrefix }) => {
  let text = ''
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    const previous = parts[i - 1]
    if (part.type === FIXED) {
      const value = escapePattern(part.value)
      text += part.modifier === '' ? value : '{' + value + '}' + part.modifier
      continue
    }
    const braces = needsBraces(part, previous, parts[i + 1], usualPrefix)
    let inner = escapePattern(part.prefix) + groupText(part, previous, braces, delimiter)
    const isNamed = !startsWithDigit(part.name)
    if (part.type === SEGMENT && isNamed && part.suffix !== '' && continuesName(firstOf(part.suffix))) inner += '\\'
    inner += escapePattern(part.suffix)
    text += (braces ? '{' + inner + '}' : inner) + part.modifier
  }
  return text
}
