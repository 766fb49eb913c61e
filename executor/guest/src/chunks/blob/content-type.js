// MIME types, as the MIME Sniffing Standard reads and writes them.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const QUOTED_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/

const readQuoted = (text, from) => {
  let value = ''
  let i = from + 1
  for (; i < text.length && text[i] !== '"'; i++) {
    if (text[i] === '\\' && i + 1 < text.length) i++
    value += text[i]
  }
  return [value, i + 1]
}

const nextSemicolon = (text, from) => {
  const found = text.indexOf(';', from)
  return found === -1 ? text.length : found
}

const readParameter = (text, from) => {
  const end = nextSemicolon(text, from)
  const equals = text.indexOf('=', from)
  if (equals === -1 || equals >= end) return [undefined, undefined, end]
  const name = text.slice(from, equals).trim().toLowerCase()
  if (text[equals + 1] !== '"') {
    const value = text.slice(equals + 1, end).trim()
    return [name, value === '' ? undefined : value, end]
  }
  const [value, after] = readQuoted(text, equals + 1)
  return [name, value, nextSemicolon(text, after)]
}

// { essence, parameters } or null. `parameters` is a Map.
export const parseContentType = (input) => {
  const text = input.trim()
  const start = nextSemicolon(text, 0)
  const [type, subtype, ...more] = text.slice(0, start).trim().split('/')
  if (more.length > 0 || !TOKEN.test(type) || subtype === undefined || !TOKEN.test(subtype)) return null
  const parameters = new Map()
  for (let at = start; at < text.length;) {
    const [name, value, end] = readParameter(text, at + 1)
    at = end
    if (name === undefined || value === undefined || parameters.has(name)) continue
    if (TOKEN.test(name) && QUOTED_TEXT.test(value)) parameters.set(name, value)
  }
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters }
}

export const writeContentType = ({ essence, parameters }) => {
  let text = essence
  for (const [name, value] of parameters) {
    text += `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`
  }
  return text
}
