// What a class or a namespace says to misuse: no arguments, wrong receivers, wrong types. The same calls on both engines.
//
// subject: { name, value, make, skip, random, strangers }: `make` gives a fresh instance, or is absent; members in `skip` are not
// called; what members in `random` answer is told by its kind alone; `strangers`: members are called on other objects.
async (subject) => {
  const answers = {}
  const waiting = []
  const skipped = new Set(subject.skip)
  const random = new RegExp(`[.#](?:${subject.random.join('|') || '(?!)'})\\(`)
  // As the arguments of a call; each is made anew, since a call may change what it is given.
  const ARGUMENTS = {
    'nothing': () => [],
    'undefined': () => [undefined],
    'null': () => [null],
    'true': () => [true],
    '-1': () => [-1],
    '1.5': () => [1.5],
    '1n': () => [1n],
    'symbol': () => [Symbol('s')],
    '""': () => [''],
    '"x"': () => ['x'],
    '"é€"': () => ['é€'],
    '"\\ud800"': () => ['\ud800'],
    'array': () => [[]],
    'pair': () => [[['a', 'b']]],
    'object': () => [{}],
    'bare object': () => [Object.create(null)],
    'bytes': () => [new Uint8Array([1, 2, 255])],
    'buffer': () => [new Uint8Array([104, 105]).buffer],
    'function': () => [() => 1],
    '"x", undefined': () => ['x', undefined],
    '"x", null': () => ['x', null],
    '"x", "y"': () => ['x', 'y'],
    '"x", 1': () => ['x', 1],
    '"x", {}': () => ['x', {}],
    '"x", symbol': () => ['x', Symbol('s')],
    '1, 2': () => [1, 2],
    '{}, {}': () => [{}, {}],
    'bytes, 1': () => [new Uint8Array([1, 2, 255]), 1],
    'bytes, bytes': () => [new Uint8Array([1, 2, 255]), new Uint8Array([3])],
    'function, function': () => [() => 1, () => 2],
    '"x", "y", "z"': () => ['x', 'y', 'z'],
    'bytes, 0, 2': () => [new Uint8Array([1, 2, 255]), 0, 2],
  }
  const isObject = (value) => value !== null && (typeof value === 'object' || typeof value === 'function')
  const label = (key) => (typeof key === 'symbol' ? `[${key.description}]` : key)
  const isClass = (value) =>
    typeof value === 'function' && Object.hasOwn(value, 'prototype') && isObject(value.prototype) &&
    (Reflect.ownKeys(value.prototype).some((key) => key !== 'constructor') ||
      Object.getPrototypeOf(value.prototype) !== Object.prototype)

  const cut = (text) => (text.length > 600 ? `${text.slice(0, 600)}…${text.length}` : text)
  const tag = (value) => Object.prototype.toString.call(value).slice(8, -1)
  const show = (value) => {
    if (typeof value === 'string') return cut(JSON.stringify(value))
    if (typeof value === 'function') return 'a function'
    if (!isObject(value)) return Object.is(value, -0) ? '-0' : typeof value === 'bigint' ? `${value}n` : cut(String(value))
    if (ArrayBuffer.isView(value)) return `${tag(value)} ${cut(String(value))}`
    if (value instanceof ArrayBuffer) return `ArrayBuffer ${cut(String(new Uint8Array(value)))}`
    if (typeof value.next === 'function' && typeof value[Symbol.iterator] === 'function') return 'an iterator'
    const parent = Object.getPrototypeOf(value)
    if (parent === Object.prototype || parent === null || Array.isArray(value)) {
      try {
        return `${parent === null ? 'bare ' : ''}${cut(JSON.stringify(value))}`
      } catch {}
    }
    return `${tag(value)}`
  }
  const fault = (error) => {
    if (!(error instanceof Error)) return `threw ${show(error)}`
    // Node's errors have a code, and are made by classes that nobody sees.
    const made = error.constructor.name === error.name ? '' : ` (${error.constructor.name})`
    const kind = typeof error.code === 'string' ? ` [${error.code}]` : made
    return `threw ${error.name}${kind}: ${cut(error.message)}`
  }
  const attempt = (key, action) => {
    let value
    try {
      value = action()
    } catch (error) {
      answers[key] = fault(error)
      return
    }
    if (!(value instanceof Promise)) {
      answers[key] = random.test(key) ? `some ${tag(value)}` : show(value)
      return
    }
    answers[key] = 'a promise that waits'
    waiting.push(value.then((it) => { answers[key] = `promise of ${show(it)}` }, (error) => { answers[key] = `promise ${fault(error)}` }))
  }

  // The language's own, and workerd's for its inspector.
  const MARKS = /^(Symbol\.(toStringTag|hasInstance|species)|cloudflare:internal-class|kResourceTypeInspect|state|supportsBYOB|expectsBytes|length|immutable|kIsBuffer)$/
  const own = (value) => Reflect.ownKeys(value).filter(
    (key) => !['length', 'name', 'prototype', 'constructor', 'arguments', 'caller'].includes(key) &&
      !(typeof key === 'symbol' && MARKS.test(key.description)) &&
      !(typeof key === 'string' && key.startsWith('_')) && !skipped.has(label(key)),
  )
  const receivers = (prototype) => ({
    'undefined': () => undefined,
    'an object': () => ({}),
    'the prototype': () => prototype,
    'made from the prototype': () => Object.create(prototype),
  })

  // What an instance says of itself.
  const stateOf = (instance) => {
    const state = {}
    for (let level = Object.getPrototypeOf(instance); level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
      for (const key of own(level)) {
        if (typeof key === 'symbol' || Object.hasOwn(state, key) || subject.random.includes(key)) continue
        const descriptor = Object.getOwnPropertyDescriptor(level, key)
        if (!descriptor.get) continue
        let it
        try {
          it = Reflect.apply(descriptor.get, instance, [])
        } catch (error) {
          it = error
        }
        state[key] = isObject(it) ? tag(it) : typeof it === 'string' || typeof it === 'boolean' ? it : String(it)
      }
    }
    return state
  }

  const probeFunction = (path, get) => {
    for (const [how, make] of Object.entries(ARGUMENTS)) {
      attempt(`${path}(${how})`, () => {
        const { self, method } = get()
        return Reflect.apply(method, self, make())
      })
    }
  }
  const probeInstance = (path, prototype, make) => {
    for (const key of own(prototype)) {
      const descriptor = Object.getOwnPropertyDescriptor(prototype, key)
      const inner = `${path}#${label(key)}`
      for (const [who, self] of subject.strangers ? Object.entries(receivers(subject.value.prototype)) : []) {
        if (typeof descriptor.value === 'function') attempt(`${inner} of ${who}`, () => Reflect.apply(descriptor.value, self(), []))
        if (descriptor.get) attempt(`get ${inner} of ${who}`, () => Reflect.apply(descriptor.get, self(), []))
        if (descriptor.set) attempt(`set ${inner} of ${who}`, () => Reflect.apply(descriptor.set, self(), ['x']))
      }
      if (!make) continue
      if (typeof descriptor.value === 'function') probeFunction(inner, () => ({ self: make(), method: descriptor.value }))
      if (descriptor.get) attempt(`get ${inner}`, () => Reflect.apply(descriptor.get, make(), []))
      if (!descriptor.set) continue
      for (const [how, values] of Object.entries(ARGUMENTS)) {
        if (values().length !== 1) continue
        attempt(`${inner} = ${how}`, () => {
          const self = make()
          self[key] = values()[0]
          return self[key]
        })
      }
    }
  }

  const { value, make } = subject
  if (isClass(value)) {
    attempt(`${subject.name} without new`, () => Reflect.apply(value, undefined, []))
    for (const [how, values] of Object.entries(ARGUMENTS)) {
      attempt(`new ${subject.name}(${how})`, () => stateOf(Reflect.construct(value, values())))
    }
    // What a class inherits is asked of it as well: the messages name classes.
    for (let level = value.prototype; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
      // Streams and the like behind a class of Node's have a story of their own.
      if (!subject.strangers && level !== value.prototype) break
      if (level === Error.prototype || level === Uint8Array.prototype || level === Object.getPrototypeOf(Uint8Array.prototype)) break
      probeInstance(subject.name, level, make)
    }
    if (make) {
      attempt(`keys of a ${subject.name}`, () => Object.keys(make()))
      attempt(`a ${subject.name} in a loop over its keys`, () => { const keys = []; for (const key in make()) keys.push(key); return keys.sort() })
      attempt(`a ${subject.name} as text`, () => String(make()))
      attempt(`a ${subject.name} as JSON`, () => JSON.stringify(make(), (key, it) => (key === 'stack' ? '…' : it)))
      attempt(`a ${subject.name} spread`, () => { const { stack, ...rest } = make(); return rest })
      attempt(`a ${subject.name} is iterable`, () => [typeof make()[Symbol.iterator], typeof make()[Symbol.asyncIterator]])
    }
  } else if (typeof value === 'function') {
    probeFunction(subject.name, () => ({ self: undefined, method: value }))
    attempt(`${subject.name} is a constructor`, () => {
      try {
        Reflect.construct(Object, [], value)
        return true
      } catch {
        return false
      }
    })
  }
  if (isObject(value)) {
    for (const key of own(value)) {
      const descriptor = Object.getOwnPropertyDescriptor(value, key)
      if (typeof descriptor.value === 'function' && !isClass(descriptor.value)) {
        probeFunction(`${subject.name}.${label(key)}`, () => ({ self: value, method: descriptor.value }))
      }
    }
  }
  // What has not settled by then does not.
  await Promise.race([Promise.all(waiting), new Promise((resolve) => setTimeout(resolve, 150))])
  let packed = JSON.stringify(answers).match(/[^]{1,200}/gu)
  while (packed.length > 60) {
    packed = Array.from({ length: Math.ceil(packed.length / 60) }, (_, at) => packed.slice(at * 60, at * 60 + 60))
  }
  return packed
}
