// node:util. What upstream's throws for as not implemented, ours does too, with its text.
import { createMime } from './mime.js'

const customPromisify = Symbol.for('nodejs.util.promisify.custom')

export default function install(realm) {
  const make = () => {
    const { inspect, format, formatWithOptions, platformClasses, stripAnsi, types: tests } = realm.exports['node-inspect']
    const { isDeepStrictEqual } = realm.exports['node-compare']
    const {
      errorClass, invalidArgType, invalidArgValue, named, validateAbortSignal, validateFunction, validateString,
    } = realm.exports['node-errors']
    const { console } = realm.global

    const types = {}
    for (const name of Object.keys(tests)) {
      const needsValue = !/^is(?:CryptoKey|KeyObject)$/.test(name)
      const test = tests[name]
      types[name] = named(name, needsValue ? (...args) => {
        if (args.length > 0) return test(args[0])
        throw new TypeError("Failed to execute '" + name + "' on 'UtilModule': parameter 1 is not of type 'JsValue'.")
      } : (value) => test(value))
    }

    const FalsyRejection = errorClass('ERR_FALSY_VALUE_REJECTION')
    function callbackify(original) {
      validateFunction(original, 'original')
      function callbackified(...args) {
        const callback = args.pop()
        validateFunction(callback, 'last argument')
        Reflect.apply(original, this, args).then(
          (value) => realm.setTimer(() => callback.call(this, null, value), 0),
          (reason) => {
            let error = reason
            if (!reason) {
              error = new FalsyRejection('Promise was rejected with falsy value')
              error.reason = reason
            }
            realm.setTimer(() => callback.call(this, error), 0)
          },
        )
      }
      const descriptors = Object.getOwnPropertyDescriptors(original)
      if (typeof descriptors.length.value === 'number') descriptors.length.value += 1
      if (typeof descriptors.name.value === 'string') descriptors.name.value += 'Callbackified'
      delete descriptors.prototype
      Object.defineProperties(callbackified, descriptors)
      return callbackified
    }

    function promisify(original) {
      validateFunction(original, 'original')
      const own = original[customPromisify]
      if (own) {
        validateFunction(own, 'util.promisify.custom')
        return Object.defineProperty(own, customPromisify, { value: own, enumerable: false, writable: false, configurable: true })
      }
      function promisified(...args) {
        return new Promise((resolve, reject) => {
          Reflect.apply(original, this, [...args, (error, value) => (error ? reject(error) : resolve(value))])
        })
      }
      Object.setPrototypeOf(promisified, Object.getPrototypeOf(original))
      Object.defineProperty(promisified, customPromisify, {
        value: promisified, enumerable: false, writable: false, configurable: true,
      })
      const descriptors = Object.getOwnPropertyDescriptors(original)
      delete descriptors.prototype
      return Object.defineProperties(promisified, descriptors)
    }
    promisify.custom = customPromisify

    const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
    const timestamp = () => {
      const date = new Date()
      const two = (value) => String(value).padStart(2, '0')
      const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
      return date.getDate() + ' ' + MONTHS[date.getMonth()] + ' ' + time
    }

    function inherits(ctor, superCtor) {
      if (ctor === undefined || ctor === null) throw invalidArgType('ctor', 'function', ctor)
      if (superCtor === undefined || superCtor === null) throw invalidArgType('superCtor', 'function', superCtor)
      if (superCtor.prototype === undefined) throw invalidArgType('superCtor.prototype', 'object', superCtor.prototype)
      Object.defineProperty(ctor, 'super_', { value: superCtor, writable: true, configurable: true })
      Object.setPrototypeOf(ctor.prototype, superCtor.prototype)
    }

    function debuglog(set, callback) {
      const logger = (...args) => console.error(`${set}`.toUpperCase() + ': ' + format(...args) + '\n')
      return Object.defineProperty(logger, 'enabled', { get: () => true, enumerable: true, configurable: true })
    }

    function styleText(styles, text, { validateStream = true } = {}) {
      validateString(text, 'text')
      let open = ''
      let close = ''
      for (const style of Array.isArray(styles) ? styles : [styles]) {
        const codes = inspect.colors[style]
        if (codes === undefined || typeof style !== 'string') {
          const known = Object.keys(inspect.colors).map((key) => "'" + key + "'").join(', ')
          throw invalidArgValue('format', style, 'must be one of: ' + known)
        }
        open += '\u001b[' + codes[0] + 'm'
        close = '\u001b[' + codes[1] + 'm' + close
      }
      // There is no terminal to colour.
      return validateStream ? text : open + text + close
    }

    async function aborted(signal, resource) {
      if (signal === undefined) throw invalidArgType('signal', 'AbortSignal', signal)
      validateAbortSignal(signal, 'signal')
      if (resource === null || typeof resource !== 'object') throw invalidArgType('resource', 'object', resource)
      if (signal.aborted) return
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    }

    function parseEnv(content) {
      validateString(content, 'content')
      const env = {}
      const LINE = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*("(?:[^"])*"|'(?:[^'])*'|`(?:[^`])*`|[^\n#]*)?[^\n]*$/gm
      for (const [, key, raw = ''] of content.replace(/\r\n?/g, '\n').matchAll(LINE)) {
        let value = raw.trim()
        const mark = value[0]
        if (value.length > 1 && /["'`]/.test(mark) && value.endsWith(mark)) {
          value = value.slice(1, -1)
          if (mark === '"') value = value.replace(/\\n/g, '\n')
        }
        env[key] = value
      }
      return env
    }

    const missing = (name) => named(name, () => {
      throw new Error('node:util ' + name + ' is not implemented')
    })
    const MethodMissing = errorClass('ERR_METHOD_NOT_IMPLEMENTED')
    const absent = (name) => named(name, () => {
      throw new MethodMissing('The ' + name + ' method is not implemented')
    })

    const FRAME = /^\s*at (?:(.*?) \()?(.*?):(\d+):(\d+)\)?$/
    function getCallSites(frameCount) {
      const count = frameCount === undefined ? 200 : Math.trunc(+frameCount)
      if (!(count >= 1 && count <= 200)) throw new Error('Frame count should be between 1 and 200 inclusive.')
      const holder = {}
      Error.captureStackTrace(holder, getCallSites)
      const sites = []
      for (const line of String(holder.stack).split('\n')) {
        const match = FRAME.exec(line)
        if (match === null || match[2].startsWith('platform:')) continue
        const [, functionName = '', scriptName, lineNumber, column] = match
        sites.push({ functionName, scriptName, lineNumber: +lineNumber, columnNumber: +column, column: +column })
      }
      // As upstream, from the caller's caller on.
      return sites.slice(1, count + 1)
    }
    Object.defineProperty(getCallSites, 'length', { value: 0 })

    const { TextEncoder, TextDecoder } = realm.global
    const { MIMEType, MIMEParams } = createMime()
    platformClasses.add('MIMEType').add('MIMEParams')
    return {
      types, callbackify, promisify, inspect, format, formatWithOptions,
      stripVTControlCharacters(str) {
        validateString(str, 'str')
        return stripAnsi(str)
      },
      inherits,
      _extend(target, source) { return source === null || typeof source !== 'object' ? target : Object.assign(target, source) },
      MIMEParams, MIMEType,
      toUSVString(input) { return input.toWellFormed() },
      log(...args) { console.log('%s - %s', timestamp(), format(...args)) },
      aborted,
      debuglog,
      debug: debuglog,
      deprecate(fn, message, code, options) { return fn },
      getSystemErrorMap: missing('getSystemErrorMap'),
      getSystemErrorMessage: missing('getSystemErrorMessage'),
      getSystemErrorName: missing('getSystemErrorName'),
      TextEncoder, TextDecoder,
      parseArgs: missing('parseArgs'),
      parseEnv, styleText,
      transferableAbortController: missing('transferableAbortController'),
      transferableAbortSignal: missing('transferableAbortSignal'),
      getCallSite: named('getCallSites', (...args) => getCallSites(...args)),
      getCallSites,
      isDeepStrictEqual(value1, value2) { return isDeepStrictEqual(value1, value2) },
      _errnoException: absent('_errnoException'),
      _exceptionWithHostPort: absent('_exceptionWithHostPort'),
      isArray: Array.isArray,
      isBoolean(value) { return typeof value === 'boolean' },
      isBuffer(value) { return typeof Buffer === 'function' && Buffer.isBuffer(value) },
      isDate(value) { return tests.isDate(value) },
      isError(value) { return tests.isNativeError(value) || value instanceof Error },
      isFunction(value) { return typeof value === 'function' },
      isNull(value) { return value === null },
      isNullOrUndefined(value) { return value === undefined || value === null },
      isNumber(value) { return typeof value === 'number' },
      isObject(value) { return value !== null && typeof value === 'object' },
      isPrimitive(value) { return value === null || (typeof value !== 'object' && typeof value !== 'function') },
      isRegExp(value) { return tests.isRegExp(value) },
      isString(value) { return typeof value === 'string' },
      isSymbol(value) { return typeof value === 'symbol' },
      isUndefined(value) { return value === undefined },
    }
  }
  let made
  const util = () => (made ??= make())
  realm.lazyModule('util', util)
  realm.lazyModule('sys', util)
  realm.lazyModule('util/types', () => util().types)
}
