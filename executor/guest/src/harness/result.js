// The program's answer as text. Upstream's answers cross by structured clone, and so does everything here that
// structured clone takes; what it refuses is refused too, with the place in the answer where it stands.
//
// Form 1 is the value as JSON, for what is JSON as it stands. Form 2 is for all else:
//
//   {"root": child, "table": [entry, …]}
//
// A child is a JSON primitive, or ["u"] undefined, ["n", name] NaN, Infinity, -Infinity, -0, ["i", digits] a bigint, or
// ["h", n], a function that the host may call (where it retains the isolate), or
// {"r": n}, the object that entry n of the table describes; entries are written by `describe` below.
import { clean, read } from './describe.js'
import { handles } from './handles.js'
import { limits } from './limits.js'
import {
  ErrorCtor, PromiseCtor, StringOf, byteLengthOfBuffer, dateValue, hasOwn, is, isArray, isDate, isError,
  isFiniteNumber, isMap, isPlainObject, isRegExp, isSet, isView, jsonStringify, mapForEach, objectKeys, regExpFlags,
  regExpSource, regExpTest, safeMap, safeWeakSet, safeSet, setForEach, stringSlice, toBase64, typedArrayTag, Uint8ArrayCtor, unbox,
  viewBuffer, viewElements, viewOffset,
} from './primordials.js'

export const UNDEFINED = 0
export const PLAIN = 1
export const RICH = 2

const MAX_DEPTH = 500
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

const MAX_PATH = 200

const RETURNED = { __proto__: null, what: 'The result cannot be returned: ', root: 'result' }
export const ARGUMENT = { __proto__: null, what: 'The argument cannot be sent: ', root: 'argument' }
let purpose = RETURNED

const refuse = (path, what) => {
  const shown = path.length > MAX_PATH ? stringSlice(path, 0, MAX_PATH) + '…' : path
  throw new ErrorCtor(purpose.what + shown + ' is ' + what)
}

const member = (path, key) => path + (regExpTest(IDENTIFIER, key) ? '.' + key : '[' + jsonStringify(key) + ']')

const className = (value) => {
  const constructor = read(value, 'constructor')
  const name = typeof constructor === 'function' ? clean(read(constructor, 'name')) : ''
  return name === '' ? 'an object of a class' : 'an instance of ' + name
}

const refuseObject = (value, path) => {
  if (value instanceof PromiseCtor) refuse(path, 'a pending Promise: use await (Promise.all for a list)')
  return refuse(path, className(value) + ': return a plain object, an array, a string, a number or a boolean')
}

const refusePrimitive = (value, path) =>
  typeof value === 'symbol' ? refuse(path, 'a symbol') : refuse(path, 'a function: return what it computes, or call it')

const tooDeep = (path) => refuse(path, 'nested deeper than ' + MAX_DEPTH + ' levels')

// Structured clone knows these; any other name becomes Error.
const ERROR_NAMES = ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']
const isErrorName = (name) => {
  for (let i = 0; i < ERROR_NAMES.length; i++) if (name === ERROR_NAMES[i]) return true
  return false
}

// The text, or undefined where the value is not JSON as it stands.
const encodePlain = (value) => {
  const seen = safeSet()
  let plain = true

  const encode = (item, depth) => {
    switch (typeof item) {
      case 'string':
        return jsonStringify(item)
      case 'boolean':
        return item ? 'true' : 'false'
      case 'number':
        if (isFiniteNumber(item) && !is(item, -0)) return item + ''
        break
      case 'object':
        if (item === null) return 'null'
        if (depth > MAX_DEPTH || seen.has(item)) break
        seen.add(item)
        if (isArray(item)) return array(item, depth)
        if (isPlainObject(item) && !isRefused(item)) return object(item, depth)
    }
    plain = false
    return ''
  }

  const array = (items, depth) => {
    const { length } = items
    if (!isLength(length)) {
      plain = false
      return ''
    }
    let text = '['
    for (let i = 0; plain && i < length; i++) {
      if (i > 0) text += ','
      text += encode(items[i], depth + 1)
    }
    if (objectKeys(items).length !== length) plain = false
    return text + ']'
  }

  const object = (fields, depth) => {
    const keys = objectKeys(fields)
    let text = '{'
    for (let i = 0; plain && i < keys.length; i++) {
      if (i > 0) text += ','
      text += jsonStringify(keys[i]) + ':' + encode(fields[keys[i]], depth + 1)
    }
    return text + '}'
  }

  const text = encode(value, 0)
  return plain ? text : undefined
}

// Tells DOMExceptions, where there are any.
let isException
export const useExceptions = (test) => void (isException = test)

const isLength = (value) => typeof value === 'number' && value >= 0 && value <= 4294967295 && value % 1 === 0

let refused
const isRefused = (item) => refused !== undefined && refused.has(item)

// Objects that look plain and are not: the namespaces of modules.
export const refuseClone = (item) => {
  refused ??= safeWeakSet()
  refused.add(item)
}

