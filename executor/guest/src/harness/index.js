// The one object of the host's that lives in the guest's isolate. Evaluating the bundle gives `port`, a function that
// the worker holds by a handle and the guest can never name. Its `this` says what is wanted:
//
//   a function   the worker's post: attach it, answer the shared buffer
//   a string     a message to deliver: JSON, see `deliver`
//   null         the oldest long outbound message
import {
  FAILURE, INVOKED, INVOKE_FAILED, RESULT, RETAINED, attach, compile, exchange, finish, flush, isClosed, log, region, send, take,
} from './channel.js'
import { readClonedEnv } from './cloned-env.js'
import { isClonedEnv, parseMessage } from './codec.js'
import { installConsole } from './console.js'
import { describeThrown } from './describe.js'
import { handles } from './handles.js'
import { limits } from './limits.js'
import { ErrorCtor, apply, defineProperty, hasOwn, takeLate } from './primordials.js'
import { installRandom } from './random.js'
import { encodeResult, refuseClone, useExceptions } from './result.js'
import { installTimers } from './timers.js'
import { createTools } from './tools.js'

const OK = 0
const FAILED = 1
const DUE = 2
const END = 3
const CONFIGURE = 4
const INVOKE = 5
const RELEASE = 6

const tools = createTools()
let start

const fail = (kind, { name, message, stack }) => {
  finish(FAILURE + ',' + kind + ',' + name.length + ',' + message.length + ',' + stack.length, name + message + stack)
}

// How a run ends: the numbers of OUTCOME_* in wire/messages.py.
const PROGRAM = 1
const ANSWER = 2
const RESULT_SIZE = 7

const conclude = (value) => {
  let result
  try {
    result = encodeResult(value)
  } catch (error) {
    return fail(ANSWER, describeThrown(error))
  }
  const { form, text } = result
  if (text.length > limits.resultBytes) return fail(RESULT_SIZE, { name: '', message: tooLong(text), stack: '' })
  if (handles.any()) send(RETAINED + ',' + form + ',' + text.length, text)
  else finish(RESULT + ',' + form + ',' + text.length, text)
}

const tooLong = (text) =>
  'the result is ' + text.length + ' characters long; the limit is ' + limits.resultBytes +
  ' bytes (Limits.result_bytes): return less'

// The host calls a function that the program has returned.
const invoke = async ({ id, handle, args }) => {
  let form, text
  try {
    const fn = handles.get(handle)
    if (fn === undefined) throw new ErrorCtor('the handle was disposed')
    const value = await apply(fn, undefined, tools.decodeClone(args))
    ;({ form, text } = encodeResult(value))
    if (text.length > limits.resultBytes) throw new ErrorCtor(tooLong(text))
  } catch (error) {
    const { name, message, stack } = describeThrown(error)
    send(INVOKE_FAILED + ',' + id + ',' + name.length + ',' + message.length + ',' + stack.length, name + message + stack)
    return
  }
  send(INVOKED + ',' + id + ',' + form + ',' + text.length, text)
}

// Awaiting the program's promise may run guest code (a patched constructor or then); whatever that throws is the
// program's own failure.
const run = async (program) => {
  let value
  try {
    value = await apply(program, undefined, [])
  } catch (error) {
    return fail(PROGRAM, describeThrown(error))
  }
  conclude(value)
}

const failedIn = (prelude, error) => {
  const { name, message, stack } = describeThrown(error)
  return { name, message: prelude === undefined ? message : 'the prelude of "' + prelude + '" failed: ' + message, stack }
}

// A prelude waits for something.
const runLater = async (promise, running) => {
  let program
  try {
    program = await promise
  } catch (error) {
    return fail(PROGRAM, failedIn(running(), error))
  }
  run(program)
}

const refuseItem = (item, error) => {
  item.kind = FAILED
  item.message = 'the tool answered with a broken binary value: ' + describeThrown(error).message
}

