// node:assert. As upstream's, it is strict under every name.
import { createMessages } from './message.js'

const custom = Symbol.for('nodejs.util.inspect.custom')

export default function install(realm) {
  const make = () => {
    const { inspect, types } = realm.exports['node-inspect']
    const { isDeepStrictEqual, isPartialStrictEqual } = realm.exports['node-compare']
    const { invalidArgType, invalidArgValue, named, typeError, validateFunction, validateObject } = realm.exports['node-errors']
    const { generate, notStrictlyEqual } = createMessages(inspect)

    // Without its stack, which would differ for any two.
    const plainError = (value) => {
      if (!(value instanceof Error)) return value
      const copy = Object.assign(Object.create(Object.getPrototypeOf(value)), value)
      Object.defineProperty(copy, 'message', { value: value.message })
      return copy
    }

    class AssertionError extends Error {
      constructor(options) {
        validateObject(options, 'options')
        const { message, operator, stackStartFn, stackStartFunction } = options
        const { actual, expected } = options
        const given = message !== undefined && message !== null
        const bothErrors = actual instanceof Error && expected instanceof Error
        super(given
          ? String(message)
          : generate(bothErrors ? plainError(actual) : actual, bothErrors ? plainError(expected) : expected, operator))
        this.generatedMessage = !given
        const hidden = (name, value) => Object.defineProperty(this, name, {
          value, enumerable: false, writable: true, configurable: true,
        })
        hidden('name', 'AssertionError [ERR_ASSERTION]')
        this.code = 'ERR_ASSERTION'
        this.actual = actual
        this.expected = expected
        this.operator = operator
        Error.captureStackTrace(this, stackStartFn ?? stackStartFunction)
        void this.stack // made now, with the code in its first line
        hidden('name', 'AssertionError')
      }
      toString() { return this.name + ' [' + this.code + ']: ' + this.message }
      // Not its two values in all their depth once more.
      [custom](depth, options) { return inspect(this, { ...options, customInspect: false, depth: 0 }) }
    }

    const fail_ = (message, fields, stackStartFn) => {
      throw new AssertionError({ ...fields, message, stackStartFn })
    }
    const NO_VALUE = 'No value argument passed to `assert.ok()`'
    // A message that was given goes before ours.
    const check = (passed, message, ours, actual, expected, operator, stackStartFn) => {
      if (!passed) fail_(message ?? ours(), { actual, expected, operator }, stackStartFn)
    }

    function assert(actual, message) {
      if (arguments.length === 0) fail_(NO_VALUE, {}, assert)
      if (!actual) fail_(message, { actual, expected: true, operator: '==' }, assert)
    }

    const requireBoth = (count) => {
      if (count < 2) throw typeError('ERR_MISSING_ARGS', 'The "actual" and "expected" arguments must be specified')
    }
    function strictEqual(actual, expected, message) {
      // As upstream: what was left out is reported as a difference, if it makes one.
      if (Object.is(actual, expected)) requireBoth(arguments.length)
      check(Object.is(actual, expected), message, () => notStrictlyEqual(actual, expected), actual, expected, 'strictEqual', strictEqual)
    }
    function notStrictEqual(actual, expected, message) {
      requireBoth(arguments.length)
      const text = () => 'Expected actual to be strictly unequal to expected'
      check(!Object.is(actual, expected), message, text, actual, expected, 'notStrictEqual', notStrictEqual)
    }
    function deepStrictEqual(actual, expected, message) {
      requireBoth(arguments.length)
      check(isDeepStrictEqual(actual, expected), message, () => undefined, actual, expected, 'deepStrictEqual', deepStrictEqual)
    }
    function notDeepStrictEqual(actual, expected, message) {
      requireBoth(arguments.length)
      const text = () => 'Expected actual to not be deeply strictly equal to expected'
      check(!isDeepStrictEqual(actual, expected), message, text, actual, expected, 'notDeepStrictEqual', notDeepStrictEqual)
    }
    function partialDeepStrictEqual(actual, expected, message) {
      requireBoth(arguments.length)
      const text = () => 'Expected actual to be partially deeply strictly equal to expected'
      const passed = isPartialStrictEqual(actual, expected)
      check(passed, message, text, actual, expected, 'partialDeepStrictEqual', partialDeepStrictEqual)
    }

    function fail(message) {
      if (message instanceof Error) throw message
      const error = new AssertionError({ message: message ?? 'Failed', operator: 'fail', stackStartFn: fail })
      error.generatedMessage = message === undefined || message === null
      throw error
    }

    function ifError(value) {
      if (value === null || value === undefined) return
      let text = 'ifError got unwanted exception: '
      if (typeof value === 'object' && typeof value.message === 'string') {
        text += value.message.length === 0 && value.constructor ? value.constructor.name : value.message
      } else text += inspect(value)
      fail_(text, { actual: value, expected: null, operator: 'ifError' }, ifError)
    }

    const checkRegExp = (regexp) => {
      if (!types.isRegExp(regexp)) throw invalidArgType('regexp', 'RegExp', regexp)
    }
    function match(string, regexp, message) {
      checkRegExp(regexp)
      const text = () => 'actual: "' + string + '" expected to match: "' + regexp + '"'
      check(typeof string === 'string' && regexp.test(string), message, text, string, regexp, 'match', match)
    }
    function doesNotMatch(string, regexp, message) {
      checkRegExp(regexp)
      const text = () => 'actual: "' + string + '" expected to not match: "' + regexp + '"'
      check(typeof string !== 'string' || !regexp.test(string), message, text, string, regexp, 'doesNotMatch', doesNotMatch)
    }

    const NOTHING = Symbol('nothing was thrown')
    const thrownBy = (fn) => {
      validateFunction(fn, 'fn')
      try {
        fn()
      } catch (error) {
        return error
      }
      return NOTHING
    }
    const rejectedBy = async (promiseFn) => {
      let promise
      if (typeof promiseFn === 'function') {
        promise = promiseFn()
        if (!isPromise(promise)) {
          const shown = invalidArgType('x', 'x', promise).message.split(' Received ')[1]
          throw typeError('ERR_INVALID_RETURN_VALUE',
            'Expected instance of Promise to be returned from the "promiseFn" function but got ' + shown + '.')
        }
      } else if (isPromise(promiseFn)) promise = promiseFn
      else throw invalidArgType('promiseFn', ['function', 'Promise'], promiseFn)
      try {
        await promise
      } catch (error) {
        return error
      }
      return NOTHING
    }
    const isPromise = (value) => types.isPromise(value) ||
      (value !== null && typeof value === 'object' && typeof value.then === 'function' && typeof value.catch === 'function')

    const isClass = (value) => value.prototype !== undefined && (Error.isPrototypeOf(value) || value === Error)

    const checkFields = (thrown, expected, message, operator, start) => {
      const keys = Object.keys(expected)
      if (expected instanceof Error) keys.push('name', 'message')
      else if (keys.length === 0) throw invalidArgValue('error', expected, 'may not be an empty object')
      if (typeof thrown !== 'object' || thrown === null) {
        fail_(message ?? 'object is expected to thrown, but got ' + typeof thrown + ': ' + thrown,
          { actual: thrown, expected, operator }, start)
      }
      for (const key of keys) {
        const value = thrown[key]
        if (!(key in thrown)) {
          fail_(message ?? 'A key in the expected object is missing: ' + key, { actual: thrown, expected, operator }, start)
        }
        if (typeof value === 'string' && types.isRegExp(expected[key]) && expected[key].test(value)) continue
        check(isDeepStrictEqual(value, expected[key]), message, () => undefined, value, expected[key], 'deepStrictEqual', start)
      }
    }

    const generated = (text, fields, start) => {
      const error = new AssertionError({ ...fields, message: text, stackStartFn: start })
      error.generatedMessage = true
      throw error
    }

    // Throws unless `thrown` is what was expected.
    const checkThrown = (thrown, expected, message, operator, start) => {
      const fields = { actual: thrown, expected, operator }
      if (typeof expected !== 'function') {
        if (types.isRegExp(expected)) {
          const text = String(thrown)
          if (expected.test(text)) return
          generated('The input did not match the regular expression ' + inspect(expected) + '. Input:\n\n' + inspect(text) + '\n',
            fields, start)
        }
        checkFields(thrown, expected, message, operator, start)
        return
      }
      if (expected.prototype !== undefined && thrown instanceof expected) return
      if (isClass(expected)) {
        generated('The error is expected to be an instance of "' + expected.name + '". Received "' +
          thrown?.constructor?.name + '"\n\nError message:\n\n' + thrown?.message, fields, start)
      }
      const answer = expected.call({}, thrown)
      if (answer === true) return
      generated('The validation function is expected to return "true". Received ' + inspect(answer) +
        '\n\nCaught error:\n\n' + thrown, fields, start)
    }

    const expectThrown = (thrown, error, message, operator, start) => {
      if (typeof error === 'string') {
        if (thrown !== NOTHING && ((thrown?.message === undefined && thrown === error) || thrown?.message === error)) {
          const what = thrown?.message === undefined ? 'error' : 'error message'
          throw typeError('ERR_AMBIGUOUS_ARGUMENT',
            'The "error/message" argument is ambiguous. The ' + what + ' "' + error + '" is identical to the message.')
        }
        message = error
        error = undefined
      } else if (error !== null && error !== undefined && typeof error !== 'object' && typeof error !== 'function') {
        throw invalidArgType('error', ['Function', 'Error', 'RegExp', 'Object'], error)
      }
      if (thrown === NOTHING) {
        const what = operator === 'rejects' ? 'rejection' : 'exception'
        const text = 'Missing expected ' + what + (error?.name ? ' (' + error.name + ')' : '') + (message ? ': ' + message : '.')
        if (operator === 'rejects') generated(text, { actual: undefined, expected: error, operator }, start)
        fail_(text, { actual: undefined, expected: error, operator }, start)
      }
      if (error !== undefined && error !== null) checkThrown(thrown, error, message, operator, start)
    }

    const expectNone = (thrown, error, message, operator, start) => {
      if (thrown === NOTHING) return
      if (typeof error === 'string') {
        message = error
        error = undefined
      }
      const unwanted = error === undefined || (typeof error === 'function' && thrown instanceof error) ||
        (types.isRegExp(error) && error.test(String(thrown)))
      if (!unwanted) throw thrown
      const text = error === undefined
        ? 'Got unwanted exception' + (message ? ': ' + message : '.') + '\nActual message: "' + thrown?.message + '"'
        : 'Got unwanted exception: ' + thrown?.constructor?.name + ' ' + (message ?? '')
      fail_(text, { actual: thrown, expected: error, operator }, start)
    }

    function throws(fn, error, message) { expectThrown(thrownBy(fn), error, message, 'throws', throws) }
    function doesNotThrow(fn, error, message) { expectNone(thrownBy(fn), error, message, 'doesNotThrow', doesNotThrow) }
    async function rejects(promiseFn, error, message) {
      expectThrown(await rejectedBy(promiseFn), error, message, 'rejects', rejects)
    }
    async function doesNotReject(promiseFn, error, message) {
      expectNone(await rejectedBy(promiseFn), error, message, 'doesNotReject', doesNotReject)
    }

    // Their loose names are functions of their own, but as strict.
    const alias = (name, method) => named(name, (actual, expected, message) => method(actual, expected, message))
    const members = {
      AssertionError,
      deepEqual: alias('deepEqual', deepStrictEqual),
      deepStrictEqual, doesNotMatch, doesNotReject, doesNotThrow,
      equal: alias('equal', strictEqual),
      fail, ifError, match,
      notDeepEqual: alias('notDeepEqual', notDeepStrictEqual),
      notDeepStrictEqual,
      notEqual: alias('notEqual', notStrictEqual),
      notStrictEqual,
      ok: assert,
      partialDeepStrictEqual, rejects,
    }
    const strict = named('strict', function (actual, message) {
      if (arguments.length === 0) fail_(NO_VALUE, {}, strict)
      if (!actual) fail_(message, { actual, expected: true, operator: '==' }, strict)
    })
    Object.assign(strict, members, { strict, strictEqual, throws })
    Object.assign(strict, {
      equal: strictEqual, deepEqual: deepStrictEqual, notEqual: notStrictEqual, notDeepEqual: notDeepStrictEqual,
    })
    return Object.assign(assert, members, { strict, strictEqual, throws })
  }
  let made
  const load = () => {
    made ??= make()
    return { ...made, default: made }
  }
  realm.lazyModule('assert', load)
  realm.lazyModule('assert/strict', load)
}