const encodeRich = (value) => {
  const numbers = safeMap() // object to its place in the table
  const entries = safeMap()
  let size = 0

  const child = (item, path, depth) => {
    switch (typeof item) {
      case 'string':
        return jsonStringify(item)
      case 'boolean':
        return item ? 'true' : 'false'
      case 'number':
        if (is(item, -0)) return '["n","-0"]'
        return isFiniteNumber(item) ? item + '' : '["n","' + item + '"]'
      case 'undefined':
        return '["u"]'
      case 'bigint':
        return '["i","' + StringOf(item) + '"]'
      case 'object':
        return item === null ? 'null' : '{"r":' + reference(item, path, depth) + '}'
      case 'function':
        if (limits.retain && purpose === RETURNED) return '["h",' + handles.number(item) + ']'
        return refusePrimitive(item, path)
      default:
        return refusePrimitive(item, path)
    }
  }

  const reference = (item, path, depth) => {
    const known = numbers.get(item)
    if (known !== undefined) return known
    if (depth > MAX_DEPTH) tooDeep(path)
    const number = size++
    numbers.set(item, number)
    entries.set(number, describe(item, path, depth)) // what it holds may lead back to it; its number is known by then
    return number
  }

  const describe = (item, path, depth) => {
    if (isArray(item)) return array(item, path, depth)
    if (isMap(item)) return map(item, path, depth)
    if (isSet(item)) return set(item, path, depth)
    if (isView(item)) return view(item, path, depth)
    if (byteLengthOfBuffer(item) !== undefined) return '["b",' + jsonStringify(toBase64(new Uint8ArrayCtor(item))) + ']'
    if (isDate(item)) return '["d",' + (isFiniteNumber(dateValue(item)) ? dateValue(item) + '' : 'null') + ']'
    if (isRegExp(item)) return '["x",' + jsonStringify(regExpSource(item)) + ',' + jsonStringify(regExpFlags(item)) + ']'
    if (isError(item)) return error(item, path, depth)
    if (isException !== undefined && isException(item)) return exception(item)
    const boxed = unbox(item)
    if (boxed !== undefined) return '["w",' + child(boxed, path, depth) + ']'
    if (!isPlainObject(item) || isRefused(item)) return refuseObject(item, path)
    let text = '["o"'
    const keys = objectKeys(item)
    for (let i = 0; i < keys.length; i++) {
      text += ',' + jsonStringify(keys[i]) + ',' + child(item[keys[i]], member(path, keys[i]), depth + 1)
    }
    return text + ']'
  }

  const array = (items, path, depth) => {
    const { length } = items
    // A proxy of an array answers what it likes, and this is going to be text of ours.
    if (!isLength(length)) refuse(path, 'an array whose length is no number of elements')
    const keys = objectKeys(items)
    if (keys.length === length) {
      let text = '["a"'
      for (let i = 0; i < length; i++) text += ',' + child(items[i], path + '[' + i + ']', depth + 1)
      return text + ']'
    }
    let text = '["s",' + length
    for (let i = 0; i < keys.length; i++) {
      const index = +keys[i]
      if (!(index < length)) continue // a named property of an array
      text += ',' + index + ',' + child(items[index], path + '[' + index + ']', depth + 1)
    }
    return text + ']'
  }

  const map = (item, path, depth) => {
    let text = '["m"'
    mapForEach(item, (held, key) => {
      text += ',' + child(key, path + ' (a key)', depth + 1) + ',' + child(held, path + ' (a value)', depth + 1)
    })
    return text + ']'
  }

  const set = (item, path, depth) => {
    let text = '["e"'
    setForEach(item, (held) => {
      text += ',' + child(held, path + ' (an element)', depth + 1)
    })
    return text + ']'
  }

  const view = (item, path, depth) => {
    const type = typedArrayTag(item) ?? 'DataView'
    const buffer = reference(viewBuffer(item), path + '.buffer', depth + 1)
    return '["v","' + type + '",' + buffer + ',' + viewOffset(item) + ',' + viewElements(item) + ']'
  }

  const error = (item, path, depth) => {
    const name = read(item, 'name')
    const text = jsonStringify(StringOf(read(item, 'message') ?? ''))
    const cause = hasOwn(item, 'cause') ? ',' + child(item.cause, path + '.cause', depth + 1) : ''
    return '["E","' + (isErrorName(name) ? name : 'Error') + '",' + text + ',""' + cause + ']'
  }

  // As upstream's: an Error with properties of its own.
  const exception = (item) => {
    const code = read(item, 'code')
    const known = isFiniteNumber(code) && code >= 0 && code < 1000 && code % 1 === 0
    return '["X",' + jsonStringify(clean(read(item, 'name'))) + ',' +
      jsonStringify(StringOf(read(item, 'message') ?? '')) + ',' + (known ? code : 0) + ']'
  }

  const root = child(value, purpose.root, 0)
  let table = ''
  for (let i = 0; i < size; i++) table += (i > 0 ? ',' : '') + entries.get(i)
  return '{"root":' + root + ',"table":[' + table + ']}'
}

// { form, text }. Throws an Error that names the path of what cannot cross.
export const encodeResult = (value, why = RETURNED) => {
  if (value === undefined) return { form: UNDEFINED, text: '' }
  const outer = purpose // a getter of a result may send an argument
  purpose = why
  try {
    const text = encodePlain(value)
    return text === undefined ? { form: RICH, text: encodeRich(value) } : { form: PLAIN, text }
  } finally {
    purpose = outer
  }
}
