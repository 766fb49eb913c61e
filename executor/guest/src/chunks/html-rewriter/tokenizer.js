// HTML as tokens, from pieces of any size. Every token has its source in `raw`; a `raw` token is nothing but that. Text
// comes as it is found: up to each `<`, and never more than has been given.
const NAME_END = /[\t\n\f\r />]/g
const ATTRIBUTE_END = /[\t\n\f\r />=]/g
const UNQUOTED_END = /[\t\n\f\r >]/g
const COMMENT_END = /--!?>/g
const LETTER = /[a-z]/i
const SPACE = /[\t\n\f\r ]/
const LETTERS = /[a-z]*/iy
const MAY_BE_MARKUP = /^<(?:\/?[a-z]*|!-?)$/i
const INCOMPLETE = -1

const search = (pattern, text, from) => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? INCOMPLETE : found.index
}

// ASCII alone: what is beyond has no case here.
export const lower = (units) => units.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

export class Tokenizer {
  #buffer = ''
  #at = 0
  #isLast = false
  #mode = 'data'
  #rawName = ''
  // Of a script: 1 behind `<!--`, 2 behind a `<script` in there.
  #escape = 0
  #tail = ''

  // Whether `<![CDATA[` begins a section: in foreign content.
  allowsCdata = false

  push(units) {
    this.#buffer = this.#buffer.slice(this.#at) + units
    this.#at = 0
  }

  end() {
    this.#isLast = true
  }

  // What follows is text: 'rcdata', 'rawtext' and 'script' up to the end tag of `name`, 'plaintext' for ever.
  readText(mode, name) {
    this.#mode = mode
    this.#rawName = name
    this.#escape = 0
    this.#tail = ''
  }

  // undefined: there has to be more input first.
  next() {
    if (this.#at >= this.#buffer.length) return undefined
    switch (this.#mode) {
      case 'data': return this.#data()
      case 'plaintext': return this.#text(this.#buffer.length)
      case 'cdata': return this.#cdata()
      default: return this.#rawText()
    }
  }

  #take(kind, end, members) {
    const raw = this.#buffer.slice(this.#at, end)
    this.#at = end
    return { kind, raw, ...members }
  }

