// WebAssembly as a Worker without the right to compile sees it: the names are there, and what would need code is refused.
// V8's own is taken away by the harness.
import { isWellFormed } from './frame.js'

const { defineProperty } = Reflect

const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true })

const errorClass = (name) => {
  const ErrorClass = function (message, options) {
    return Reflect.construct(Error, [message, options].slice(0, arguments.length), new.target ?? ErrorClass)
  }
  defineProperty(ErrorClass, 'name', { __proto__: null, value: name, configurable: true })
  defineProperty(ErrorClass, 'length', { __proto__: null, value: 1, configurable: true })
  ErrorClass.prototype = Object.create(Error.prototype, {
    constructor: hidden(ErrorClass),
    name: hidden(name),
    message: hidden(''),
  })
  Object.setPrototypeOf(ErrorClass, Error)
  return ErrorClass
}

const CompileError = errorClass('CompileError')

const refuse = (method) => new CompileError(`WebAssembly.${method}(): Wasm code generation disallowed by embedder`)
const bad = (method, what) => new TypeError(`WebAssembly.${method}(): ${what}`)

export default function install(realm) {
  const { byteLengthOfBuffer, isView, typedArrayTag, viewBuffer, viewLength, viewOffset } = realm.primordials

  // No DataView: V8 does not take one.
  const bytesOf = (source) => {
    if (isView(source) && typedArrayTag(source) !== undefined) {
      return new Uint8Array(viewBuffer(source), viewOffset(source), viewLength(source))
    }
    return byteLengthOfBuffer(source) === undefined ? undefined : new Uint8Array(source)
  }

  // A constructor that makes nothing: `fail` says why.
  const classOf = (name, fail) => {
    const holder = {
      [name]: function (_argument) {
        if (new.target === undefined) throw bad(name, `WebAssembly.${name} must be invoked with 'new'`)
        throw fail()
      },
    }
    const Class = holder[name]
    const tag = { __proto__: null, value: `WebAssembly.${name}`, configurable: true }
    defineProperty(Class.prototype, Symbol.toStringTag, tag)
    return Class
  }
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'
  const needsCode = (name) => () => refuse(name)

  const methods = {
    async compile(_source) {
      throw refuse('compile')
    },
    validate(source) {
      const bytes = bytesOf(source)
      if (bytes === undefined) throw bad('validate', 'Argument 0 must be a buffer source')
      return isWellFormed(bytes)
    },
    async instantiate(source, ...[imports]) {
      if (!isObject(source)) throw bad('instantiate', 'Argument 0 must be a buffer source or a WebAssembly.Module object')
      if (imports !== undefined && !isObject(imports)) throw bad('instantiate', 'Argument 1 must be an object')
      if (bytesOf(source) === undefined) throw bad('instantiate', 'Argument 0 must be a buffer source')
      throw refuse('instantiate')
    },
    promising(callback) {
      if (typeof callback !== 'function') throw bad('promising', 'Argument 0 must be a function')
      throw bad('promising', 'Argument 0 must be a WebAssembly exported function')
    },
  }
  const classes = {
    Module: classOf('Module', needsCode('Module')),
    Instance: classOf('Instance', () => bad('Instance', 'Argument 0 must be a WebAssembly.Module')),
    Table: classOf('Table', needsCode('Table')),
    Memory: classOf('Memory', needsCode('Memory')),
    Global: classOf('Global', needsCode('Global')),
    Tag: classOf('Tag', needsCode('Tag')),
    Exception: classOf('Exception', () => bad('Exception', 'Argument 0 must be a WebAssembly tag')),
    CompileError,
    LinkError: errorClass('LinkError'),
    RuntimeError: errorClass('RuntimeError'),
    Suspending: classOf('Suspending', needsCode('Suspending')),
    SuspendError: errorClass('SuspendError'),
  }
  const noModule = {
    imports(_module) { throw bad('Module.imports', 'Argument 0 must be a WebAssembly.Module') },
    exports(_module) { throw bad('Module.exports', 'Argument 0 must be a WebAssembly.Module') },
    customSections(_module) { throw bad('Module.customSections', 'Argument 0 must be a WebAssembly.Module') },
  }
  Object.assign(classes.Module, noModule)
  const WebAssembly = {}
  for (const name in methods) WebAssembly[name] = methods[name]
  for (const name in classes) defineProperty(WebAssembly, name, hidden(classes[name]))
  defineProperty(WebAssembly, Symbol.toStringTag, { __proto__: null, value: 'WebAssembly', configurable: true })
  realm.define('WebAssembly', WebAssembly)
}
