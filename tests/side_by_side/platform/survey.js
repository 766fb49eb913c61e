// What a program finds: a line per global, property and export. The same program runs on both engines.
//
// Names are not written as text anywhere here: the globals are looked up, and the modules are given, so an engine that
// provides things when a program names them has to provide everything.
async (MODULES) => {
  // V8's own, and therefore the language's.
  const LANGUAGE = new Set(
    `Object Function Array Number Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError
    ReferenceError SyntaxError TypeError URIError SuppressedError JSON Math Intl Temporal ArrayBuffer Atomics Uint8Array
    Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array Uint8ClampedArray
    BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap WeakSet WeakRef Proxy Reflect
    FinalizationRegistry SharedArrayBuffer DisposableStack AsyncDisposableStack decodeURI decodeURIComponent encodeURI
    encodeURIComponent escape unescape eval isFinite isNaN parseFloat parseInt Infinity NaN undefined globalThis`.split(
      /\s+/,
    ),
  )
  // workerd's own marks on its classes, for its inspector, and the list of its compatibility flags.
  const MARKS = new Set([
    'cloudflare:internal-class', 'kResourceTypeInspect', 'state', 'supportsBYOB', 'expectsBytes', 'length', 'immutable',
    'kIsBuffer', 'kCapture', 'kScheduler',
  ])
  // What begins with an underscore is nobody's business, in Node as well.
  const isIgnored = (key) => (typeof key === 'symbol' ? MARKS.has(key.description) : /^(_|compatibilityFlags$)/.test(key))
  const found = {}
  // Where an object was described, so that it is described once and its other names say whose they are.
  const known = new Map()

  const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function')
  // Every function made by the word `function` has a prototype; a class has something on it, or an ancestor.
  const isClass = (value) =>
    typeof value === 'function' &&
    Object.hasOwn(value, 'prototype') &&
    isObject(value.prototype) &&
    (Reflect.ownKeys(value.prototype).some((key) => key !== 'constructor') ||
      Object.getPrototypeOf(value.prototype) !== Object.prototype)
  const label = (key) => (typeof key === 'symbol' ? `[${key.description}]` : key)
  const remember = (value, path) => {
    if (!isObject(value) || known.has(value)) return
    known.set(value, path)
    if (isClass(value) && !known.has(value.prototype)) known.set(value.prototype, `${path}.prototype`)
  }

  const kindOf = (value) => {
    if (isClass(value)) return `class(${value.length})`
    if (typeof value === 'function') return `function(${value.length})`
    if (Array.isArray(value)) return 'array'
    if (isObject(value)) return Object.prototype.toString.call(value).slice(1, -1)
    const shown = String(value)
    return shown.length <= 60 ? `${typeof value} ${shown}` : typeof value
  }
  // Of a class by its prototype: whether the constructors inherit as well depends on how a platform makes its classes.
  const ancestorOf = (value) => {
    if (typeof value === 'function') return ''
    const parent = Object.getPrototypeOf(value)
    if (parent === Object.prototype || parent === Array.prototype) return ''
    return ` of ${parent === null ? null : (known.get(parent) ?? parent.constructor?.name)}`
  }

  const describe = (path, value, depth, attributes = '') => {
    if (isObject(value) && known.has(value) && known.get(value) !== path) {
      found[path] = `= ${known.get(value)}${attributes}`
      return
    }
    remember(value, path)
    found[path] = kindOf(value) + (isObject(value) ? ancestorOf(value) : '') + attributes
    if (!isObject(value) || depth === 0) return
    members(path, value, depth - 1)
    // The class of `performance` has no name of its own that a program could see.
    const parent = Object.getPrototypeOf(value)
    if (typeof value === 'object' && parent !== null && !known.has(parent)) members(path, parent, depth - 1)
  }

  const members = (path, value, depth) => {
    for (const key of Reflect.ownKeys(value)) {
      if (isIgnored(key) || key === 'constructor') continue
      if (typeof value === 'function' && /^(length|name|arguments|caller)$/.test(label(key))) continue
      if (Array.isArray(value) && key === 'length') continue
      const descriptor = Object.getOwnPropertyDescriptor(value, key)
      const inner = `${path}.${label(key)}`
      if (key === 'prototype') {
        if (isClass(value)) describe(inner, descriptor.value, depth)
        continue
      }
      const attributes = descriptor.enumerable ? ' enumerable' : ''
      // That two methods are one function is an accident.
      if (typeof descriptor.value === 'function' && !isClass(descriptor.value)) found[inner] = kindOf(descriptor.value) + attributes
      else if ('value' in descriptor) describe(inner, descriptor.value, depth, attributes + (descriptor.writable ? '' : ' readonly'))
      else found[inner] = (descriptor.get ? 'get' : '') + (descriptor.set ? 'set' : '') + attributes
    }
  }

  for (const name of LANGUAGE) remember(globalThis[name], name)
  for (const kind of [function* () {}, async function () {}, async function* () {}]) {
    remember(Object.getPrototypeOf(kind), 'a kind of function')
    remember(kind.prototype && Object.getPrototypeOf(Object.getPrototypeOf(kind.prototype)), 'a kind of iterator')
  }
  // Where a global's property is differs, and no program can tell without asking for just that.
  const globals = new Set()
  for (let scope = globalThis; scope !== null && scope !== Object.prototype; scope = Object.getPrototypeOf(scope)) {
    for (const key of Reflect.ownKeys(scope)) if (key !== 'constructor' && typeof key === 'string') globals.add(key)
    if (scope !== globalThis) known.set(scope, 'a prototype of globalThis')
  }
  const names = [...globals].filter((name) => !LANGUAGE.has(name)).sort()
  for (const name of names) if (globalThis[name]?.name === name) remember(globalThis[name], name)
  for (const name of names) remember(globalThis[name], name)
  for (const name of names) describe(name, globalThis[name], 3)
  found.globalThis = `${kindOf(globalThis)}`

  const namespaces = []
  const isSame = (one, other) => {
    const keys = Object.keys(one)
    return keys.length === Object.keys(other).length && keys.every((key) => Object.is(one[key], other[key]))
  }
  for (const specifier of MODULES) {
    const name = specifier.includes(':') ? specifier : `'${specifier}'`
    let exported
    try {
      exported = await import(specifier)
    } catch (error) {
      found[name] = `not importable: ${error.message.split('\n')[0]}`
      continue
    }
    if (known.has(exported)) {
      found[name] = `= ${known.get(exported)}`
      continue
    }
    // Two namespaces of the same exports are one module to a program.
    const twin = namespaces.find(([, other]) => isSame(exported, other))
    if (twin !== undefined) {
      found[name] = `= ${twin[0]}`
      continue
    }
    known.set(exported, name)
    namespaces.push([name, exported])
    found[name] = 'module'
    const { default: whole, ...named } = exported
    for (const key of Object.keys(named)) if (!isIgnored(key)) describe(`${name}.${key}`, named[key], 3)
    if (!('default' in exported)) continue
    const rest = isObject(whole) && !known.has(whole) && typeof whole === 'object'
    if (!rest) {
      describe(`${name}.default`, whole, 3)
      continue
    }
    // An object of the same exports, as a rule.
    known.set(whole, `${name}.default`)
    found[`${name}.default`] = kindOf(whole) + ancestorOf(whole)
    for (const key of Object.keys(whole)) {
      if (isIgnored(key)) continue
      if (!Object.hasOwn(named, key) || named[key] !== whole[key]) describe(`${name}.default.${key}`, whole[key], 2)
    }
    const missing = Object.keys(named).filter((key) => !isIgnored(key) && !Object.hasOwn(whole, key))
    if (missing.length > 0) found[`${name}.default`] += ` without ${missing.join(', ')}`
  }

  // Results are shown as short texts in short lists, see ../src/describe.mjs.
  let packed = JSON.stringify(found).match(/[^]{1,200}/gu)
  while (packed.length > 60) {
    packed = Array.from({ length: Math.ceil(packed.length / 60) }, (_, at) => packed.slice(at * 60, at * 60 + 60))
  }
  return packed
}
