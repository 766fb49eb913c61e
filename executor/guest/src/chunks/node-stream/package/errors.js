import { realm } from './platform.js'

const {
  abortError, errorClass, invalidArgType, invalidArgValue, outOfRange, typeError,
} = realm.exports['node-errors']

// The package makes its errors with `new`.
const made = (make) => function (...args) { return make(...args) }

const ofClass = (code, textOf, Base) => {
  const Made = errorClass(code, Base)
  return made((...args) => new Made(textOf(...args)))
}

const ofType = (code, textOf) => made((...args) => typeError(code, textOf(...args)))

const missing = (names) => {
  // The package puts this text onto the error afterwards, too late for what `toString` says.
  if (names[0] === 'reduce') return 'Reduce of an empty stream requires an initial value'
  const [first, ...rest] = names.map((name) => `"${name}"`)
  if (rest.length === 0) return `The ${first} argument must be specified`
  const last = rest.pop()
  return `The ${[first, ...rest].join(', ')}${rest.length > 0 ? ',' : ''} and ${last} arguments must be specified`
}

const kindOf = (value) => (value?.constructor?.name ? `instance of ${value.constructor.name}` : `type ${typeof value}`)

export const codes = {
  ERR_ILLEGAL_CONSTRUCTOR: ofType('ERR_ILLEGAL_CONSTRUCTOR', () => 'Illegal constructor'),
  // A chunk may be a view of any kind, see adapt.js.
  ERR_INVALID_ARG_TYPE: made((name, expected, actual) =>
    invalidArgType(name, name === 'chunk' ? ['string', 'Buffer', 'TypedArray', 'DataView'] : expected, actual)),
  ERR_INVALID_ARG_VALUE: made(invalidArgValue),
  ERR_INVALID_RETURN_VALUE: ofType('ERR_INVALID_RETURN_VALUE', (input, name, value) =>
    `Expected ${input} to be returned from the "${name}" function but got ${kindOf(value)}.`),
  ERR_METHOD_NOT_IMPLEMENTED: ofClass('ERR_METHOD_NOT_IMPLEMENTED', (name) => `The ${name} method is not implemented`),
  ERR_MISSING_ARGS: ofType('ERR_MISSING_ARGS', (...names) => missing(names)),
  ERR_MULTIPLE_CALLBACK: ofClass('ERR_MULTIPLE_CALLBACK', () => 'Callback called multiple times'),
  ERR_OUT_OF_RANGE: made(outOfRange),
  ERR_STREAM_ALREADY_FINISHED: ofClass('ERR_STREAM_ALREADY_FINISHED', (name) =>
    `Cannot call ${name} after a stream was finished`),
  ERR_STREAM_CANNOT_PIPE: ofClass('ERR_STREAM_CANNOT_PIPE', () => 'Cannot pipe, not readable'),
  ERR_STREAM_DESTROYED: ofClass('ERR_STREAM_DESTROYED', (name) => `Cannot call ${name} after a stream was destroyed`),
  ERR_STREAM_NULL_VALUES: ofType('ERR_STREAM_NULL_VALUES', () => 'May not write null values to stream'),
  ERR_STREAM_PREMATURE_CLOSE: ofType('ERR_STREAM_PREMATURE_CLOSE', () => 'Premature close'),
  ERR_STREAM_PUSH_AFTER_EOF: ofClass('ERR_STREAM_PUSH_AFTER_EOF', () => 'stream.push() after EOF'),
  ERR_STREAM_UNSHIFT_AFTER_END_EVENT: ofClass('ERR_STREAM_UNSHIFT_AFTER_END_EVENT', () =>
    'stream.unshift() after end event'),
  ERR_STREAM_WRITE_AFTER_END: ofClass('ERR_STREAM_WRITE_AFTER_END', () => 'write after end'),
  ERR_UNKNOWN_ENCODING: ofType('ERR_UNKNOWN_ENCODING', (name) => `Unknown encoding: ${name}`),
}

export const AbortError = made((message, options) => abortError(options))
export const hideStackFrames = (method) => method

export const aggregateTwoErrors = (inner, outer) => {
  if (!inner || !outer || inner === outer) return inner || outer
  if (Array.isArray(outer.errors)) {
    outer.errors.push(inner)
    return outer
  }
  const both = new AggregateError([outer, inner], outer.message)
  both.code = outer.code
  return both
}
