// One document on its way: tokens in, handlers called, what is left of the tokens out.
import { Changes } from './content.js'
import { Tokenizer, lower } from './tokenizer.js'
import { HTML, Tree } from './tree.js'
import { incompleteTail } from './units.js'

const { apply } = Reflect

// An element that is open, or the document: what selectors ask for, and what there is to do at its end.
class Node {
  children = 0
  types = new Map()
  handlers = [] // whose text and comments are inside
  end = undefined // { changes, name, handler }
  hidesContent = false

  constructor(name, parent, attributes, toText) {
    this.name = name
    this.parent = parent
    this.attributes = attributes
    this.toText = toText
  }

  // The next child of a name: its places among all, and among those of the name.
  count(name) {
    this.children += 1
    const ofType = (this.types.get(name) ?? 0) + 1
    this.types.set(name, ofType)
    return { index: this.children, typeIndex: ofType }
  }

  valueOf(name) {
    const found = this.attributes.find((attribute) => attribute.name === name)
    return found === undefined ? undefined : this.toText(found.value)
  }

  get id() {
    return this.valueOf('id')
  }

  get className() {
    return this.valueOf('class') ?? ''
  }
}

export class Rewriter {
  #tokenizer = new Tokenizer()
  #tree = new Tree()
  #units
  #tokens
  #elementHandlers // { matches, handlers, element, comments, text }
  #documentHandlers // { handlers, doctype, comments, text, end }
  #active = new Map() // of element handlers, how many open elements they are for
  #root
  #stack = []
  #hidden = 0 // open elements whose content is not written
  #output = ''
  // Of the text that is going on: whether there is some, and the beginning of a character.
  #inText = false
  #pending = ''

  constructor(units, tokens, { elementHandlers, documentHandlers }) {
    this.#units = units
    this.#tokens = tokens
    this.#elementHandlers = elementHandlers
    this.#documentHandlers = documentHandlers
    this.#root = new Node('', undefined, [], units.toText)
  }

  // Answers what is to be written so far.
  async write(bytes) {
    this.#tokenizer.push(this.#units.ofBytes(bytes))
    await this.#run()
    return this.#flush()
  }

  async end() {
    this.#tokenizer.end()
    await this.#run()
    await this.#endText()
    for (const { handlers, end } of this.#documentHandlers) {
      if (end === undefined) continue
      const state = { live: true, pieces: [] }
      await this.#call(end, handlers, this.#tokens.documentEnd.make(state), state)
      await this.#emitAll(state.pieces)
    }
    return this.#flush()
  }

