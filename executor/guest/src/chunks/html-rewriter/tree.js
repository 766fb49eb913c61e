// What a tree builder would tell the tokenizer, found out without a tree: which namespace a tag is in, and after which
// tags there is text instead of markup.
import { lower } from './tokenizer.js'

export const HTML = 'http://www.w3.org/1999/xhtml'
export const SVG = 'http://www.w3.org/2000/svg'
export const MATHML = 'http://www.w3.org/1998/Math/MathML'

const set = (words) => new Set(words.split(' '))

const VOID = set(
  'area base basefont bgsound br col embed hr img input keygen link meta param source track wbr',
)
const RAW_TEXT = set('style iframe xmp noembed noframes noscript')
const TEXT_TAGS = set('textarea title plaintext script style iframe xmp noembed noframes noscript')
const EXITS = set(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr' +
    ' ol p pre ruby s small span strong strike sub sup table tt u ul var',
)
const FONT = ['color', 'size', 'face']
const HTML_ENCODINGS = ['text/html', 'application/xhtml+xml']
const MATH_POINTS = set('mi mo mn ms mtext')
const SVG_POINTS = set('desc title foreignobject')

const ambiguous = (name) =>
  new TypeError(
    `Parser error: The parser has encountered a text content tag (\`<${name}>\`) in the context where it is ambiguous ` +
      'whether this tag should be ignored or not. And, thus, is is unclear is consequent content should be parsed as raw ' +
      'text or HTML markup.\n\nThis error occurs due to the limited capabilities of the streaming parsing. However, ' +
      'almost all of the cases of this error are caused by a non-conforming markup (e.g. a `<script>` element in ' +
      '`<select>` element).',
  )

const valueOf = (attributes, name) => attributes.find((attribute) => attribute.name === name)?.value

export class Tree {
  #spaces = [HTML]
  #exits = false // the tag is the one that ended foreign content
  // Where a tag that switches to text might be ignored: in a select, in templates in there, in a frameset.
  #inSelect = false
  #templates = 0
  #inFrameset = false

  get namespace() {
    return this.#spaces[this.#spaces.length - 1]
  }

  // Answers { isVoid, mode }: whether it has no content, and as which text that is to be read, if it is.
  start(name, tag) {
    this.#watchStart(name)
    const isForeign = this.#startIn(name, tag)
    if (isForeign) return { isVoid: tag.selfClosing, mode: undefined }
    return { isVoid: VOID.has(name), mode: this.#mode(name) }
  }

  end(name) {
    this.#watchEnd(name)
    const { namespace } = this
    if (namespace === HTML) {
      const outer = this.#spaces[this.#spaces.length - 2]
      const isPoint = outer === MATHML ? MATH_POINTS.has(name) || name === 'annotation-xml' : outer === SVG && SVG_POINTS.has(name)
      if (isPoint) this.#leave()
    } else if (name === (namespace === SVG ? 'svg' : 'math') || name === 'p' || name === 'br') {
      this.#leave()
    }
  }

  #enter(namespace) {
    this.#spaces.push(namespace)
  }

  #leave() {
    if (this.#spaces.length > 1) this.#spaces.pop()
  }

  // Whether the tag is of another vocabulary than HTML.
  #startIn(name, { attributes, selfClosing }) {
    this.#exits = false
    if (name === 'svg' || name === 'math') {
      this.#enter(name === 'svg' ? SVG : MATHML)
      return true
    }
    const { namespace } = this
    if (namespace === HTML) return false
    if (EXITS.has(name) || (name === 'font' && FONT.some((key) => valueOf(attributes, key) !== undefined))) {
      this.#leave()
      this.#exits = true
      return false
    }
    const encoding = lower(valueOf(attributes, 'encoding') ?? '')
    const isPoint = namespace === SVG
      ? SVG_POINTS.has(name)
      : MATH_POINTS.has(name) || (name === 'annotation-xml' && HTML_ENCODINGS.includes(encoding))
    if (isPoint && !selfClosing) this.#enter(HTML)
    return true
  }

  #mode(name) {
    return this.#exits ? undefined : textModeOf(name)
  }

  #watchStart(name) {
    if (this.#inFrameset) {
      if (name !== 'noframes' && TEXT_TAGS.has(name)) throw ambiguous(name)
    } else if (this.#templates > 0) {
      if (name === 'template') this.#templates += 1
      else if (TEXT_TAGS.has(name)) throw ambiguous(name)
    } else if (this.#inSelect) {
      if (name === 'select' || name === 'textarea' || name === 'input' || name === 'keygen') this.#inSelect = false
      else if (name === 'template') this.#templates = 1
      else if (name !== 'script' && TEXT_TAGS.has(name)) throw ambiguous(name)
    } else if (name === 'select') {
      this.#inSelect = true
    } else if (name === 'frameset') {
      this.#inFrameset = true
    }
  }

  #watchEnd(name) {
    if (this.#templates > 0) {
      if (name === 'template') this.#templates -= 1
    } else if (name === 'select') {
      this.#inSelect = false
    }
  }
}

const textModeOf = (name) => {
  if (name === 'textarea' || name === 'title') return 'rcdata'
  if (name === 'script' || name === 'plaintext') return name
  return RAW_TEXT.has(name) ? 'rawtext' : undefined
}
