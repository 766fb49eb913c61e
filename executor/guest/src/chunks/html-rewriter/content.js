// What a program puts into a document, and where: a piece is { units } or, of a stream, { read } that answers a promise of
// units.
const ESCAPES = { __proto__: null, '<': '&lt;', '>': '&gt;', '&': '&amp;' }
const escapeText = (text) => text.replace(/[<>&]/g, (sign) => ESCAPES[sign])

const TYPES = 'string or ReadableStream or Response'
const LOCKED = 'The ReadableStream has been locked to a reader.'
// As upstream says it at the end of a document, too.
const NO_STREAMS =
  'Replacing content in HTML comments using a ReadableStream or Response object is not implemented. You must provide a string.'

export const createContent = (realm, units) => {
  const { native, readable, readAll, Reader, utf8 } = realm.exports['readable-streams']
  const { response } = realm.exports.fetch
  const { isObject } = native
  const bodyOf = Object.getOwnPropertyDescriptor(realm.global.Body.prototype, 'body').get

  // The stream of a Response or of a ReadableStream: null where there is no body, undefined for anything else.
  const streamOf = (value) => {
    const facade = response.has(value) ? Reflect.apply(bodyOf, value, []) : value
    if (facade === null && value !== null) return null
    return readable.has(facade) ? readable.of(facade) : undefined
  }

  // From here on nobody else reads it.
  const reserve = (stream) => {
    if (stream.locked || stream.disturbed) throw new TypeError(LOCKED)
  }

  const fromStream = (stream, isHtml) => {
    reserve(stream)
    const promise = readAll(stream)
    promise.then(undefined, () => {}) // whoever writes it out will hear of it
    return {
      read: async () => {
        const bytes = await promise
        return isHtml ? units.ofBytes(bytes) : units.ofText(escapeText(utf8.decode(bytes)))
      },
    }
  }

  // The arguments of `before` and its like.
  const readPiece = (args, bad, { streams = true } = {}) => {
    if (args.length === 0) throw bad(1, TYPES)
    const [content, options] = args
    if (options !== undefined && options !== null && !isObject(options)) throw bad(2, 'ContentOptions')
    const isHtml = Boolean(options?.html)
    const stream = streamOf(content)
    if (stream === null) return { units: '' }
    if (stream !== undefined) {
      if (!streams) throw new TypeError(NO_STREAMS)
      return fromStream(stream, isHtml)
    }
    const text = `${content}`
    return { units: units.ofGiven(isHtml ? text : escapeText(text)) }
  }

  return { readPiece, streamOf, LOCKED }
}

// What becomes of a token. Pieces in front of it come in the order in which they were put there, those behind it in the
// opposite one.
export class Changes {
  before = []
  after = []
  instead = []
  removed = false

  replace(piece) {
    this.removed = true
    this.instead = [piece]
  }

  get any() {
    return this.removed || this.before.length > 0 || this.after.length > 0
  }
}
