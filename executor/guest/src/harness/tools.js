// Provider namespaces and the calls that leave through them.
import { CALL, CANCEL_CALL, isClosed, send } from './channel.js'
import { encodeArguments } from './codec.js'
import { limits } from './limits.js'
import { ARGUMENT, encodeResult } from './result.js'
import { createServices } from './services.js'
import {
  ErrorCtor, PromiseCtor, ProxyCtor, StringOf, defineProperty, errorClasses, hasOwn, safeMap, stringSlice, toWellFormed,
} from './primordials.js'

const MAX_NAME = 256

// The name under which the host knows the functions of `this.env`; no provider can have it.
const ENV = 'this.env'
const OUTBOUND = 'this.outbound'

const encodeClone = (value) => {
  const { form, text } = encodeResult(value, ARGUMENT)
  return form + text
}
const encodeFirst = (args) => encodeClone(args[0])
const encodeAll = (args) => encodeClone(args)
// A member that is asked for, and not called.
const encodeNone = () => '0'

// How a connector says that its host has stopped the run, or that a call failed.
const CONTROL = '__codemode_control__'

const refuseControl = (answer) => {
  if (typeof answer !== 'object' || answer === null || !hasOwn(answer, CONTROL)) return
  if (answer[CONTROL] === 'pause') throw new ErrorCtor('__CODEMODE_PAUSE__')
  if (answer[CONTROL] === 'error') throw new ErrorCtor(StringOf(answer.message))
}

export const createTools = () => {
  let decodeClone
  const pending = safeMap()
  let nextId = 0
  let inFlight = 0
  // Calls beyond the in-flight bound wait here, in the guest's own heap.
  let first = null
  let last = null

  const launch = (call) => {
    inFlight += 1
    pending.set(call.id, call)
    send(CALL + ',' + call.id + ',' + call.provider.length + ',' + call.tool.length + ',' + call.args.length,
      call.provider + call.tool + call.args)
    call.args = '' // sent; it may be large
  }

  const start = (provider, tool, args, encode, resolve, reject) => {
    if (tool.length > MAX_NAME) throw new ErrorCtor('Tool "' + stringSlice(tool, 0, 64) + '…" not found')
    const text = encode(args)
    // UTF-16 units are a lower bound of the bytes; the worker and the host measure exactly.
    if (text.length > limits.argumentBytes) {
      throw new ErrorCtor('The arguments of ' + provider + '.' + tool + ' are ' + text.length +
        ' characters long; the limit is ' + limits.argumentBytes + ' bytes (Limits.argument_bytes)')
    }
    const call = { id: nextId++, provider, tool: toWellFormed(tool), args: text, clone: encode !== encodeArguments, resolve, reject, cancelled: false, next: null }
    if (inFlight < limits.callsInFlight) {
      launch(call)
    } else {
      if (last === null) first = call
      else last.next = call
      last = call
    }
    return call
  }

  // The oldest call that waits and is still wanted.
  const launchNext = () => {
    while (first !== null) {
      const next = first
      first = next.next
      if (first === null) last = null
      next.next = null
      if (!next.cancelled) return launch(next)
    }
  }

  const settle = (id) => {
    const call = pending.get(id)
    if (call === undefined) return undefined
    pending.delete(id)
    inFlight -= 1
    if (first !== null) {
      launchNext()
    }
    return call
  }

  const makeTool = (provider, tool, encode) => (...args) =>
    new PromiseCtor((resolve, reject) => {
      if (isClosed()) return
      try {
        start(provider, tool, args, encode, resolve, reject)
      } catch (error) {
        reject(error)
      }
    })

  // As upstream's: any string property is a tool, properties that the program assigned come first. `then` is a tool
  // only if declared, because a namespace that looks like a thenable hangs whoever awaits it.
  const namespace = (name, hasThen) => {
    const target = {}
    const handler = {
      __proto__: null,
      get: (object, key) => {
        if (hasOwn(object, key)) return object[key]
        if (typeof key !== 'string' || (key === 'then' && !hasThen)) return undefined
        return makeTool(name, key, encodeArguments)
      },
    }
    return new ProxyCtor(target, handler)
  }

  // As upstream's: only the first argument goes along, and nothing comes before the connector's methods.
  const connector = (name) =>
    new ProxyCtor({}, {
      __proto__: null,
      get: (_, key) => (typeof key === 'string' && key !== 'then' ? makeTool(name, key, encodeFirst) : undefined),
    })

  // What makes requests that leave through the host. `cancel` is for one whose answer nobody wants any more.
  const requester = (provider, tool, encode) => (request) => {
    let call
    const promise = new PromiseCtor((resolve, reject) => {
      call = start(provider, tool, [request], encode, resolve, reject)
    })
    const cancel = () => {
      if (pending.get(call.id) === undefined) call.cancelled = true
      else {
        settle(call.id)
        send(CANCEL_CALL + ',' + call.id, '')
      }
    }
    return { __proto__: null, promise, cancel }
  }

  const outbound = requester(OUTBOUND, 'fetch', encodeFirst)

  const envFunction = (path) => makeTool(ENV, path, encodeAll)

  const services = createServices({
    call: (path, args) => makeTool(ENV, path, encodeAll)(...args),
    ask: (path) => makeTool(ENV, path, encodeNone)(),
    request: (path) => requester(ENV, path, encodeAll),
  })

  // What the host's function threw: for one of `this.env` an error of the class that its name says, as Workers RPC has it.
  // What has a name of its own otherwise comes from the host's code and not from its executor.
  const failure = (item, isRemote) => {
    const Class = (isRemote && errorClasses[item.name]) || ErrorCtor
    const error = new Class(item.message)
    if (isRemote) error.remote = true
    const extra = ['name', 'code', 'details', 'cause']
    for (let i = 0; i < extra.length; i++) {
      const key = extra[i]
      if (!hasOwn(item, key) || (isRemote && key === 'name' && error.name === item.name)) continue
      defineProperty(error, key, { __proto__: null, value: item[key], writable: true, enumerable: key === 'code' || key === 'details', configurable: true })
    }
    return error
  }

  return {
    __proto__: null,
    namespace,
    connector,
    envFunction,
    envService: services.service,
    outbound,
    decodeClones: (decode) => void (decodeClone = decode),
    decodeClone: (text) => decodeClone(text),
    succeed: (id, value) => {
      const call = settle(id)
      if (call === undefined) return
      if (!call.clone) return call.resolve(value)
      let answer
      try {
        answer = decodeClone(value, call.provider === ENV ? services.answered : undefined)
        if (call.provider !== ENV && call.provider !== OUTBOUND) refuseControl(answer)
      } catch (error) {
        return call.reject(error)
      }
      call.resolve(answer)
    },
    fail: (id, item) => {
      const call = settle(id)
      call?.reject(failure(item, call.provider === ENV))
    },
  }
}
