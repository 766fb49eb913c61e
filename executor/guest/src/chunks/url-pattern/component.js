// One component of a pattern, compiled.
import { MATCHES_REGEXP, parseParts, regExpOf } from './parts.js'
import { textOf } from './pattern-text.js'
import { refuse } from './refused.js'

export const PLAIN = { delimiter: '', prefix: '' }
export const HOSTNAME = { delimiter: '.', prefix: '' }
export const PATHNAME = { delimiter: '/', prefix: '/' }

const compileRegExp = (text, ignoreCase) => {
  try {
    return new RegExp(text, ignoreCase ? 'vi' : 'v')
  } catch {
    return refuse() // what stands in parentheses is no regular expression
  }
}

export const compile = (pattern, encode, options, ignoreCase) => {
  const parts = parseParts(pattern, encode, options)
  const { text, names } = regExpOf(parts, options)
  return {
    text: textOf(parts, options),
    hasRegExp: parts.some(({ type }) => type === MATCHES_REGEXP),
    regExp: compileRegExp(text, ignoreCase),
    names,
  }
}

// What a component captures of `input`; null if it does not match.
export const matchComponent = ({ regExp, names }, input) => {
  const found = regExp.exec(input)
  if (found === null) return null
  const groups = {}
  for (let i = 0; i < names.length; i++) groups[names[i]] = found[i + 1]
  return { input, groups }
}
