// util.inspect and util.format. A value becomes a list of entries, one for each element or property, and the list becomes
// one line if it is short and simple, several otherwise.
import { kindOfFunction, proxyParts, typedTag, types } from './types.js'

// How the entries of a value are written: with their key, or without.
const OBJECT = 0
const ELEMENT = 1
const LIST = 2

const MIN_SPLIT = 16
const IDENTIFIER = /^[a-zA-Z_][a-zA-Z_0-9]*$/
const INDEX = /^(?:0|[1-9][0-9]*)$/
const ANSI = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?\u0007)|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g
export const stripAnsi = (text) => text.replace(ANSI, '')

const DEFAULTS = {
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  showProxy: false,
  maxArrayLength: 100,
  maxStringLength: 10000,
  breakLength: 80,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
}

const plural = (count, word) => count + ' ' + word + (count > 1 ? 's' : '')
const getterOf = (prototype, key) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, key)
  return (value) => Reflect.apply(get, value, [])
}
// They work where the prototype was taken away, too.
const setSize = getterOf(Set.prototype, 'size')
const mapSize = getterOf(Map.prototype, 'size')
const typedLength = getterOf(Object.getPrototypeOf(Uint8Array.prototype), 'length')

const isWide = (point) => point >= 0x1100 && (
  point <= 0x115f || point === 0x2329 || point === 0x232a || (point >= 0x2e80 && point <= 0x3247 && point !== 0x303f) ||
  (point >= 0x3250 && point <= 0x4dbf) || (point >= 0x4e00 && point <= 0xa4c6) || (point >= 0xa960 && point <= 0xa97c) ||
  (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) || (point >= 0xfe10 && point <= 0xfe19) ||
  (point >= 0xfe30 && point <= 0xfe6b) || (point >= 0xff01 && point <= 0xff60) || (point >= 0xffe0 && point <= 0xffe6) ||
  (point >= 0x1b000 && point <= 0x1b001) || (point >= 0x1f200 && point <= 0x1f251) ||
  (point >= 0x1f300 && point <= 0x1f64f) || (point >= 0x20000 && point <= 0x3fffd)
)
const isZeroWidth = (point) => point <= 0x1f || (point >= 0x7f && point <= 0x9f) || (point >= 0x300 && point <= 0x36f) ||
  (point >= 0x200b && point <= 0x200f) || (point >= 0x20d0 && point <= 0x20ff) || (point >= 0xfe00 && point <= 0xfe0f) ||
  (point >= 0xfe20 && point <= 0xfe2f) || (point >= 0xe0100 && point <= 0xe01ef)

// The columns that a text takes on a screen.
const columnsOf = (text) => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let columns = 0
  for (const character of text.normalize('NFC')) {
    const point = character.codePointAt(0)
    if (isWide(point)) columns += 2
    else if (!isZeroWidth(point)) columns += 1
  }
  return columns
}

const hasOwn = (value, key) => Object.prototype.hasOwnProperty.call(value, key)
const enumerable = (value, key) => Object.prototype.propertyIsEnumerable.call(value, key)