  #text(end) {
    return this.#take('text', end)
  }

  // The rest is the beginning of something: it will never be one.
  #unfinished() {
    return this.#isLast ? this.#take('raw', this.#buffer.length) : undefined
  }

  #data() {
    const buffer = this.#buffer
    const at = this.#at
    if (buffer[at] !== '<') {
      const end = buffer.indexOf('<', at)
      return this.#text(end === -1 ? buffer.length : end)
    }
    const next = buffer[at + 1]
    if (next === undefined) return this.#isLast ? this.#text(at + 1) : undefined
    if (LETTER.test(next)) return this.#startTag()
    if (next === '/') return this.#endTagOrComment()
    if (next === '!') return this.#declaration()
    if (next === '?') return this.#bogusComment(at + 1)
    return this.#text(at + 1)
  }

  #endTagOrComment() {
    const next = this.#buffer[this.#at + 2]
    if (next === undefined) return this.#isLast ? this.#text(this.#at + 2) : undefined
    if (LETTER.test(next)) return this.#endTag()
    if (next === '>') return this.#take('raw', this.#at + 3)
    return this.#bogusComment(this.#at + 2)
  }

  #declaration() {
    const buffer = this.#buffer
    const at = this.#at
    const rest = buffer.slice(at + 2, at + 9)
    if (rest.startsWith('--')) return this.#comment()
    if (lower(rest) === 'doctype') return this.#doctype()
    if (rest === '[CDATA[' && this.allowsCdata) {
      this.#mode = 'cdata'
      return this.#take('raw', at + 9)
    }
    const isOpen = !this.#isLast && rest.length < 7 && !rest.includes('>')
    if (isOpen && ('--'.startsWith(rest) || 'doctype'.startsWith(lower(rest)) || '[CDATA['.startsWith(rest))) return undefined
    return this.#bogusComment(at + 2)
  }

  #bogusComment(from) {
    const end = this.#buffer.indexOf('>', from)
    if (end !== -1) return this.#take('comment', end + 1, { text: this.#buffer.slice(from, end) })
    return this.#isLast ? this.#take('comment', this.#buffer.length, { text: this.#buffer.slice(from) }) : undefined
  }

  #comment() {
    const buffer = this.#buffer
    const from = this.#at + 4
    if (buffer[from] === '>') return this.#take('comment', from + 1, { text: '' })
    if (buffer.startsWith('->', from)) return this.#take('comment', from + 2, { text: '' })
    const end = search(COMMENT_END, buffer, from)
    if (end !== INCOMPLETE) {
      return this.#take('comment', buffer.indexOf('>', end) + 1, { text: buffer.slice(from, end) })
    }
    if (!this.#isLast) return undefined
    return this.#take('comment', buffer.length, { text: buffer.slice(from).replace(/-{1,2}!?$/, '') })
  }

  #doctype() {
    const found = this.#buffer.indexOf('>', this.#at)
    if (found === -1 && !this.#isLast) return undefined
    const end = found === -1 ? this.#buffer.length : found + 1
    const source = this.#buffer.slice(this.#at + 9, found === -1 ? end : found)
    return this.#take('doctype', end, readDoctype(source))
  }

  #startTag() {
    const buffer = this.#buffer
    const nameEnd = search(NAME_END, buffer, this.#at + 1)
    if (nameEnd === INCOMPLETE) return this.#unfinished()
    const attributes = []
    let i = nameEnd
    for (;;) {
      while (i < buffer.length && (SPACE.test(buffer[i]) || (buffer[i] === '/' && buffer[i + 1] !== '>'))) i++
      if (i >= buffer.length) return this.#unfinished()
      if (buffer[i] === '>' || buffer[i] === '/') break
      const attribute = readAttribute(buffer, i)
      if (attribute === undefined) return this.#unfinished()
      attributes.push(attribute)
      i = attribute.end
    }
    const selfClosing = buffer[i] === '/'
    const name = buffer.slice(this.#at + 1, nameEnd)
    return this.#take('start', selfClosing ? i + 2 : i + 1, { name, attributes, selfClosing })
  }

  #endTag() {
    const buffer = this.#buffer
    const nameEnd = search(NAME_END, buffer, this.#at + 2)
    if (nameEnd === INCOMPLETE) return this.#unfinished()
    let i = nameEnd
    for (;;) {
      while (i < buffer.length && (SPACE.test(buffer[i]) || buffer[i] === '/')) i++
      if (i >= buffer.length) return this.#unfinished()
      if (buffer[i] === '>') break
      const attribute = readAttribute(buffer, i)
      if (attribute === undefined) return this.#unfinished()
      i = attribute.end
    }
    return this.#take('end', i + 1, { name: buffer.slice(this.#at + 2, nameEnd) })
  }

  #cdata() {
    const buffer = this.#buffer
    const at = this.#at
    if (buffer[at] !== ']') {
      const end = buffer.indexOf(']', at)
      return this.#text(end === -1 ? buffer.length : end)
    }
    const rest = buffer.slice(at, at + 3)
    if (rest === ']]>') {
      this.#mode = 'data'
      return this.#take('raw', at + 3)
    }
    return !this.#isLast && ']]>'.startsWith(rest) ? undefined : this.#text(at + 1)
  }

  #rawText() {
    const buffer = this.#buffer
    const at = this.#at
    if (buffer[at] !== '<') return this.#plainText(at)
    if (!this.#isLast && MAY_BE_MARKUP.test(buffer.slice(at))) return undefined
    this.#tail = ''
    if (this.#mode === 'script' && this.#escape === 0 && buffer.startsWith('<!--', at)) {
      this.#escape = 1
      this.#tail = '--'
      return this.#plainText(at + 4)
    }
    const isEnd = buffer[at + 1] === '/'
    LETTERS.lastIndex = at + (isEnd ? 2 : 1)
    const [name] = LETTERS.exec(buffer)
    const end = LETTERS.lastIndex
    const isWhole = end < buffer.length && /[\t\n\f\r />]/.test(buffer[end])
    if (isEnd && isWhole && this.#escape < 2 && lower(name) === this.#rawName) {
      const tag = this.#endTag()
      if (tag?.kind === 'end') this.#mode = 'data'
      return tag
    }
    if (this.#escape > 0 && isWhole && lower(name) === 'script') {
      this.#escape = isEnd ? 1 : 2
      return this.#plainText(end + 1)
    }
    if (this.#escape === 2) return this.#plainText(at + 1)
    // A name is passed over with the tag that it might have been of.
    return this.#text(isEnd ? end : at + 1)
  }

  // Text up to the next `<`, and in a script behind `<!--` up to the `>` of `-->`. What is before `from` belongs to it.
  #plainText(from) {
    const found = this.#buffer.indexOf('<', from)
    let end = found === -1 ? this.#buffer.length : found
    if (this.#escape > 0) {
      const seen = this.#tail + this.#buffer.slice(from, end)
      const close = seen.indexOf('-->')
      if (close !== -1) {
        end = from + close + 2 - this.#tail.length
        this.#escape = 0
        // The `>` itself is text that nothing comes before.
        if (end === this.#at) return this.#plainText(from)
      }
      this.#tail = seen.slice(-2)
    }
    return this.#text(end)
  }
}

// { name, value, raw, end }, or undefined where it is cut off.
const readAttribute = (buffer, from) => {
  // A `=` may begin a name.
  const nameEnd = search(ATTRIBUTE_END, buffer, from + 1)
  if (nameEnd === INCOMPLETE) return undefined
  const name = lower(buffer.slice(from, nameEnd))
  let i = nameEnd
  while (i < buffer.length && SPACE.test(buffer[i])) i++
  if (i >= buffer.length) return undefined
  const bare = { name, value: '', raw: buffer.slice(from, nameEnd), end: nameEnd }
  if (buffer[i] !== '=') return bare
  i++
  while (i < buffer.length && SPACE.test(buffer[i])) i++
  if (i >= buffer.length) return undefined
  if (buffer[i] === '>') return { ...bare, end: i }
  const quote = buffer[i]
  if (quote === '"' || quote === "'") {
    const end = buffer.indexOf(quote, i + 1)
    if (end === -1) return undefined
    return { name, value: buffer.slice(i + 1, end), raw: buffer.slice(from, end + 1), end: end + 1 }
  }
  const end = search(UNQUOTED_END, buffer, i)
  if (end === INCOMPLETE) return undefined
  return { name, value: buffer.slice(i, end), raw: buffer.slice(from, end), end }
}

const DOCTYPE = /^[\t\n\f\r ]*([^\t\n\f\r ]+)(?:[\t\n\f\r ]+(public|system)[\t\n\f\r ]*(?:"([^"]*)"?|'([^']*)'?)?[\t\n\f\r ]*(?:"([^"]*)"?|'([^']*)'?)?)?/i

const readDoctype = (source) => {
  const [, name, kind, first, other, second, another] = DOCTYPE.exec(source) ?? []
  const one = first ?? other ?? null
  const two = second ?? another ?? null
  const isPublic = kind !== undefined && lower(kind) === 'public'
  return {
    name: name === undefined ? null : lower(name),
    publicId: isPublic ? one : null,
    systemId: isPublic ? two : one,
  }
}
