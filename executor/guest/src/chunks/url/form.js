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

const encodeRun = (run) => {
  if (run === ' ') return '+'
  const code = run.charCodeAt(0)
  if (code > 0x7f) return encodeURIComponent(run)
  return (code < 0x10 ? '%0' : '%') + code.toString(16).toUpperCase()
}

const encode = (text) => text.replace(/[\0-)+,/:-@[-^`{-\x7f]|[^\0-\x7f]+/g, encodeRun)

// The bytes that `text` stands for, encoded as they are always encoded.
const normalize = (text) =>
  text.replace(/%([0-9a-f]{2})|[+%]|[^+%]+/gi, (part, hex) => {
    if (hex === undefined) return encode(part === '+' ? ' ' : part)
    const byte = parseInt(hex, 16)
    return byte < 0x80 ? encode(String.fromCharCode(byte)) : part.toUpperCase()
  })

// `[text]`, or `[text, encoded]` where the text is not all that the bytes were.
const decode = (encoded) => {
  const spaced = encoded.includes('+') ? encoded.replaceAll('+', ' ') : encoded
  if (!spaced.includes('%')) return [spaced]
  let isUTF8 = true
  // What is written as it is cannot be a part of an encoded character: runs of encoded bytes stand for themselves.
  const text = spaced.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      isUTF8 = false
      return decodeLoosely(bytesOf(run))
    }
  })
  return isUTF8 ? [text] : [text, normalize(encoded)]
}

// Pairs `[name, value]`. One that was not UTF-8 has its encoded name and value as further elements: upstream writes such
// bytes again as they were.
export const parseForm = (text) => {
  const pairs = []
  for (const part of text.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const [name, encodedName] = decode(at === -1 ? part : part.slice(0, at))
    const [value, encodedValue] = at === -1 ? [''] : decode(part.slice(at + 1))
    const isUTF8 = encodedName === undefined && encodedValue === undefined
    pairs.push(isUTF8 ? [name, value] : [name, value, encodedName, encodedValue])
  }
  return pairs
}

export const serializeForm = (pairs) => {
  let text = ''
  for (let i = 0; i < pairs.length; i++) {
    const [name, value, encodedName = encode(name), encodedValue = encode(value)] = pairs[i]
    text += (i === 0 ? '' : '&') + encodedName + '=' + encodedValue
  }
  return text
}
