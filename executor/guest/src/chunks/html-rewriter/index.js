// HTMLRewriter.
import { badField } from '../texts.js'
import { createContent } from './content.js'
import { createOutput } from './output.js'
import { createTokens } from './tokens.js'
import { createUnits } from './units.js'
import { parseSelector } from './selector.js'
import { Rewriter } from './rewriter.js'

export default function install(realm) {
  const { native, readable, utf8 } = realm.exports['readable-streams']
  const { response } = realm.exports.fetch
  const { Response } = realm.global
  const units = createUnits(utf8)
  const { readPiece, streamOf, LOCKED } = createContent(realm, units)
  const tokens = createTokens(realm, units, readPiece)
  const transformStream = createOutput(realm)

  const readHandlers = (given, names, type, bad, index) => {
    if (given !== undefined && given !== null && !native.isObject(given)) throw bad(index, type)
    const found = { handlers: given }
    for (const name of names) {
      const handler = given?.[name]
      if (handler !== undefined && typeof handler !== 'function') throw badField(name, type, 'function')
      found[name] = handler
    }
    return found
  }

  // All bytes of a body of which nobody has asked for a stream: they come in one piece.
  const contentOf = (value) => {
    const { body } = response.of(value)
    return body !== null && body.stream === undefined ? body.content : undefined
  }

  const rewriter = native.createInterface('HTMLRewriter', {
    construct: () => ({ elementHandlers: [], documentHandlers: [] }),
    required: { on: ['string', 'ElementContentHandlers'], onDocument: ['DocumentContentHandlers'] },
    methods: {
      on({ elementHandlers }, [selector, given], self, bad) {
        const text = `${selector}`
        const found = readHandlers(given, ['element', 'comments', 'text'], 'ElementContentHandlers', bad, 2)
        elementHandlers.push({ ...found, matches: parseSelector(text) })
        return self
      },
      onDocument({ documentHandlers }, [given], self, bad) {
        const names = ['doctype', 'comments', 'text', 'end']
        documentHandlers.push(readHandlers(given, names, 'DocumentContentHandlers', bad, 1))
        return self
      },
      transform(state, [given], self, bad) {
        if (!response.has(given)) throw bad(1, 'Response')
        const content = contentOf(given)
        const source = streamOf(given)
        if (source === null) return new Response(null, given)
        if (source.locked || source.disturbed) throw new TypeError(LOCKED)
        // Handlers that are added later are for other documents.
        const work = new Rewriter(units, tokens, {
          elementHandlers: [...state.elementHandlers], documentHandlers: [...state.documentHandlers],
        })
        return new Response(readable.make(transformStream(source, content, work)), given)
      },
    },
  })
  realm.define('HTMLRewriter', rewriter.Class)
}
