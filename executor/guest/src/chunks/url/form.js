// application/x-www-form-urlencoded, as pairs of texts.
const REPLACEMENT = '\ufffd'

// Bytes as UTF-8, where what is not becomes replacement characters: one for each longest beginning of a character.
const decodeLoosely = (bytes) => {
  let text = ''
  let i = 0
  while (i < bytes.length) {
    const first = bytes[i++]
    if (first < 0x80) {
      text += String.fromCharCode(first)
      continue
    }
    let more = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0
    let code = more === 0 ? -1 : first & (0x3f >> more)
    // The second byte is what tells overlong forms, surrogates and what is beyond Unicode.
    let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
    let high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
    while (more > 0 && bytes[i] >= low && bytes[i] <= high) {
      code = (code << 6) | (bytes[i++] & 0x3f)
      more--
      low = 0x80
      high = 0xbf
    }
    text += more > 0 || code < 0 ? REPLACEMENT : String.fromCodePoint(code)
  }
  return text
}

const bytesOf = (run) => {
  const bytes = []
  for (let i = 1; i < run.length; i += 3) bytes.push(parseInt(run.slice(i, i + 2), 16))
  return bytes
}

// Runs of encoded bytes: what is written as it is cannot be a part of an encoded character.
const decodeRun = (run) => {
  try {
    return decodeURIComponent(run)
  } catch {
    return decodeLoosely(bytesOf(run))
  }
}

const decode = (text) => {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  return spaced.includes('%') ? spaced.replace(/(?:%[0-9a-f]{2})+/gi, decodeRun) : spaced
}

export const parseForm = (text) => {
  const pairs = []
  for (const part of text.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    pairs.push(at === -1 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))])
  }
  return pairs
}

const encodeRun = (run) => {
  if (run === ' ') return '+'
  const code = run.charCodeAt(0)
  if (code > 0x7f) return encodeURIComponent(run)
  return (code < 0x10 ? '%0' : '%') + code.toString(16).toUpperCase()
}

const encode = (text) => text.replace(/[\0-)+,/:-@[-^`{-\x7f]|[^\0-\x7f]+/g, encodeRun)

export const serializeForm = (pairs) => {
  let text = ''
  for (let i = 0; i < pairs.length; i++) {
    text += (i === 0 ? '' : '&') + encode(pairs[i][0]) + '=' + encode(pairs[i][1])
  }
  return text
}