const define = (name, value) => {
  defineProperty(globalThis, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true })
}

const report = installConsole(globalThis.console)
const timers = installTimers(globalThis, (error) => report(describeThrown(error).message))
const seedRandom = installRandom(Math)
define('self', globalThis)
define('global', globalThis)
compile()
encodeResult([{ ready: 1 }])
parseMessage('[]', refuseItem)

// What has to wait for the isolate: all else was done when this script was evaluated, which is long before where it comes
// out of a snapshot.
const prepare = (post) => {
  takeLate()
  delete globalThis.WebAssembly // it could not compile anything, and is a large part of what can go wrong in V8
  return attach(post)
}

const configure = (config) => {
  seedRandom(config.seed)
  limits.logBytes = config.logBytes
  limits.logLines = config.logLines
  limits.argumentBytes = config.argumentBytes
  limits.resultBytes = config.resultBytes
  limits.callsInFlight = config.callsInFlight
  limits.retain = config.retain
  const spaces = { __proto__: null }
  for (let i = 0; i < config.providers.length; i++) {
    const { name, hasThen, connector } = config.providers[i]
    const value = connector ? tools.connector(name) : tools.namespace(name, hasThen)
    defineProperty(spaces, name, { __proto__: null, value, enumerable: true })
  }
  let realm
  // Chunks may ask for it, so it is there before the last of them is.
  let { env } = config
  const readEnv = () => {
    if (isClonedEnv(env)) env = readClonedEnv(env, realm.exports.clones.decode, tools, () => realm.exports.fetch?.fetchBy)
    return env
  }
  if (config.chunks) {
    const host = {
      __proto__: null,
      channel: { __proto__: null, region, exchange },
      log,
      timers,
      env: readEnv,
      outbound: config.outbound ? tools.outbound : undefined,
      end: (error) => fail(PROGRAM, describeThrown(error)),
      describe: describeThrown,
      refuseClone,
    }
    // The first one makes the realm that the others are given.
    define('__chunk__', (name, install) => {
      if (realm === undefined) realm = install(host)
      else realm.exports[name] = install(realm)
    })
  }
  start = (wrapper, links) => {
    start = undefined
    delete globalThis.__start__
    delete globalThis.__chunk__
    if (realm?.exports.clones !== undefined) tools.decodeClones(realm.exports.clones.decode)
    const exceptions = realm?.exports['dom-exception']
    if (exceptions !== undefined) useExceptions(exceptions.isException)
    const launch = (extra) => {
      let program
      let prelude
      try {
        program = apply(wrapper, { ctx: {}, env: readEnv() }, [spaces, ...extra, (provider) => void (prelude = provider)])
      } catch (error) {
        return fail(PROGRAM, failedIn(prelude, error))
      }
      if (typeof program === 'function') run(program)
      else runLater(program, () => prelude)
    }
    if (links === undefined) launch([])
    else realm.exports.modules.start(links, launch, (error) => fail(PROGRAM, describeThrown(error)))
  }
  define('__start__', (wrapper, links) => start(wrapper, links))
}

const deliver = (text) => {
  const items = parseMessage(text, refuseItem, tools.envFunction)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    switch (item.kind) {
      case OK:
        tools.succeed(item.id, hasOwn(item, 'value') ? item.value : undefined)
        break
      case FAILED:
        tools.fail(item.id, item)
        break
      case DUE:
        timers.fire(item.id)
        break
      case END:
        flush()
        fail(item.code, { name: '', message: item.message, stack: '' })
        break
      case INVOKE:
        invoke(item)
        break
      case RELEASE:
        for (let n = 0; n < item.handles.length; n++) handles.release(item.handles[n])
        break
      case CONFIGURE:
        configure(item)
        break
    }
  }
}

export default function port() {
  if (this === null) return take()
  if (typeof this === 'function') return prepare(this)
  if (!isClosed()) deliver(this)
  return undefined
}
