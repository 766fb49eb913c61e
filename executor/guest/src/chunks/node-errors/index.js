// The errors of the node: modules, with the codes and texts that programs match on, and the argument checks that throw
// them. Internal: no name of the guest's triggers this chunk, others require it.

const CONTROL = /[\x00-\x1f\x27\x5c\x7f-\x9f\ud800-\udfff]/
const ESCAPED = /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
const SHORT = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '\\': '\\\\', "'": "\\'" }

const escapeOne = (unit) => {
  const short = SHORT[unit]
  if (short !== undefined) return short
  const code = unit.charCodeAt(0)
  if (code >= 0xd800) return '\\u' + code.toString(16)
  return '\\x' + (code < 16 ? '0' : '') + code.toString(16).toUpperCase()
}

export const escapeText = (text) => text.replace(ESCAPED, escapeOne)

// A string as inspect prints it: single quotes unless others save escapes.
export const quote = (text) => {
  let mark = "'"
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"'
    else if (!text.includes('`') && !text.includes('${')) mark = '`'
  }
  if (!CONTROL.test(text)) return mark + text + mark
  return mark + text.replace(ESCAPED, (unit) => (unit === "'" && mark !== "'" ? unit : escapeOne(unit))) + mark
}

export const separated = (digits) => {
  let result = ''
  const start = digits[0] === '-' ? 1 : 0
  let i = digits.length
  for (; i >= start + 4; i -= 3) result = '_' + digits.slice(i - 3, i) + result
  return digits.slice(0, i) + result
}

const functionText = (value) => {
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'Function'
  if (kind === 'class') return '[class ' + (value.name || '(anonymous)') + ']'
  return value.name === '' ? '[Function (anonymous)]' : '[Function: ' + value.name + ']'
}

// What inspect prints for anything at depth -1.
const shallow = (value) => {
  switch (typeof value) {
    case 'string': return quote(value)
    case 'bigint': return value + 'n'
    case 'number': return Object.is(value, -0) ? '-0' : String(value)
    case 'symbol': return value.toString()
    case 'function': return functionText(value)
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return value.length === 0 ? '[]' : '[Array]'
      {
        const empty = Reflect.ownKeys(value).length === 0
        const prototype = Object.getPrototypeOf(value)
        if (prototype === null) return empty ? '[Object: null prototype] {}' : '[Object: null prototype]'
        const name = typeof value.constructor === 'function' ? value.constructor.name : 'Object'
        return empty ? (name === 'Object' ? '{}' : name + ' {}') : '[' + name + ']'
      }
    default: return String(value)
  }
}

// The whole of a value, once the chunk that can show it is there.
let inspectWhole = shallow
export const setInspect = (inspect) => { inspectWhole = inspect }

const received = (value) => {
  if (value === undefined || value === null) return ' Received ' + value
  if (typeof value === 'function' && value.name) return ' Received function ' + value.name
  if (typeof value === 'object') {
    const name = value.constructor?.name
    return name ? ' Received an instance of ' + name : ' Received ' + shallow(value)
  }
  let text = shallow(value)
  if (text.length > 28) text = text.slice(0, 25) + '...'
  return ' Received type ' + typeof value + ' (' + text + ')'
}

// The class's name says nothing of ours: `constructor` and `name` are those of the plain class, the code is in toString.
const coded = (Base) => {
  const make = (code, message) => {
    const error = new Base(message)
    if (Error.captureStackTrace !== undefined) Error.captureStackTrace(error, make)
    const { name } = Base
    error.code = code
    error.name = name
    error.toString = function toString() { return name + ' [' + code + ']: ' + message }
    return error
  }
  return make
}
export const typeError = coded(TypeError)
export const rangeError = coded(RangeError)
export const plainError = coded(Error)

const TYPES = ['string', 'function', 'number', 'object', 'Function', 'boolean', 'bigint', 'symbol']
const CLASS = /^([A-Z][a-z0-9]*)+$/

const enumerate = (words, last) => {
  if (words.length === 1) return words[0]
  if (words.length === 2) return words[0] + ' or ' + words[1]
  return words.slice(0, -1).join(', ') + ', ' + last + words[words.length - 1]
}