export const createInspect = (errors, builtins) => {
  const { escapeText, quote, separated, invalidArgType, validateObject } = errors
  const custom = Symbol.for('nodejs.util.inspect.custom')

  const number = (value, separator) => {
    if (Object.is(value, -0)) return '-0'
    const text = String(value)
    if (!separator || !Number.isFinite(value) || /e/.test(text)) return text
    const [whole, fraction] = text.split('.')
    if (fraction === undefined) return separated(whole)
    return separated(whole) + '.' + fraction.replace(/\d{3}(?=\d)/g, '$&_')
  }
  const bigint = (value, separator) => (separator ? separated(String(value)) : String(value)) + 'n'

  const plain = (text) => text
  const coloured = (text, kind) => {
    const colour = inspect.colors[inspect.styles[kind]]
    return colour === undefined ? text : '\u001b[' + colour[0] + 'm' + text + '\u001b[' + colour[1] + 'm'
  }

  const primitive = (style, value, ctx) => {
    switch (typeof value) {
      case 'string': {
        let trailer = ''
        if (value.length > ctx.maxStringLength) {
          trailer = '... ' + plural(value.length - ctx.maxStringLength, 'more character')
          value = value.slice(0, ctx.maxStringLength)
        }
        if (ctx.compact !== true && value.length > MIN_SPLIT && value.length > ctx.breakLength - ctx.indentation - 4) {
          const lines = value.split(/(?<=\n)/).map((line) => style(quote(line), 'string'))
          return lines.join(' +\n' + ' '.repeat(ctx.indentation + 2)) + trailer
        }
        return style(quote(value), 'string') + trailer
      }
      case 'number': return style(number(value, ctx.numericSeparator), 'number')
      case 'bigint': return style(bigint(value, ctx.numericSeparator), 'bigint')
      case 'boolean': return style(String(value), 'boolean')
      case 'undefined': return style('undefined', 'undefined')
      default: return style(Symbol.prototype.toString.call(value), 'symbol')
    }
  }

  const prefix = (constructor, tag, fallback, size = '') => {
    if (constructor === null) {
      const name = '[' + fallback + size + ': null prototype] '
      return tag !== '' && fallback !== tag ? name + '[' + tag + '] ' : name
    }
    return constructor + size + (tag !== '' && constructor !== tag ? ' [' + tag + '] ' : ' ')
  }

  const isInstance = (value, constructor) => {
    try {
      return value instanceof constructor
    } catch {
      return false
    }
  }

  // Properties of a class's prototype, up to three classes deep.
  const addInherited = (ctx, main, object, level, output) => {
    const seen = new Set()
    let keys = []
    for (let depth = 0; depth < 3; depth++) {
      if (depth !== 0 || main === object) {
        object = Object.getPrototypeOf(object)
        if (object === null) return
        const { value } = Object.getOwnPropertyDescriptor(object, 'constructor') ?? {}
        if (typeof value === 'function' && builtins.has(value.name)) return
      }
      for (const key of keys) seen.add(key)
      keys = Reflect.ownKeys(object)
      ctx.seen.push(main)
      for (const key of keys) {
        if (key === 'constructor' || hasOwn(main, key) || seen.has(key)) continue
        const descriptor = Object.getOwnPropertyDescriptor(object, key)
        if (typeof descriptor.value === 'function') continue
        const text = property(ctx, object, level, key, OBJECT, descriptor, main)
        output.push(ctx.colors ? '\u001b[2m' + text + '\u001b[22m' : text)
      }
      ctx.seen.pop()
    }
  }

  const constructorName = (value, ctx, level, inherited) => {
    let first
    for (let object = value; object !== null;) {
      const constructor = Object.getOwnPropertyDescriptor(object, 'constructor')?.value
      if (typeof constructor === 'function' && constructor.name !== '' && isInstance(value, constructor)) {
        if (inherited !== undefined && (first !== object || !builtins.has(constructor.name))) {
          addInherited(ctx, value, first || value, level, inherited)
        }
        return String(constructor.name)
      }
      object = Object.getPrototypeOf(object)
      if (first === undefined) first = object
    }
    if (first === null) return null
    const name = Object.prototype.toString.call(value).slice(8, -1)
    if (level > ctx.depth && ctx.depth !== null) return name + ' <Complex prototype>'
    const inner = constructorName(first, ctx, level + 1, inherited)
    if (inner !== null) return name + ' <' + inner + '>'
    return name + ' <' + inspect(first, { ...ctx, customInspect: false, depth: -1 }) + '>'
  }

  const ownKeys = (value, all) => {
    const symbols = Object.getOwnPropertySymbols(value)
    if (all) return [...Object.getOwnPropertyNames(value), ...symbols]
    let names
    try {
      names = Object.keys(value)
    } catch {
      // A module that is not evaluated yet.
      names = Object.getOwnPropertyNames(value)
    }
    return symbols.length === 0 ? names : [...names, ...symbols.filter((key) => enumerable(value, key))]
  }
  const namedKeys = (value, all) => ownKeys(value, all).filter((key) => typeof key === 'symbol' || !INDEX.test(key))

  const isClass = (text) => {
    if (!text.startsWith('class') || !text.endsWith('}')) return false
    const inner = text.slice(5, -1)
    const brace = inner.indexOf('{')
    if (brace === -1) return false
    return !inner.slice(0, brace).includes('(') ||
      /^\s+[^(]*?\s*\{/.test(inner.replace(/(\/\/.*?\n)|(\/\*(.|\n)*?\*\/)/g, '')) || /^\s+extends\s/.test(inner)
  }

  const functionBase = (value, constructor, tag) => {
    if (isClass(Function.prototype.toString.call(value))) {
      let base = '[class ' + ((hasOwn(value, 'name') && value.name) || '(anonymous)')
      if (constructor !== 'Function' && constructor !== null) base += ' [' + constructor + ']'
      if (tag !== '' && constructor !== tag) base += ' [' + tag + ']'
      if (constructor === null) base += ' extends [null prototype]'
      else {
        const parent = Object.getPrototypeOf(value).name
        if (parent) base += ' extends ' + parent
      }
      return base + ']'
    }
    const kind = kindOfFunction(value)
    let base = '[' + kind
    if (constructor === null) base += ' (null prototype)'
    if (value.name === '') base += ' (anonymous)'
    else base += ': ' + (typeof value.name === 'string' ? value.name : inspect(value.name))
    base += ']'
    if (constructor !== kind && constructor !== null) base += ' ' + constructor
    if (tag !== '' && constructor !== tag) base += ' [' + tag + ']'
    return base
  }

  const stackOf = (error) => (error.stack ? String(error.stack) : Error.prototype.toString.call(error))

  const improveStack = (stack, constructor, name, tag) => {
    let { length } = name
    const named = name.endsWith('Error') && stack.startsWith(name) &&
      (stack.length === length || stack[length] === ':' || stack[length] === '\n')
    if (constructor !== null && !named) return stack
    let fallback = 'Error'
    if (constructor === null) {
      const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) || /^([a-z_A-Z0-9-]*Error)$/.exec(stack)
      fallback = (start && start[1]) || ''
      length = fallback.length
      fallback = fallback || 'Error'
    }
    const shown = prefix(constructor, tag, fallback).slice(0, -1)
    if (name === shown) return stack
    if (!shown.includes(name)) return shown + ' [' + name + ']' + stack.slice(length)
    return length === 0 ? shown + ': ' + stack : shown + stack.slice(length)
  }

  // Where two stacks end alike.
  const commonFrames = (frames, causeFrames) => {
    for (let i = 0; i < frames.length - 3; i++) {
      const from = causeFrames.indexOf(frames[i])
      if (from === -1) continue
      let length = 1
      while (i + length < frames.length && frames[i + length] === causeFrames[from + length]) length += 1
      if (length > 3) return { length, at: i }
    }
    return { length: 0, at: 0 }
  }

  const stackFrames = (ctx, error, text) => {
    const frames = text.split('\n')
    const { cause } = error
    if (!types.isNativeError(cause)) return frames
    const causeStack = stackOf(cause)
    const start = causeStack.indexOf('\n    at')
    if (start === -1) return frames
    const { length, at } = commonFrames(frames, causeStack.slice(start + 1).split('\n'))
    if (length > 3) {
      const skipped = '    ... ' + (length - 2) + ' lines matching cause stack trace ...'
      frames.splice(at + 1, length - 2, ctx.stylize(skipped, 'undefined'))
    }
    return frames
  }

  const errorBase = (error, constructor, tag, ctx, keys) => {
    const name = error.name !== undefined && error.name !== null ? String(error.name) : 'Error'
    const original = stackOf(error)
    if (!ctx.showHidden) {
      for (const key of ['name', 'message', 'stack']) {
        const index = keys.indexOf(key)
        if (index !== -1 && (typeof error[key] !== 'string' || original.includes(error[key]))) keys.splice(index, 1)
      }
    }
    if ('cause' in error && !keys.includes('cause')) keys.push('cause')
    if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors')
    let stack = improveStack(original, constructor, name, tag)
    let from = (error.message && stack.indexOf(error.message)) || -1
    if (from !== -1) from += error.message.length
    const start = stack.indexOf('\n    at', from)
    if (start === -1) stack = '[' + stack + ']'
    else {
      const frames = stackFrames(ctx, error, stack.slice(start + 1))
      stack = stack.slice(0, start)
      for (const frame of frames) stack += '\n' + frame
    }
    return ctx.indentation === 0 ? stack : stack.replaceAll('\n', '\n' + ' '.repeat(ctx.indentation))
  }

  const boxedBase = (value, ctx, keys, constructor, tag) => {
    let unboxed
    let type
    if (types.isNumberObject(value)) {
      unboxed = Number.prototype.valueOf.call(value)
      type = 'Number'
    } else if (types.isStringObject(value)) {
      unboxed = String.prototype.valueOf.call(value)
      type = 'String'
      keys.splice(0, unboxed.length)
    } else if (types.isBooleanObject(value)) {
      unboxed = Boolean.prototype.valueOf.call(value)
      type = 'Boolean'
    } else if (types.isBigIntObject(value)) {
      unboxed = BigInt.prototype.valueOf.call(value)
      type = 'BigInt'
    } else {
      unboxed = Symbol.prototype.valueOf.call(value)
      type = 'Symbol'
    }
    let base = '[' + type
    if (type !== constructor) base += constructor === null ? ' (null prototype)' : ' (' + constructor + ')'
    base += ': ' + primitive(plain, unboxed, ctx) + ']'
    if (tag !== '' && tag !== constructor) base += ' [' + tag + ']'
    if (keys.length !== 0 || ctx.stylize === plain) return base
    return ctx.stylize(base, type.toLowerCase())
  }

  // The formatters answer the entries that are no properties.
  const within = (ctx, format) => {
    ctx.indentation += 2
    const text = format()
    ctx.indentation -= 2
    return text
  }
  const limited = (ctx, length) => Math.min(Math.max(0, ctx.maxArrayLength), length)
  const more = (output, count) => {
    if (count > 0) output.push('... ' + plural(count, 'more item'))
    return output
  }

  const formatHoles = (ctx, value, level, most, output, i) => {
    const keys = Object.keys(value)
    let index = i
    for (; i < keys.length && output.length < most; i++) {
      const key = keys[i]
      if (!INDEX.test(key) || Number(key) > 2 ** 32 - 2) break
      if (String(index) !== key) {
        output.push(ctx.stylize('<' + plural(Number(key) - index, 'empty item') + '>', 'undefined'))
        index = Number(key)
        if (output.length === most) break
      }
      output.push(property(ctx, value, level, key, ELEMENT))
      index += 1
    }
    const remaining = value.length - index
    if (output.length === most) return more(output, remaining)
    if (remaining > 0) output.push(ctx.stylize('<' + plural(remaining, 'empty item') + '>', 'undefined'))
    return output
  }

  const formatArray = (ctx, value, level) => {
    const most = limited(ctx, value.length)
    const output = []
    for (let i = 0; i < most; i++) {
      if (!hasOwn(value, i)) return formatHoles(ctx, value, level, most, output, i)
      output.push(property(ctx, value, level, i, ELEMENT))
    }
    return more(output, value.length - most)
  }

  const formatTyped = (ctx, value, level) => {
    const length = typedLength(value)
    const most = limited(ctx, length)
    const output = []
    const format = typeof value[0] === 'bigint' ? bigint : number
    const kind = typeof value[0] === 'bigint' ? 'bigint' : 'number'
    for (let i = 0; i < most; i++) output.push(ctx.stylize(format(value[i], ctx.numericSeparator), kind))
    more(output, length - most)
    if (ctx.showHidden) {
      for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) {
        output.push('[' + key + ']: ' + within(ctx, () => formatValue(ctx, value[key], level, true)))
      }
    }
    return output
  }

  const formatSet = (ctx, value, level) => {
    const size = setSize(value)
    const most = limited(ctx, size)
    const output = []
    within(ctx, () => Set.prototype.forEach.call(value, (item) => {
      if (output.length < most) output.push(formatValue(ctx, item, level))
    }))
    return more(output, size - most)
  }

  const formatMap = (ctx, value, level) => {
    const size = mapSize(value)
    const most = limited(ctx, size)
    const output = []
    within(ctx, () => Map.prototype.forEach.call(value, (item, key) => {
      if (output.length < most) output.push(formatValue(ctx, key, level) + ' => ' + formatValue(ctx, item, level))
    }))
    return more(output, size - most)
  }

  const formatArrayBuffer = (ctx, value) => {
    let bytes
    try {
      bytes = new Uint8Array(value)
    } catch {
      return [ctx.stylize('(detached)', 'special')]
    }
    const most = limited(ctx, bytes.length)
    let text = bytes.subarray(0, most).toHex().replace(/(.{2})(?=.)/g, '$1 ')
    if (bytes.length > most) text += ' ... ' + plural(bytes.length - most, 'more byte')
    return [ctx.stylize('[Uint8Contents]', 'special') + ': <' + text + '>']
  }

  // What an iterator has still to give can only be seen by taking it out; it is given again afterwards.
  const upcoming = (iterator) => {
    const items = []
    for (let step = iterator.next(); !step.done; step = iterator.next()) items.push(step.value)
    let given = 0
    const next = () => (given < items.length ? { value: items[given++], done: false } : { value: undefined, done: true })
    Object.defineProperty(iterator, 'next', { value: next, writable: true, enumerable: false, configurable: true })
    return items
  }

  const formatIterator = (items, pairs) => (ctx, value, level) => {
    const most = limited(ctx, items.length)
    const output = within(ctx, () => items.slice(0, most).map((item) => {
      if (!pairs) return formatValue(ctx, item, level)
      const both = [formatValue(ctx, item[0], level), formatValue(ctx, item[1], level)]
      return join(ctx, both, '', ['[', ']'], LIST, level, item)
    }))
    return more(output, items.length - most)
  }

  const nothing = () => []
  const unknown = (ctx) => [ctx.stylize('<items unknown>', 'special')]

  // The platform's classes keep what they hold behind accessors that can be enumerated.
  const accessorsOf = (value) => {
    const keys = []
    for (let object = Object.getPrototypeOf(value); object !== null; object = Object.getPrototypeOf(object)) {
      const descriptors = Object.getOwnPropertyDescriptors(object)
      for (const key of Object.keys(descriptors)) {
        if (descriptors[key].enumerable && descriptors[key].get !== undefined && !keys.includes(key)) keys.push(key)
      }
    }
    return keys
  }
  const formatAccessors = (accessors) => (ctx, value, level) => accessors.map((key) => {
    let shown
    try {
      shown = value[key]
    } catch (error) {
      shown = error
    }
    return property(ctx, value, level, key, OBJECT, { value: shown, enumerable: true })
  })
  const PAIRS = ['URLSearchParams', 'Headers', 'FormData', 'MIMEParams']
  const formatPairs = (name, pairs) => (ctx, value, level) => {
    const output = within(ctx, () => pairs.slice(0, limited(ctx, pairs.length)).map(([key, item]) => (
      formatValue(ctx, key, level) + ' => ' + formatValue(ctx, item, level)
    )))
    more(output, pairs.length - output.length)
    if (name === 'Headers') output.push('[immutable]: ' + ctx.stylize('false', 'boolean'))
    return output
  }

  const formatNamespace = (keys) => (ctx, value, level) => {
    const output = keys.splice(0).map((key) => {
      try {
        return property(ctx, value, level, key, OBJECT)
      } catch (error) {
        if (!(error instanceof ReferenceError)) throw error
        const shown = typeof key === 'symbol' ? '[' + ctx.stylize(String(key), 'symbol') + ']' : ctx.stylize(key, 'name')
        return shown + ': ' + ctx.stylize('<uninitialized>', 'special')
      }
    })
    return output
  }

  const property = (ctx, value, level, key, kind, descriptor, original = value) => {
    descriptor ??= Object.getOwnPropertyDescriptor(value, key) ??
      { value: value[key], configurable: true, enumerable: true }
    let text
    let gap = ' '
    if (descriptor.value !== undefined) {
      const indent = ctx.compact !== true || kind !== OBJECT ? 2 : 3
      ctx.indentation += indent
      text = formatValue(ctx, descriptor.value, level)
      if (indent === 3 && ctx.breakLength < text.length) gap = '\n' + ' '.repeat(ctx.indentation)
      ctx.indentation -= indent
    } else if (descriptor.get !== undefined) {
      const label = descriptor.set === undefined ? 'Getter' : 'Getter/Setter'
      const special = (shown) => ctx.stylize(shown, 'special')
      const wanted = ctx.getters === true || (ctx.getters === 'get' && descriptor.set === undefined) ||
        (ctx.getters === 'set' && descriptor.set !== undefined)
      if (!wanted) text = special('[' + label + ']')
      else {
        try {
          const got = Reflect.apply(descriptor.get, original, [])
          within(ctx, () => {
            if (got === null) text = special('[' + label + ':') + ' ' + ctx.stylize('null', 'null') + special(']')
            else if (typeof got === 'object') text = special('[' + label + ']') + ' ' + formatValue(ctx, got, level)
            else text = special('[' + label + ':') + ' ' + primitive(ctx.stylize, got, ctx) + special(']')
          })
        } catch (error) {
          text = special('[' + label + ':') + ' <Inspection threw (' + error.message + ')>' + special(']')
        }
      }
    } else if (descriptor.set !== undefined) text = ctx.stylize('[Setter]', 'special')
    else text = ctx.stylize('undefined', 'undefined')
    if (kind === ELEMENT) return text
    let name
    if (typeof key === 'symbol') {
      name = ctx.stylize(escapeText(Symbol.prototype.toString.call(key)), 'symbol')
      if (descriptor.enumerable === false) name = '[' + name + ']'
    } else if (key === '__proto__') name = "['__proto__']"
    else if (descriptor.enumerable === false) name = '[' + key + ']'
    else if (IDENTIFIER.test(key)) name = ctx.stylize(key, 'name')
    else name = ctx.stylize(quote(key), 'string')
    return name + ':' + gap + text
  }

  const width = (ctx, text) => (ctx.colors ? stripAnsi(text).length : text.length)

  // Many short elements go side by side, in columns.
  const group = (ctx, output, value) => {
    let total = 0
    let longest = 0
    let count = output.length
    if (ctx.maxArrayLength < output.length) count -= 1 // the last says how many more there are
    const separator = 2
    const widths = []
    for (let i = 0; i < count; i++) {
      widths[i] = columnsOf(ctx.colors ? stripAnsi(output[i]) : output[i])
      total += widths[i] + separator
      if (longest < widths[i]) longest = widths[i]
    }
    const widest = longest + separator
    if (!(widest * 3 + ctx.indentation < ctx.breakLength && (total / widest > 5 || longest <= 6))) return output
    const bias = Math.sqrt(widest - total / output.length)
    const biased = Math.max(widest - 3 - bias, 1)
    const columns = Math.min(
      Math.round(Math.sqrt(2.5 * biased * count) / biased),
      Math.floor((ctx.breakLength - ctx.indentation) / widest),
      ctx.compact * 4,
      15,
    )
    if (columns <= 1) return output
    const lines = []
    const columnWidths = []
    for (let i = 0; i < columns; i++) {
      let most = 0
      for (let j = i; j < output.length; j += columns) if (widths[j] > most) most = widths[j]
      columnWidths.push(most + separator)
    }
    let pad = String.prototype.padStart
    if (value !== undefined) {
      for (let i = 0; i < output.length; i++) {
        if (typeof value[i] !== 'number' && typeof value[i] !== 'bigint') {
          pad = String.prototype.padEnd
          break
        }
      }
    }
    for (let i = 0; i < count; i += columns) {
      const end = Math.min(i + columns, count)
      let line = ''
      let j = i
      for (; j < end - 1; j++) line += pad.call(output[j] + ', ', columnWidths[j - i] + output[j].length - widths[j], ' ')
      if (pad === String.prototype.padStart) {
        line += output[j].padStart(columnWidths[j - i] + output[j].length - widths[j] - separator, ' ')
      } else line += output[j]
      lines.push(line)
    }
    if (ctx.maxArrayLength < output.length) lines.push(output[count])
    return lines
  }

  const fitsOneLine = (ctx, output, start, base) => {
    let total = output.length + start
    if (total + output.length > ctx.breakLength) return false
    for (const entry of output) {
      total += width(ctx, entry)
      if (total > ctx.breakLength) return false
    }
    return base === '' || !base.includes('\n')
  }

  const join = (ctx, output, base, braces, kind, level, value) => {
    const lead = base ? base + ' ' : ''
    if (ctx.compact === true) {
      if (fitsOneLine(ctx, output, 0, base)) {
        return braces[0] + (base ? ' ' + base : '') + ' ' + output.join(', ') + ' ' + braces[1]
      }
      const indentation = '\n' + ' '.repeat(ctx.indentation)
      const start = base === '' && braces[0].length === 1 ? ' ' : (base ? ' ' + base : '') + indentation + '  '
      return braces[0] + start + output.join(',' + indentation + '  ') + ' ' + braces[1]
    }
    if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
      const entries = output.length
      if (kind === LIST && entries > 6) output = group(ctx, output, value)
      if (ctx.currentDepth - level < ctx.compact && entries === output.length) {
        const start = output.length + ctx.indentation + braces[0].length + base.length + 10
        if (fitsOneLine(ctx, output, start, base)) {
          const line = output.join(', ')
          if (!line.includes('\n')) return lead + braces[0] + ' ' + line + ' ' + braces[1]
        }
      }
    }
    const indentation = '\n' + ' '.repeat(ctx.indentation)
    return lead + braces[0] + indentation + '  ' + output.join(',' + indentation + '  ') + indentation + braces[1]
  }

  const describe = (ctx, value, level, typed) => {
    let inherited
    if (ctx.showHidden && (level <= ctx.depth || ctx.depth === null)) inherited = []
    const constructor = constructorName(value, ctx, level, inherited)
    if (inherited !== undefined && inherited.length === 0) inherited = undefined
    let tag = value[Symbol.toStringTag]
    if (typeof tag !== 'string' ||
      (tag !== '' && (ctx.showHidden ? hasOwn : enumerable)(value, Symbol.toStringTag))) tag = ''
    const all = ctx.showHidden
    const shape = {
      constructor, tag, base: '', braces: ['{', '}'], keys: [], kind: OBJECT, format: nothing, done: undefined, inherited,
    }
    const empty = () => shape.keys.length === 0 && inherited === undefined
    const { braces } = shape
    const iterable = Symbol.iterator in value || constructor === null
    if (iterable && Array.isArray(value)) {
      shape.keys = namedKeys(value, all)
      const name = constructor !== 'Array' || tag !== '' ? prefix(constructor, tag, 'Array', '(' + value.length + ')') : ''
      shape.braces = [name + '[', ']']
      if (value.length === 0 && empty()) shape.done = name + '[]'
      shape.kind = LIST
      shape.format = formatArray
      return shape
    }
    if (iterable && types.isSet(value)) {
      shape.keys = ownKeys(value, all)
      const name = prefix(constructor, tag, 'Set', '(' + setSize(value) + ')')
      if (setSize(value) === 0 && empty()) shape.done = name + '{}'
      braces[0] = name + '{'
      shape.format = formatSet
      return shape
    }
    if (iterable && types.isMap(value)) {
      shape.keys = ownKeys(value, all)
      const name = prefix(constructor, tag, 'Map', '(' + mapSize(value) + ')')
      if (mapSize(value) === 0 && empty()) shape.done = name + '{}'
      braces[0] = name + '{'
      shape.format = formatMap
      return shape
    }
    if (iterable && typedTag(value) !== undefined) {
      shape.keys = namedKeys(value, all)
      const name = prefix(constructor, tag, typedTag(value), '(' + typedLength(value) + ')')
      shape.braces = [name + '[', ']']
      if (typedLength(value) === 0 && shape.keys.length === 0 && !all) shape.done = name + '[]'
      shape.kind = LIST
      shape.format = formatTyped
      return shape
    }
    if (iterable && (types.isMapIterator(value) || types.isSetIterator(value))) {
      shape.keys = ownKeys(value, all)
      const items = upcoming(value)
      const pairs = items.length > 0 && items.every((item) => Array.isArray(item) && item.length === 2)
      const kind = types.isMapIterator(value) ? 'Map' : 'Set'
      const name = kind + (pairs ? ' Entries' : ' Iterator')
      braces[0] = '[' + name + '] ' + (tag === kind + ' Iterator' || tag === '' ? '' : '[' + tag + '] ') + '{'
      shape.format = formatIterator(items, pairs)
      return shape
    }
    shape.keys = ownKeys(value, all)
    if (builtins.has(constructor) && tag === constructor && !types.isPromise(value)) {
      if (PAIRS.includes(constructor)) {
        const pairs = [...value]
        const name = constructor + '(' + pairs.length + ') {'
        braces[0] = name
        if (pairs.length === 0 && constructor !== 'Headers' && empty()) shape.done = name + '}'
        shape.format = formatPairs(constructor, pairs)
        return shape
      }
      const accessors = accessorsOf(value)
      if (accessors.length > 0) {
        braces[0] = constructor + ' {'
        shape.format = formatAccessors(accessors)
        return shape
      }
    }
    if (constructor === 'Object') {
      if (types.isArgumentsObject(value)) braces[0] = '[Arguments] {'
      else if (tag !== '') braces[0] = prefix(constructor, tag, 'Object') + '{'
      if (empty()) shape.done = braces[0] + '}'
    } else if (typeof value === 'function') {
      shape.base = functionBase(value, constructor, tag)
      if (empty()) shape.done = ctx.stylize(shape.base, 'special')
    } else if (types.isRegExp(value)) {
      shape.base = RegExp.prototype.toString.call(constructor === null ? new RegExp(value) : value)
      const name = prefix(constructor, tag, 'RegExp')
      if (name !== 'RegExp ') shape.base = name + shape.base
      if (empty() || (level > ctx.depth && ctx.depth !== null)) shape.done = ctx.stylize(shape.base, 'regexp')
    } else if (types.isDate(value)) {
      shape.base = Number.isNaN(Date.prototype.getTime.call(value))
        ? Date.prototype.toString.call(value)
        : Date.prototype.toISOString.call(value)
      const name = prefix(constructor, tag, 'Date')
      if (name !== 'Date ') shape.base = name + shape.base
      if (empty()) shape.done = ctx.stylize(shape.base, 'date')
    } else if (types.isNativeError(value) || isInstance(value, Error)) {
      shape.base = errorBase(value, constructor, tag, ctx, shape.keys)
      if (empty()) shape.done = shape.base
    } else if (types.isAnyArrayBuffer(value)) {
      const name = prefix(constructor, tag, types.isArrayBuffer(value) ? 'ArrayBuffer' : 'SharedArrayBuffer')
      if (typed === undefined) shape.format = formatArrayBuffer
      else if (empty()) shape.done = name + '{ byteLength: ' + ctx.stylize(number(value.byteLength), 'number') + ' }'
      braces[0] = name + '{'
      shape.keys.unshift('byteLength')
    } else if (types.isDataView(value)) {
      braces[0] = prefix(constructor, tag, 'DataView') + '{'
      shape.keys.unshift('byteLength', 'byteOffset', 'buffer')
    } else if (types.isPromise(value)) {
      braces[0] = prefix(constructor, tag, 'Promise') + '{'
      shape.format = (context) => [context.stylize('<pending>', 'special')]
    } else if (types.isWeakSet(value)) {
      braces[0] = prefix(constructor, tag, 'WeakSet') + '{'
      shape.format = unknown
    } else if (types.isWeakMap(value)) {
      braces[0] = prefix(constructor, tag, 'WeakMap') + '{'
      shape.format = unknown
    } else if (types.isModuleNamespaceObject(value)) {
      braces[0] = prefix(constructor, tag, 'Module') + '{'
      shape.format = formatNamespace(shape.keys)
    } else if (types.isBoxedPrimitive(value)) {
      shape.base = boxedBase(value, ctx, shape.keys, constructor, tag)
      if (empty()) shape.done = shape.base
    } else {
      braces[0] = prefix(constructor, tag, 'Object') + '{'
      if (empty()) shape.done = braces[0] + '}'
    }
    return shape
  }

  const formatRaw = (ctx, value, level, typed) => {
    const shape = describe(ctx, value, level, typed)
    if (shape.done !== undefined) return shape.done
    const { braces, keys, kind, inherited } = shape
    let { base } = shape
    if (level > ctx.depth && ctx.depth !== null) {
      const name = prefix(shape.constructor, shape.tag, Array.isArray(value) ? 'Array' : 'Object').slice(0, -1)
      return ctx.stylize(name[0] === '[' ? name : '[' + name + ']', 'special')
    }
    level += 1
    ctx.seen.push(value)
    ctx.currentDepth = level
    const output = shape.format(ctx, value, level)
    for (const key of keys) output.push(property(ctx, value, level, key, kind))
    if (inherited !== undefined) output.push(...inherited)
    const index = ctx.circular?.get(value)
    if (index !== undefined) {
      const reference = ctx.stylize('<ref *' + index + '>', 'special')
      if (ctx.compact !== true) base = base === '' ? reference : reference + ' ' + base
      else braces[0] = reference + ' ' + braces[0]
    }
    ctx.seen.pop()
    if (ctx.sorted) {
      const order = ctx.sorted === true ? undefined : ctx.sorted
      if (kind === OBJECT) output.sort(order)
      else if (keys.length > 1) output.push(...output.splice(output.length - keys.length).sort(order))
    }
    const text = join(ctx, output, base, braces, kind, level, value)
    const total = (ctx.budget[ctx.indentation] || 0) + text.length
    ctx.budget[ctx.indentation] = total
    // What is longer than this is of no use: only names from here on.
    if (total > 2 ** 27) ctx.depth = -1
    return text
  }

  // A regular expression that is compiled at the end of the stack fails in words of its own.
  const isStackOverflow = (error) => (error instanceof RangeError || error instanceof SyntaxError) &&
    (error.message.endsWith('Maximum call stack size exceeded') || error.message.endsWith('Stack overflow'))

  const userOptions = (ctx) => {
    const options = { stylize: ctx.stylize }
    for (const key of Object.keys(DEFAULTS)) options[key] = ctx[key]
    return { ...options, ...ctx.userOptions }
  }

  const formatProxy = (ctx, { target, handler }, level) => {
    if (level > ctx.depth && ctx.depth !== null) return ctx.stylize('Proxy [Array]', 'special')
    level += 1
    const output = within(ctx, () => [formatValue(ctx, target, level), formatValue(ctx, handler, level)])
    return join(ctx, output, '', ['Proxy [', ']'], LIST, level)
  }

  function formatValue(ctx, value, level, typed) {
    if (typeof value !== 'object' && typeof value !== 'function') return primitive(ctx.stylize, value, ctx)
    if (value === null) return ctx.stylize('null', 'null')
    const context = value
    const parts = proxyParts(value)
    if (parts !== undefined) {
      if (parts.target === null) return ctx.stylize('<Revoked Proxy>', 'special')
      if (ctx.showProxy) return formatProxy(ctx, parts, level)
      value = parts.target
    }
    if (ctx.customInspect) {
      const method = value[custom]
      if (typeof method === 'function' && method !== inspect && value.constructor?.prototype !== value) {
        const depth = ctx.depth === null ? null : ctx.depth - level
        const made = Reflect.apply(method, context, [depth, userOptions(ctx), inspect])
        if (made !== context) {
          if (typeof made !== 'object') return String(made)
          return formatValue(ctx, made, level).replaceAll('\n', '\n' + ' '.repeat(ctx.indentation))
        }
      }
    }
    if (parts !== undefined) return 'Proxy(' + formatValue(ctx, value, level) + ')'
    if (ctx.seen.includes(value)) {
      ctx.circular ??= new Map()
      let index = ctx.circular.get(value)
      if (index === undefined) {
        index = ctx.circular.size + 1
        ctx.circular.set(value, index)
      }
      return ctx.stylize('[Circular *' + index + ']', 'special')
    }
    const { indentation } = ctx
    const open = ctx.seen.length
    try {
      return formatRaw(ctx, value, level, typed)
    } catch (error) {
      if (!isStackOverflow(error)) throw error
      // Where even this does not fit on the stack, the next one up says it.
      ctx.indentation = indentation
      ctx.seen.length = open
      const name = prefix(constructorName(value, ctx, level), '', 'Object').slice(0, -1)
      return ctx.stylize('[' + name + ': Inspection interrupted prematurely. Maximum call stack size exceeded.]', 'special')
    }
  }

  function inspect(value, options) {
    const ctx = {
      budget: {}, indentation: 0, seen: [], currentDepth: 0, stylize: plain, circular: undefined, userOptions: undefined,
      ...DEFAULTS,
    }
    if (arguments.length > 1) {
      if (arguments.length > 2) {
        if (arguments[2] !== undefined) ctx.depth = arguments[2]
        if (arguments.length > 3 && arguments[3] !== undefined) ctx.colors = arguments[3]
      }
      if (typeof options === 'boolean') ctx.showHidden = options
      else if (options) {
        for (const key of Object.keys(options)) {
          if (hasOwn(DEFAULTS, key) || key === 'stylize') ctx[key] = options[key]
          else ctx.userOptions ??= options
        }
      }
    }
    if (ctx.colors) ctx.stylize = coloured
    if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity
    if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity
    return formatValue(ctx, value, 0)
  }

  inspect.custom = custom
  Object.defineProperty(inspect, 'defaultOptions', {
    get() { return DEFAULTS },
    set(options) {
      validateObject(options, 'options')
      Object.assign(DEFAULTS, options)
    },
    enumerable: false,
    configurable: false,
  })
  const BACK = 39
  inspect.colors = Object.assign(Object.create(null), {
    reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27],
    hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24],
    black: [30, BACK], red: [31, BACK], green: [32, BACK], yellow: [33, BACK], blue: [34, BACK], magenta: [35, BACK],
    cyan: [36, BACK], white: [37, BACK],
    bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49],
    bgCyan: [46, 49], bgWhite: [47, 49],
    framed: [51, 54], overlined: [53, 55],
    gray: [90, BACK], redBright: [91, BACK], greenBright: [92, BACK], yellowBright: [93, BACK], blueBright: [94, BACK],
    magentaBright: [95, BACK], cyanBright: [96, BACK], whiteBright: [97, BACK],
    bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49], bgYellowBright: [103, 49],
    bgBlueBright: [104, 49], bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
  })
  const alias = (target, name) => Object.defineProperty(inspect.colors, name, {
    get() { return this[target] },
    set(value) { this[target] = value },
    configurable: true,
    enumerable: false,
  })
  alias('gray', 'grey')
  alias('gray', 'blackBright')
  alias('bgGray', 'bgGrey')
  alias('bgGray', 'bgBlackBright')
  alias('dim', 'faint')
  alias('strikethrough', 'crossedout')
  alias('strikethrough', 'strikeThrough')
  alias('strikethrough', 'crossedOut')
  alias('hidden', 'conceal')
  alias('inverse', 'swapColors')
  alias('inverse', 'swapcolors')
  alias('doubleunderline', 'doubleUnderline')
  inspect.styles = Object.assign(Object.create(null), {
    special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold',
    string: 'green', symbol: 'green', date: 'magenta', name: undefined, regexp: 'red', module: 'underline',
  })

  const hasBuiltinToString = (value) => {
    const parts = proxyParts(value)
    if (parts !== undefined) {
      if (parts.target === null) return true
      value = parts.target
    }
    if (typeof value.toString !== 'function') return true
    if (hasOwn(value, 'toString')) return false
    let owner = value
    do owner = Object.getPrototypeOf(owner)
    while (!hasOwn(owner, 'toString'))
    const constructor = Object.getOwnPropertyDescriptor(owner, 'constructor')?.value
    return typeof constructor === 'function' && builtins.has(constructor.name)
  }

  const json = (value) => {
    try {
      return JSON.stringify(value)
    } catch (error) {
      if (error.name === 'TypeError' && /circular structure/.test(error.message)) return '[Circular]'
      throw error
    }
  }

  const directive = (letter, value, options) => {
    switch (letter) {
      case 's':
        if (typeof value === 'number') return number(value)
        if (typeof value === 'bigint') return bigint(value)
        if (typeof value !== 'object' || value === null || !hasBuiltinToString(value)) return String(value)
        return inspect(value, { ...options, depth: 0, colors: false, compact: 3 })
      case 'j': return json(value)
      case 'd':
        if (typeof value === 'bigint') return bigint(value)
        return typeof value === 'symbol' ? 'NaN' : number(Number(value))
      case 'i':
        if (typeof value === 'bigint') return bigint(value)
        return typeof value === 'symbol' ? 'NaN' : number(parseInt(value))
      case 'f': return typeof value === 'symbol' ? 'NaN' : number(parseFloat(value))
      case 'O': return inspect(value, options)
      case 'o': return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 })
      case 'c': return ''
      default: return undefined
    }
  }

  const formatAll = (options, args) => {
    let text = ''
    let next = 0
    if (typeof args[0] === 'string') {
      if (args.length === 1) return args[0]
      next = 1
      text = args[0].replace(/%([sjdOoifc%])/g, (match, letter) => {
        if (letter === '%') return '%'
        if (next === args.length) return match
        const value = args[next]
        next += 1
        return directive(letter, value, options)
      })
      if (next < args.length) text += ' '
    }
    const rest = args.slice(next).map((value) => (typeof value === 'string' ? value : inspect(value, options)))
    return text + rest.join(' ')
  }

  const format = { format(...args) { return formatAll(undefined, args) } }.format
  const formatWithOptions = { formatWithOptions(inspectOptions, ...args) {
    if (inspectOptions === null || typeof inspectOptions !== 'object') {
      throw invalidArgType('inspectOptions', 'object', inspectOptions)
    }
    return formatAll(inspectOptions, args)
  } }.formatWithOptions

  return { inspect, format, formatWithOptions, stripAnsi }
}