  #flush() {
    const bytes = this.#units.toBytes(this.#output)
    this.#output = ''
    return bytes
  }

  async #run() {
    for (;;) {
      const token = this.#tokenizer.next()
      if (token === undefined) return
      if (token.kind === 'text') {
        const listeners = this.#listeners('text')
        if (listeners.length === 0) this.#emit(token.raw)
        else await this.#text(token.raw, listeners)
        continue
      }
      if (this.#inText) await this.#endText()
      if (token.kind === 'start') await this.#start(token)
      else if (token.kind === 'end') await this.#end(token)
      else if (token.kind === 'comment') await this.#comment(token)
      else if (token.kind === 'doctype') await this.#doctype(token)
      else this.#emit(token.raw)
    }
  }

  #emit(units) {
    if (this.#hidden === 0) this.#output += units
  }

  async #emitAll(pieces) {
    for (const piece of pieces) this.#emit(piece.read === undefined ? piece.units : await piece.read())
  }

  // A token with what was done to it.
  async #emitChanged(changes, units) {
    if (!changes.any) return this.#emit(units)
    await this.#emitAll(changes.before)
    if (changes.removed) await this.#emitAll(changes.instead)
    else this.#emit(units)
    await this.#emitAll(changes.after)
  }

  // Nobody else waits for what is no promise.
  async #call(handler, handlers, object, state) {
    try {
      const answer = apply(handler, handlers, [object])
      if (this.#tokens.isThenable(answer)) await answer
    } finally {
      state.live = false
    }
  }

  // Those of elements in the order in which they were given, then those of the document.
  #listeners(kind) {
    const found = []
    for (const entry of this.#elementHandlers) {
      if (entry[kind] !== undefined && this.#active.has(entry)) found.push({ handler: entry[kind], handlers: entry.handlers })
    }
    for (const entry of this.#documentHandlers) {
      if (entry[kind] !== undefined) found.push({ handler: entry[kind], handlers: entry.handlers })
    }
    return found
  }

  async #text(units, listeners) {
    this.#inText = true
    const all = this.#pending + units
    const tail = incompleteTail(all)
    this.#pending = tail === 0 ? '' : all.slice(-tail)
    const text = this.#units.toText(tail === 0 ? all : all.slice(0, -tail))
    if (text !== '') await this.#chunk(text, false, listeners)
  }

  async #endText() {
    if (!this.#inText) return
    const listeners = this.#listeners('text')
    this.#inText = false
    const rest = this.#pending
    this.#pending = ''
    if (rest !== '') await this.#chunk(this.#units.toText(rest), false, listeners)
    await this.#chunk('', true, listeners)
  }

  async #chunk(text, isLast, listeners) {
    const changes = new Changes()
    for (const { handler, handlers } of listeners) {
      const state = { live: true, text, isLast, changes }
      await this.#call(handler, handlers, this.#tokens.text.make(state), state)
    }
    await this.#emitChanged(changes, this.#units.ofText(text))
  }

  async #comment({ raw, text: units }) {
    const listeners = this.#listeners('comments')
    if (listeners.length === 0) return this.#emit(raw)
    const changes = new Changes()
    let text = this.#units.toText(units)
    let isChanged = false
    for (const { handler, handlers } of listeners) {
      const state = { live: true, text, isChanged, changes }
      await this.#call(handler, handlers, this.#tokens.comment.make(state), state)
      ;({ text, isChanged } = state)
    }
    await this.#emitChanged(changes, isChanged ? `<!--${this.#units.ofText(text)}-->` : raw)
  }

  async #doctype({ raw, name, publicId, systemId }) {
    const { toText } = this.#units
    const textOf = (units) => (units === null ? null : toText(units))
    for (const { handlers, doctype } of this.#documentHandlers) {
      if (doctype === undefined) continue
      const state = { live: true, name: textOf(name), publicId: textOf(publicId), systemId: textOf(systemId) }
      await this.#call(doctype, handlers, this.#tokens.doctype.make(state), state)
    }
    this.#emit(raw)
  }

  async #start(token) {
    const name = lower(token.name)
    const { isVoid, mode } = this.#tree.start(name, token)
    const { namespace } = this.#tree
    this.#tokenizer.allowsCdata = namespace !== HTML
    if (mode !== undefined) this.#tokenizer.readText(mode, name)

    const parent = this.#stack[this.#stack.length - 1] ?? this.#root
    const node = new Node(name, parent === this.#root ? undefined : parent, token.attributes, this.#units.toText)
    Object.assign(node, parent.count(name))
    const matching = this.#elementHandlers.filter(({ matches }) => matches(node))
    let made
    for (const { handlers, element } of matching) {
      if (element === undefined) continue
      made ??= this.#tokens.makeElement(token, { namespace, isVoid, isHidden: this.#hidden > 0 })
      made.state.live = true
      await this.#call(element, handlers, made.object, made.state)
    }
    if (!isVoid) this.#open(node, matching)
    if (made === undefined) return this.#emit(token.raw)
    const { state } = made
    await this.#emitChanged(state.changes, state.isChanged ? startTag(state, token) : token.raw)
    if (isVoid) return
    if (state.end !== undefined || state.endName !== undefined || state.onEndTag !== undefined) {
      node.end = { changes: state.end, name: state.endName, handler: state.onEndTag }
    }
    if (state.hidesContent) {
      node.hidesContent = true
      this.#hidden += 1
    }
  }

  #open(node, matching) {
    node.handlers = matching.filter(({ text, comments }) => text !== undefined || comments !== undefined)
    for (const entry of node.handlers) this.#active.set(entry, (this.#active.get(entry) ?? 0) + 1)
    this.#stack.push(node)
  }

  #close(node) {
    if (node.hidesContent) this.#hidden -= 1
    for (const entry of node.handlers) {
      const left = this.#active.get(entry) - 1
      if (left === 0) this.#active.delete(entry)
      else this.#active.set(entry, left)
    }
  }

  // What is still open inside the element ends with it, and what was to happen at its end happens to this tag.
  async #end(token) {
    const name = lower(token.name)
    this.#tree.end(name)
    this.#tokenizer.allowsCdata = this.#tree.namespace !== HTML
    const at = this.#stack.findLastIndex((node) => node.name === name)
    if (at === -1) return this.#emit(token.raw)
    const state = { live: true, name: token.name, isChanged: false, changes: new Changes() }
    for (const node of this.#stack.splice(at).reverse()) {
      this.#close(node)
      if (node.end === undefined) continue
      const { changes, name: changed, handler } = node.end
      if (changed !== undefined) {
        state.name = changed
        state.isChanged = true
      }
      if (changes !== undefined) state.changes = changes
      if (handler !== undefined) {
        state.live = true
        await this.#call(handler, undefined, this.#tokens.endTag.make(state), state)
      }
    }
    await this.#emitChanged(state.changes, state.isChanged ? `</${state.name}>` : token.raw)
  }
}

const startTag = ({ name, attributes }, { selfClosing }) => {
  let tag = `<${name}`
  for (const { raw } of attributes) tag += ` ${raw}`
  return tag + (selfClosing ? ' />' : '>')
}
