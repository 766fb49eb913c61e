// The objects that handlers are given. Each is good for as long as its handler runs: its state is { live, … }, see the
// rewriter for the rest.
import { lower } from './tokenizer.js'
import { Changes } from './content.js'

const NOT_LIVE =
  'This content token is no longer valid. Content tokens are only valid during the execution of the relevant content handler.'
const FORBIDDEN_IN_TAG = /[\t\n\f\r />]/
const FORBIDDEN_IN_ATTRIBUTE = /[\t\n\f\r />=]/

const parserError = (text) => new TypeError(`Parser error: ${text}`)

const checkTagName = (name) => {
  if (name === '') throw parserError("Tag name can't be empty.")
  if (!/^[a-z]/i.test(name)) {
    throw parserError('The first character of the tag name should be an ASCII alphabetical character.')
  }
  const sign = FORBIDDEN_IN_TAG.exec(name)
  if (sign !== null) throw parserError(`\`${sign[0]}\` character is forbidden in the tag name`)
}

const checkAttributeName = (name) => {
  if (name === '') throw parserError("Attribute name can't be empty.")
  const sign = FORBIDDEN_IN_ATTRIBUTE.exec(name)
  if (sign !== null) throw parserError(`\`${sign[0]}\` character is forbidden in the attribute name`)
}

