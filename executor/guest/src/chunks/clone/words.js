// The name under which a value that cannot be cloned appears in the error: V8's own, which runs none of the program's code.
const { getOwnPropertyDescriptor, getPrototypeOf } = Reflect
const objectToString = Object.prototype.toString
const errorToString = Error.prototype.toString
const functionToString = Function.prototype.toString

const LONGEST_SOURCE = 128
const HEAD = 111
const TAIL = 2

// The value of a data property of the object or of what it inherits from.
const dataProperty = (object, key) => {
  for (let holder = object; holder !== null; holder = getPrototypeOf(holder)) {
    const descriptor = getOwnPropertyDescriptor(holder, key)
    if (descriptor !== undefined) return descriptor.value
  }
  return undefined
}

const sourceOf = (fn) => {
  const source = functionToString.call(fn)
  if (source.length <= LONGEST_SOURCE) return source
  return source.slice(0, HEAD) + '...<omitted>...' + source.slice(source.length - TAIL)
}

export const wordFor = (value) => {
  if (typeof value === 'function') return sourceOf(value)
  if (typeof value !== 'object') return String(value) // a symbol
  const toString = dataProperty(value, 'toString')
  if (toString === objectToString || toString === errorToString) {
    const constructor = dataProperty(value, 'constructor')
    const name = typeof constructor === 'function' ? dataProperty(constructor, 'name') : undefined
    if (typeof name === 'string' && name !== '') return `#<${name}>`
  }
  const tag = dataProperty(value, Symbol.toStringTag)
  return typeof tag === 'string' ? `[object ${tag}]` : objectToString.call(value)
}
