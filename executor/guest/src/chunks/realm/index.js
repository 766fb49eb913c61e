// What the other chunks are given: pieces of the platform that are evaluated before the program, if it names them. None of it
// is ever in a guest's hands. The primordials are taken once more, by chunks as early as by the harness: before the program.
import * as primordials from '../../harness/primordials.js'
import { ErrorCtor, defineProperty, jsonParse, jsonStringify, viewLength } from '../../harness/primordials.js'
import { createHostCall } from './host-call.js'

const MAX_RANDOM_PIECE = 65536

const define = (name, value, enumerable) => {
  defineProperty(globalThis, name, { __proto__: null, value, writable: true, enumerable, configurable: true })
}

// Runs an operation of the worker and answers `{ value, bytes }`. What the worker refuses is thrown as an Error whose
// `hostName` is the name that it should have.
const createCall = (hostCall) => (name, params, buffers = []) => {
  // Name and sizes are put into the text by hand: what a program may have given to Array.prototype is not for them. What it
  // does to `params` is between it and the operation.
  let sizes = ''
  for (let i = 0; i < buffers.length; i++) sizes += (i > 0 ? ',' : '') + viewLength(buffers[i])
  const request = '{"name":' + jsonStringify(name) + ',"sizes":[' + sizes + '],"params":' + (jsonStringify(params) ?? 'null') + '}'
  const { text, bytes } = hostCall(request, buffers)
  const answer = jsonParse(text)
  if (answer.error === undefined) return { __proto__: null, value: answer.value, bytes }
  const error = new ErrorCtor(answer.error.message)
  error.hostName = answer.error.name
  throw error
}

const createRandomFill = (call) => (view) => {
  const length = viewLength(view)
  const { viewBuffer, viewOffset, setBytes, Uint8ArrayCtor } = primordials
  for (let from = 0; from < length; from += MAX_RANDOM_PIECE) {
    const count = length - from < MAX_RANDOM_PIECE ? length - from : MAX_RANDOM_PIECE
    const { bytes } = call('random', { __proto__: null, count })
    setBytes(new Uint8ArrayCtor(viewBuffer(view), viewOffset(view) + from, count), bytes, 0)
  }
}

// `host` is what the harness lends: see `configure` there.
export default function install({ channel, log, timers, env, outbound, end, describe, refuseClone }) {
  primordials.takeLate()
  const call = createCall(createHostCall(channel))
  const modules = { __proto__: null }
  return {
    __proto__: null,
    global: globalThis,
    define: (name, value) => define(name, value, false),
    defineEnumerable: (name, value) => define(name, value, true),
    primordials,
    exports: { __proto__: null },
    env,
    // Ends the run: it fails with this error. Whatever the program does from here on has no effect.
    end,
    // undefined: the network is blocked. Else a function of { method, url, headers, body, redirect } that answers
    // { promise, cancel }; the promise is of { status, statusText, headers, body, url, redirected }.
    outbound,
    findModule: (name) => modules[name]?.(),
    module: (name, exports) => void (modules[name] = () => exports),
    lazyModule: (name, make) => {
      let made
      modules[name] = () => (made ??= make())
    },
    uncloneable: refuseClone,
    hostCall: call,
    randomFill: createRandomFill(call),
    log,
    setTimer: timers.set,
    clearTimer: timers.clear,
    describe,
  }
}
