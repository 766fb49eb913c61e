// The words of a selector: names, ids, strings, numbers and single signs. What is still open at the end is closed there.
const SPACE = /(?:[\t\n\f\r ]|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))+/y
const NAME = /(?:--|-?(?:[a-z_]|[^\x00-\x7f]|\\(?:[0-9a-f]{1,6}[\t\n\f\r ]?|[^\n0-9a-f])))(?:[\w-]|[^\x00-\x7f]|\\(?:[0-9a-f]{1,6}[\t\n\f\r ]?|[^\n0-9a-f]))*/iy
const HASH = /#((?:[\w-]|[^\x00-\x7f]|\\(?:[0-9a-f]{1,6}[\t\n\f\r ]?|[^\n0-9a-f]))+)/iy
const NUMBER = /[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[a-z%-][\w-]*)?/iy
const STRING = /"((?:[^"\\\n]|\\[^])*)(?:"|$)|'((?:[^'\\\n]|\\[^])*)(?:'|$)/y
const ESCAPE = /\\(?:([0-9a-f]{1,6})[\t\n\f\r ]?|([^]))/gi
const NAME_START = /^-?(?:[a-z_]|[^\x00-\x7f]|\\)|^--/i

const withoutEscapes = (text) =>
  text.replace(ESCAPE, (_, hex, sign) => {
    if (hex === undefined) return sign === '\n' ? '' : sign
    const code = parseInt(hex, 16)
    return code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? '\ufffd' : String.fromCodePoint(code)
  })

export const tokenize = (text) => {
  const tokens = []
  let at = 0
  const match = (pattern) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null || found[0] === '') return undefined
    at += found[0].length
    return found
  }
  const put = (kind, value, source) => tokens.push({ kind, value, source })
  while (at < text.length) {
    let found
    if ((found = match(SPACE))) {
      // A comment alone separates nothing.
      const isSpace = found[0].replace(/\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)/g, '') !== ''
      if (isSpace) put('space', ' ', ' ')
    } else if ((found = match(NUMBER))) put('number', found[0], found[0])
    else if ((found = match(NAME))) put('name', withoutEscapes(found[0]), found[0])
    else if ((found = match(HASH))) {
      const [source, name] = found
      put(NAME_START.test(name) ? 'id' : 'hash', withoutEscapes(name), source)
    } else if ((found = match(STRING))) put('string', withoutEscapes(found[1] ?? found[2]), found[0])
    else {
      put('delimiter', text[at], text[at])
      at++
    }
  }
  return tokens
}
