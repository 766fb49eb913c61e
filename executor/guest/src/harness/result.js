// The program's answer as JSON. Upstream's answers cross by structured clone; what that refuses is refused here too,
// with the place in the answer where it stands.
import {
  ErrorCtor, PromiseCtor, getPrototypeOf, is, isArray, isFiniteNumber, jsonStringify, objectKeys,
  objectPrototype, regExpTest,
} from './primordials.js'
import { clean, read } from './describe.js'

const MAX_DEPTH = 500
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

const refuse = (path, what) => {
  throw new ErrorCtor('The result cannot be returned: ' + path + ' is ' + what)
}

const member = (path, key) => path + (regExpTest(IDENTIFIER, key) ? '.' + key : '[' + jsonStringify(key) + ']')

const className = (value) => {
  const constructor = read(value, 'constructor')
  const name = typeof constructor === 'function' ? clean(read(constructor, 'name')) : ''
  return name === '' ? 'an object of a class' : 'an instance of ' + name
}

// JSON text of `value`, or undefined for undefined. Throws an Error that names the path of what cannot cross.
export const encodeResult = (value) => {
  const object = (item, path, depth) => {
    if (depth > MAX_DEPTH) refuse(path, 'nested deeper than ' + MAX_DEPTH + ' levels (or part of a cycle)')
    if (isArray(item)) {
      let text = '['
      for (let i = 0; i < item.length; i++) {
        if (i > 0) text += ','
        text += encode(item[i], path + '[' + i + ']', depth + 1)
      }
      return text + ']'
    }
    const prototype = getPrototypeOf(item)
    if (prototype !== objectPrototype && prototype !== null) {
      if (item instanceof PromiseCtor) refuse(path, 'a pending Promise: use await (Promise.all for a list)')
      refuse(path, className(item) + ': return a plain object, an array, a string, a number or a boolean')
    }
    const keys = objectKeys(item)
    let text = '{'
    let any = false
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]
      const inner = item[key]
      if (inner === undefined) continue
      if (any) text += ','
      any = true
      text += jsonStringify(key) + ':' + encode(inner, member(path, key), depth + 1)
    }
    return text + '}'
  }

  const encode = (item, path, depth) => {
    switch (typeof item) {
      case 'string':
        return jsonStringify(item)
      case 'boolean':
        return item ? 'true' : 'false'
      case 'number':
        if (!isFiniteNumber(item)) refuse(path, item + '')
        return is(item, -0) ? '-0.0' : item + ''
      case 'undefined':
        return 'null'
      case 'object':
        return item === null ? 'null' : object(item, path, depth)
      case 'function':
        return refuse(path, 'a function: return what it computes, or call it')
      case 'symbol':
        return refuse(path, 'a symbol')
      default:
        return refuse(path, 'a bigint: convert it with String() or Number()')
    }
  }

  return value === undefined ? undefined : encode(value, 'result', 0)
}