export const invalidArgType = (name, expected, actual) => {
  const list = Array.isArray(expected) ? expected : [expected]
  const types = []
  const instances = []
  const other = []
  for (const value of list) {
    if (TYPES.includes(value)) types.push(value.toLowerCase())
    else if (CLASS.test(value)) instances.push(value)
    else other.push(value)
  }
  let message = 'The '
  if (name.endsWith(' argument')) message += name + ' '
  else message += '"' + name + '" ' + (name.includes('.') ? 'property' : 'argument') + ' '
  message += 'must be '
  if (types.length > 0) message += (types.length > 1 ? 'one of type ' : 'of type ') + enumerate(types, 'or ')
  if (instances.length > 0) message += (types.length > 0 ? ' or ' : '') + 'an instance of ' + enumerate(instances, 'or ')
  if (other.length > 0) {
    if (types.length > 0 || instances.length > 0) message += ' or '
    if (other.length > 1) message += 'one of ' + enumerate(other, 'or ')
    else message += (other[0].toLowerCase() !== other[0] ? 'an ' : '') + other[0]
  }
  return typeError('ERR_INVALID_ARG_TYPE', message + '.' + received(actual))
}

const invalidValue = (make) => (name, value, reason = 'is invalid') => {
  let text = inspectWhole(value)
  if (text.length > 128) text = text.slice(0, 128) + '...'
  const kind = name.includes('.') ? 'property' : 'argument'
  return make('ERR_INVALID_ARG_VALUE', 'The ' + kind + " '" + name + "' " + reason + '. Received ' + text)
}
export const invalidArgValue = invalidValue(typeError)
export const invalidArgValueRange = invalidValue(rangeError)

// A class of its own, as upstream throws it: its name is what `constructor.name` says.
const ownClass = (name, Base, shown) => ({ [name]: class extends Base {
  constructor(message) {
    super(message)
    this.code = name
    this.name = shown
  }
} }[name])
const withCode = (Made) => {
  Object.defineProperty(Made.prototype, 'toString', {
    value: function toString() { return this.name + ' [' + this.code + ']: ' + this.message },
    writable: true, configurable: true, enumerable: false,
  })
  return Made
}
export const errorClass = (name, Base = Error, shown = Base.name) => withCode(ownClass(name, Base, shown))
const OutOfRange = ownClass('ERR_OUT_OF_RANGE', RangeError, 'RangeError')

export const outOfRange = (name, range, value) => {
  let text
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) text = separated(String(value))
  else if (typeof value === 'bigint') {
    text = String(value)
    if (value > 2n ** 32n || value < -(2n ** 32n)) text = separated(text)
    text += 'n'
  } else text = inspectWhole(value)
  return new OutOfRange('The value of "' + name + '" is out of range. It must be ' + range + '. Received ' + text)
}

export const validateString = (value, name) => {
  if (typeof value !== 'string') throw invalidArgType(name, 'string', value)
}
export const validateFunction = (value, name) => {
  if (typeof value !== 'function') throw invalidArgType(name, 'function', value)
}
export const validateBoolean = (value, name) => {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value)
}
export const validateObject = (value, name) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw invalidArgType(name, 'object', value)
}
export const validateArray = (value, name) => {
  if (!Array.isArray(value)) throw invalidArgType(name, 'Array', value)
}
export const validateNumber = (value, name, min, max) => {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value)
  if ((min !== undefined && value < min) || (max !== undefined && value > max) ||
    ((min !== undefined || max !== undefined) && Number.isNaN(value))) {
    const low = min === undefined ? '' : '>= ' + min
    const high = max === undefined ? '' : '<= ' + max
    throw outOfRange(name, low + (low && high ? ' && ' : '') + high, value)
  }
}
export const validateInteger = (value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) => {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value)
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value)
  if (value < min || value > max) throw outOfRange(name, '>= ' + min + ' && <= ' + max, value)
}
export const validateOneOf = (value, name, allowed) => {
  if (allowed.includes(value)) return
  const text = allowed.map((one) => (typeof one === 'string' ? "'" + one + "'" : String(one))).join(', ')
  throw invalidArgValue(name, value, 'must be one of: ' + text)
}
export const validateAbortSignal = (signal, name) => {
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
    throw invalidArgType(name, 'AbortSignal', signal)
  }
}

class AbortError extends Error {
  constructor(message, options) {
    super(message, options)
    this.code = 'ABORT_ERR'
    this.name = 'AbortError'
  }
}
// What a node: function rejects with when its signal is aborted; `options.cause` is the reason.
export const abortError = (options) => new AbortError('The operation was aborted', options)

// For a method that was made by a factory.
export const named = (name, method) => Object.defineProperty(method, 'name', { value: name, configurable: true })

export default function install() {
  return {
    setInspect, named, escapeText, quote, separated, typeError, rangeError, plainError, invalidArgType, invalidArgValue, invalidArgValueRange, errorClass,
    outOfRange, validateString, validateFunction, validateBoolean, validateObject, validateArray, validateNumber,
    validateInteger, validateOneOf, validateAbortSignal, abortError,
  }
}