export const createTokens = (realm, units, readPiece) => {
  const { createInterface, isObject } = realm.exports['readable-streams'].native
  const { toText } = units
  const ofText = (text) => units.ofGiven(text)

  const live = (state) => {
    if (!state.live) throw new TypeError(NOT_LIVE)
    return state
  }

  // Members that are the object's own, as upstream's are.
  const withOwn = (made, members) => {
    const descriptors = {}
    for (const name of Object.keys(members)) {
      const { read, write } = members[name]
      descriptors[name] = {
        get() { return read(live(made.of(this))) },
        set: write && function (value) { write(live(made.of(this)), value) },
        enumerable: true,
        configurable: true,
      }
    }
    return {
      ...made,
      make: (state) => Object.defineProperties(made.make(state), descriptors),
    }
  }

  const removed = { read: ({ changes }) => changes.removed }

  const edits = (options) => ({
    before(state, args, self, bad) {
      live(state).changes.before.push(readPiece(args, bad, options))
      return self
    },
    after(state, args, self, bad) {
      live(state).changes.after.unshift(readPiece(args, bad, options))
      return self
    },
  })
  const replacing = (options) => ({
    ...edits(options),
    replace(state, args, self, bad) {
      live(state).changes.replace(readPiece(args, bad, options))
      return self
    },
    remove(state, args, self) {
      live(state).changes.removed = true
      return self
    },
  })

  const text = withOwn(createInterface('Text', { methods: replacing() }), {
    removed,
    lastInTextNode: { read: ({ isLast }) => isLast },
    text: { read: (state) => state.text },
  })

  const comment = withOwn(createInterface('Comment', { methods: replacing({ streams: false }) }), {
    removed,
    text: {
      read: (state) => state.text,
      write(state, value) {
        const given = `${value}`
        if (given.includes('-->')) {
          throw parserError("Comment text shouldn't contain comment closing sequence (`-->`).")
        }
        state.text = given
        state.isChanged = true
      },
    },
  })

  const doctype = withOwn(createInterface('Doctype', {}), {
    systemId: { read: ({ systemId }) => systemId },
    publicId: { read: ({ publicId }) => publicId },
    name: { read: ({ name }) => name },
  })

  const documentEnd = createInterface('DocumentEnd', {
    methods: {
      append(state, args, self, bad) {
        live(state).pieces.push(readPiece(args, bad, { streams: false }))
        return self
      },
    },
  })

  const endTag = withOwn(
    createInterface('EndTag', {
      methods: {
        ...edits(),
        remove(state, args, self) {
          live(state).changes.removed = true
          return self
        },
      },
    }),
    {
      name: {
        read: ({ name }) => toText(lower(name)),
        write(state, value) {
          state.name = ofText(`${value}`)
          state.isChanged = true
        },
      },
    },
  )

  const attributes = createInterface('AttributesIterator', {
    methods: {
      next(state) {
        const { element, index } = state
        const found = live(element).attributes[index]
        if (found === undefined) return { done: true }
        state.index += 1
        return { done: false, value: [toText(found.name), toText(found.value)] }
      },
    },
  })
  attributes.hide(Symbol.iterator, (state, args, self) => self)

  const find = (state, name) => live(state).attributes.find((attribute) => attribute.name === name)
  const nameOf = (value) => lower(ofText(`${value}`))

  const element = withOwn(
    createInterface('Element', {
      required: {
        getAttribute: ['string'], hasAttribute: ['string'], setAttribute: ['string', 'string'], removeAttribute: ['string'],
      },
      methods: {
        getAttribute(state, [name]) {
          const found = find(state, nameOf(name))
          return found === undefined ? null : toText(found.value)
        },
        hasAttribute: (state, [name]) => find(state, nameOf(name)) !== undefined,
        setAttribute(state, [givenName, givenValue], self) {
          const name = `${givenName}`
          const value = `${givenValue}`
          live(state)
          checkAttributeName(name)
          const key = nameOf(name)
          const made = { name: key, value: ofText(value), raw: `${key}="${ofText(value.replaceAll('"', '&quot;'))}"` }
          const index = state.attributes.findIndex((attribute) => attribute.name === key)
          if (index === -1) state.attributes.push(made)
          else state.attributes[index] = made
          state.isChanged = true
          return self
        },
        removeAttribute(state, [name], self) {
          const key = nameOf(name)
          const index = live(state).attributes.findIndex((attribute) => attribute.name === key)
          if (index !== -1) {
            state.attributes.splice(index, 1)
            state.isChanged = true
          }
          return self
        },
        before(state, args, self, bad) {
          live(state).changes.before.push(readPiece(args, bad))
          return self
        },
        after(state, args, self, bad) {
          const piece = readPiece(args, bad)
          if (live(state).isVoid) state.changes.after.unshift(piece)
          else state.endChanges().after.unshift(piece)
          return self
        },
        prepend(state, args, self, bad) {
          const piece = readPiece(args, bad)
          if (!live(state).isVoid) state.changes.after.unshift(piece)
          return self
        },
        append(state, args, self, bad) {
          const piece = readPiece(args, bad)
          if (!live(state).isVoid) state.endChanges().before.push(piece)
          return self
        },
        replace(state, args, self, bad) {
          const piece = readPiece(args, bad)
          live(state).changes.replace(piece)
          removeContent(state)
          return self
        },
        remove(state, args, self) {
          live(state).changes.removed = true
          removeContent(state)
          return self
        },
        removeAndKeepContent(state, args, self) {
          live(state).changes.removed = true
          if (!state.isVoid) state.endChanges().removed = true
          return self
        },
        setInnerContent(state, args, self, bad) {
          const piece = readPiece(args, bad)
          if (!live(state).isVoid) {
            state.changes.after = [piece]
            state.endChanges().before = []
            state.hidesContent = true
          }
          return self
        },
        onEndTag(state, [handler], self, bad) {
          if (typeof handler !== 'function') throw bad(1, 'function')
          if (live(state).isVoid) throw parserError('No end tag.')
          state.onEndTag = handler
        },
      },
    }),
    {
      namespaceURI: { read: ({ namespace }) => namespace },
      removed: { read: ({ changes, isHidden }) => changes.removed || isHidden },
      attributes: { read: (state) => attributes.make({ element: state, index: 0 }) },
      tagName: {
        read: ({ name }) => toText(lower(name)),
        write(state, value) {
          const name = `${value}`
          checkTagName(name)
          state.name = ofText(name)
          state.isChanged = true
          if (!state.isVoid) state.endName = state.name
        },
      },
    },
  )

  const removeContent = (state) => {
    if (state.isVoid) return
    // What was put inside goes with the rest.
    state.changes.after = []
    const changes = state.endChanges()
    changes.before = []
    changes.removed = true
    state.hidesContent = true
  }

  const makeElement = (token, more) => {
    const state = {
      live: true, changes: new Changes(), name: token.name, attributes: [...token.attributes], isChanged: false,
      end: undefined, endName: undefined, onEndTag: undefined, hidesContent: false, ...more,
    }
    state.endChanges = () => (state.end ??= new Changes())
    return { state, object: element.make(state) }
  }

  const isThenable = (value) => isObject(value) && typeof value.then === 'function'

  return { text, comment, doctype, documentEnd, endTag, makeElement, isThenable }
}
