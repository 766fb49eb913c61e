// Finds, links and evaluates the modules of a run. A record is what is known of one module:
//
//   links      what its generator is given: its imports by number, and in `x` what it has told of its exports
//   requested  the records of its static imports
//   targets    where each of its imports is found: { record, name }, or { record } for the namespace
import { isKnown } from './builtin-names.js'
import { createEvaluation, evaluationState, isEvaluating } from './evaluation.js'
import { ReferenceErrorCtor, SyntaxErrorCtor, keys, nextOf, nextOfAsync, sort } from './intrinsics.js'
import { createNamespace } from './namespace.js'
import { meaningOf } from './specifier.js'
import { storeKeeping } from './stores.js'

const JAVASCRIPT = 0
const JSON_TEXT = 1
const TEXT = 2
const DATA = 3
const COMMON_JS = 4

const AMBIGUOUS = { __proto__: null }

export const createLinker = (realm) => {
  const { primordials } = realm
  const { ErrorCtor, PromiseCtor, TypeErrorCtor, apply, defineProperty, fromBase64, hasOwn, jsonParse, safeSet } = primordials
  const records = { __proto__: null }
  const builtins = { __proto__: null }
  const stores = storeKeeping(realm.exports['node-async-hooks'])
  let offered = []

  const makeRecord = (name, meta, waits) => ({
    __proto__: null,
    name,
    meta, // see `moduleForm` in the reader
    waits,
    run: () => {},
    runAsync: undefined,
    instantiate: () => {},
    ready: undefined,
    links: { __proto__: helpers, x: { __proto__: null } },
    requested: undefined,
    targets: [],
    isLinked: false,
    namespace: undefined,
    eval: evaluationState(),
  })

  // Members that the reader's text uses under these names, of an object that no guest can name.
  const helpers = {
    __proto__: null,
    c: (value) => value,
    w: stores.wait,
    r: stores.resume,
    s: stores.take,
    b: stores.back,
    get a() {
      throw new ReferenceErrorCtor('arguments is not defined')
    },
  }

  const NOTHING = { __proto__: null, r: [], i: [] }

  // --- kinds of modules ---

  const register = (name, kind, payload, factory) => {
    if (kind === JAVASCRIPT) return void (records[name] = javascript(name, payload, factory))
    if (kind === COMMON_JS) return void (records[name] = commonJs(name, payload))
    records[name] = valueModule(name, () =>
      kind === JSON_TEXT ? jsonParse(payload) : kind === TEXT ? payload : kind === DATA ? fromBase64(payload).buffer : undefined)
  }

  const javascript = (name, meta, factory) => {
    const waits = meta.t === 1
    const record = makeRecord(name, meta, waits)
    const { links } = record
    let generator
    record.instantiate = () => {
      if (generator !== undefined) return
      generator = factory(links, importerFor(name))
      // Up to the `yield`: its functions exist, and its exports are told.
      if (waits) record.ready = nextOfAsync(generator)
      else nextOf(generator)
      if (meta.d === 1) {
        defineProperty(links.x.default(), 'name', { __proto__: null, value: 'default', configurable: true })
      }
    }
    record.run = () => {
      fill(record)
      nextOf(generator)
    }
    record.runAsync = () => {
      fill(record)
      return nextOfAsync(generator)
    }
    return record
  }

  const valueModule = (name, make) => {
    const record = makeRecord(name, NOTHING, false)
    let value
    let isMade = false
    record.links.x.default = () => {
      if (!isMade) value = make()
      isMade = true
      return value
    }
    return record
  }

  const commonJs = (name, wrap) => {
    const record = makeRecord(name, NOTHING, false)
    const module = { path: name, exports: {} }
    const at = '/' + name
    let run = () => {
      const { exports } = module
      const directory = at.slice(0, at.lastIndexOf('/')) || '/'
      apply(wrap(importerFor(name)), {}, [exports, requireFor(name), module, at, directory])
    }
    record.run = () => {
      const once = run
      run = () => {}
      once()
    }
    record.links.x.default = () => module.exports
    return record
  }

  const builtin = (specifier) => {
    if (builtins[specifier] !== undefined) return builtins[specifier]
    const exports = realm.findModule(specifier.startsWith('node:') ? specifier.slice(5) : specifier)
    if (exports === undefined) return undefined
    const record = makeRecord(specifier, NOTHING, false)
    const names = keys(exports)
    for (let i = 0; i < names.length; i++) {
      const value = exports[names[i]]
      record.links.x[names[i]] = () => value
    }
    if (!hasOwn(exports, 'default')) record.links.x.default = () => exports
    builtins[specifier] = record
    return record
  }

  // --- finding ---

  const has = (name) => records[name] !== undefined

  const find = (specifier, referrer, isStatic) => {
    const meaning = meaningOf(specifier, referrer, has)
    if (meaning.kind === 'module') return records[meaning.name]
    let text = meaning.text
    if (meaning.kind === 'builtin') {
      const record = builtin(meaning.name)
      if (record !== undefined) return record
      text = 'No such module "' + meaning.name + '".'
      if (isKnown(meaning.name)) text += ' It is not available here; available are ' + offered.join(', ') + '.'
    }
    if (isStatic && referrer !== '') text += '\n  imported from "' + referrer + '"'
    throw withoutFrames(new ErrorCtor(text))
  }

  // --- linking ---

  // Every record that one reaches, in the order in which they would be evaluated.
  const graphOf = (root) => {
    const graph = []
    const seen = safeSet()
    const visit = (record) => {
      if (seen.has(record)) return
      seen.add(record)
      const requested = record.requested ?? requests(record)
      for (let i = 0; i < requested.length; i++) visit(requested[i])
      record.requested = requested
      graph[graph.length] = record
    }
    visit(root)
    return graph
  }

  const requests = ({ name, meta }) => {
    const found = []
    for (let i = 0; i < meta.r.length; i++) found[i] = find(meta.r[i], name, true)
    return found
  }

  // Nobody's code has failed: what the linker itself throws has no place in a text.
  const withoutFrames = (error) => {
    defineProperty(error, 'stack', {
      __proto__: null, value: error.name + ': ' + error.message, writable: true, enumerable: false, configurable: true,
    })
    return error
  }

  const linkError = (text) => withoutFrames(new SyntaxErrorCtor(text))

  // Where an export is found. What is not found, or in two places, is an error only where it is imported by name; the
  // specifier is that of who does. A name behind `export *` is looked for, and nothing more.
  const resolve = (record, name, specifier, isWanted, seen) => {
    for (let i = 0; i < seen.length; i += 2) {
      if (seen[i] !== record || seen[i + 1] !== name) continue
      if (isWanted) throw linkError("Detected cycle while resolving name '" + name + "' in '" + specifier + "'")
      return undefined
    }
    seen[seen.length] = record
    seen[seen.length] = name
    if (hasOwn(record.links.x, name)) return { __proto__: null, record, name }
    const { n = [], r } = record.meta
    for (let i = 0; i < n.length; i++) {
      const [exported, request, imported] = n[i]
      if (exported !== name) continue
      const target = record.requested[request]
      return imported === null ? { __proto__: null, record: target } : resolve(target, imported, r[request], isWanted, seen)
    }
    const found = name === 'default' ? undefined : resolveStar(record, name, seen)
    if (!isWanted) return found
    if (found === undefined) {
      throw linkError("The requested module '" + specifier + "' does not provide an export named '" + name + "'")
    }
    if (found === AMBIGUOUS) {
      throw linkError("The requested module '" + specifier + "' contains conflicting star exports for name '" + name + "'")
    }
    return found
  }

  const resolveStar = (record, name, seen) => {
    const { s = [] } = record.meta
    let found
    for (let i = 0; i < s.length; i++) {
      const other = resolve(record.requested[s[i]], name, undefined, false, seen)
      if (other === undefined) continue
      if (other === AMBIGUOUS) return AMBIGUOUS
      if (found !== undefined && (found.record !== other.record || found.name !== other.name)) return AMBIGUOUS
      found = other
    }
    return found
  }

  const link = (record) => {
    if (record.isLinked) return
    const { meta, links, requested, targets } = record
    for (let i = 0; i < meta.i.length; i++) {
      const [request, imported, local] = meta.i[i]
      targets[i] = imported === null
        ? { __proto__: null, record: requested[request] }
        : resolve(requested[request], imported, meta.r[request], true, [])
      if (local !== undefined) links[i] = cell(targets[i], local)
    }
    const { n = [] } = meta
    for (let i = 0; i < n.length; i++) {
      const [exported, request, imported] = n[i]
      if (imported !== null) resolve(requested[request], imported, meta.r[request], true, [record, exported])
    }
    record.isLinked = true
  }

  const read = ({ record, name }, local) => {
    if (name === undefined) return namespaceOf(record)
    try {
      return record.links.x[name]()
    } catch {
      // All that it does is to read a variable. Where that fails, the name is the one that the reader of it knows.
      throw new ReferenceErrorCtor("Cannot access '" + local + "' before initialization")
    }
  }

  const cell = (target, local) => ({
    __proto__: null,
    get v() {
      return read(target, local)
    },
    set v(_) {
      throw new TypeErrorCtor('Assignment to constant variable.')
    },
  })

  // The imports that do not change any more, right before the module's own code runs.
  const fill = ({ meta, links, targets }) => {
    for (let i = 0; i < targets.length; i++) {
      if (meta.i[i][2] === undefined) links[i] = read(targets[i], targets[i].name)
    }
  }

  // --- namespaces ---

  const exportedNames = (record, names, seen) => {
    for (let i = 0; i < seen.length; i++) if (seen[i] === record) return
    seen[seen.length] = record
    const { n = [], s = [] } = record.meta
    const own = keys(record.links.x)
    for (let i = 0; i < own.length; i++) names[own[i]] = true
    for (let i = 0; i < n.length; i++) names[n[i][0]] = true
    for (let i = 0; i < s.length; i++) {
      const starred = { __proto__: null }
      exportedNames(record.requested[s[i]], starred, seen)
      delete starred.default
      const more = keys(starred)
      for (let j = 0; j < more.length; j++) names[more[j]] = true
    }
  }

  const namespaceOf = (record) => {
    if (record.namespace !== undefined) return record.namespace
    const candidates = { __proto__: null }
    exportedNames(record, candidates, [])
    const names = []
    const reads = { __proto__: null }
    const all = sort(keys(candidates))
    for (let i = 0; i < all.length; i++) {
      const name = all[i]
      const target = resolve(record, name, undefined, false, [])
      if (target === undefined || target === AMBIGUOUS) continue
      names[names.length] = name
      reads[name] = () => read(target, name)
    }
    record.namespace = createNamespace(primordials, names, reads)
    realm.uncloneable(record.namespace)
    return record.namespace
  }

  // --- importing ---

  const { evaluate } = createEvaluation({
    run: (record) => record.run(),
    runAsync: (record) => record.runAsync(),
    PromiseCtor,
  })

  const prepare = (record) => {
    const graph = graphOf(record)
    for (let i = 0; i < graph.length; i++) graph[i].instantiate()
    for (let i = 0; i < graph.length; i++) link(graph[i])
    return graph
  }

  const load = async (record) => {
    const graph = prepare(record)
    // Until each generator has come to its `yield`: from there it goes on at once.
    for (let i = 0; i < graph.length; i++) if (graph[i].ready !== undefined) await graph[i].ready
    await evaluate(record)
  }

  const checkOptions = (options) => {
    if (options === undefined) return
    if (options === null || (typeof options !== 'object' && typeof options !== 'function')) {
      throw new TypeErrorCtor('The second argument to import() must be an object')
    }
    const attributes = options.with
    if (attributes === undefined) return
    if (attributes === null || (typeof attributes !== 'object' && typeof attributes !== 'function')) {
      throw new TypeErrorCtor("The 'with' option must be an object")
    }
    const names = keys(attributes)
    for (let i = 0; i < names.length; i++) {
      if (typeof attributes[names[i]] !== 'string') throw new TypeErrorCtor('Import attribute value must be a string')
    }
  }

  const importFrom = async (referrer, specifier, options) => {
    const text = `${specifier}`
    checkOptions(options)
    await undefined // never before what stands behind the call
    const record = find(text, referrer, false)
    await load(record)
    return namespaceOf(record)
  }

  const importerFor = (referrer) => {
    const importer = (specifier, options) => importFrom(referrer, specifier, options)
    importer.meta = { __proto__: null } // `import.meta`
    return importer
  }

  const loadNow = (specifier, referrer) => {
    const record = find(`${specifier}`, referrer, false)
    const graph = prepare(record)
    for (let i = 0; i < graph.length; i++) {
      if (graph[i].waits) throw new ErrorCtor('require() of "' + record.name + '": it waits at its top, use import()')
    }
    evaluateNow(record)
    return record
  }

  const requireFor = (referrer) =>
    function require(specifier) {
      const record = loadNow(specifier, referrer)
      const { x } = record.links
      return hasOwn(x, 'default') ? x.default() : namespaceOf(record)
    }

  // As the `require` that `createRequire` makes answers upstream: the whole namespace.
  const requireFrom = (referrer) => (specifier) => namespaceOf(loadNow(specifier, referrer))

  // One that is being evaluated already has required itself, and sees what there is of it so far.
  const evaluateNow = (record) => {
    const { eval: state } = record
    if (!isEvaluating(state)) evaluate(record)
    if (state.hasThrown) throw state.error
  }

  const start = (links, launch, fail) => {
    offered = links.o ?? []
    const program = makeRecord('', links, false)
    program.run = () => fill(program)
    const begin = () => launch([program.links, importerFor('')])
    if (links.r.length === 0) return begin()
    startStatic(program, begin, fail)
  }

  const startStatic = async (program, begin, fail) => {
    try {
      await load(program)
    } catch (error) {
      return fail(error)
    }
    begin()
  }

  return { __proto__: null, register, requireFrom, start }
}
