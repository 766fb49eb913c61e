// Services of the host in `this.env`, used as Workers RPC has it: any name is a member, which is called, or awaited without a
// call; what a call will answer can be used before it has; and what it answers may hold functions and objects of the host.
import { refuseClone } from './result.js'
import {
  ProxyCtor, TypeErrorCtor, defineProperty, isPrototypeName, objectPrototype, setPrototypeOf, toStringTag,
} from './primordials.js'

// The service under which the host knows what its services have answered with.
const ANSWERED = '#'

const hidden = (target, key, value) => defineProperty(target, key, { __proto__: null, value }) && target

// What a service is an instance of, as far as that has a name.
const Fetcher = hidden(() => {
  throw new TypeErrorCtor('Illegal constructor')
}, 'name', 'Fetcher')

// What the language looks for is no member.
const isMember = (key) => typeof key === 'string' && key !== 'then' && key !== 'toJSON' && !isPrototypeName(key)

// A function that has nothing of functions but that it can be called.
const bare = (kind) => {
  const target = () => undefined
  delete target.name
  delete target.length
  setPrototypeOf(target, objectPrototype)
  return hidden(target, toStringTag, kind)
}

// `call` has the host call what is at a path, `ask` asks for it; both answer promises. `request` makes requests to it.
export const createServices = ({ call, ask, request }) => {
  // What is not there yet: awaited, called, and used by its members. `value` answers a promise of it, `invoke` calls it.
  const later = (kind, value, invoke) => {
    const own = {
      __proto__: null,
      then: (resolve, reject) => value().then(resolve, reject),
      catch: (reject) => value().then(undefined, reject),
      finally: (action) => value().finally(action),
    }
    const memberOf = (name) =>
      later('JsRpcProperty', () => value().then((it) => it[name]), (args) => value().then((it) => it[name](...args)))
    return new ProxyCtor(bare(kind), {
      __proto__: null,
      get: (target, name) => own[name] ?? (isMember(name) ? memberOf(name) : target[name]),
      apply: (_, __, args) => answer(invoke(args)),
    })
  }
  const answer = (promise) => later('JsRpcPromise', () => promise, (args) => promise.then((it) => it(...args)))
  const member = (path) => later('JsRpcProperty', () => ask(path), (args) => call(path, args))

  const withMembers = (target, path, apply, own) => {
    const proxy = new ProxyCtor(target, {
      __proto__: null,
      apply,
      get: (object, key) => (isMember(key) && !(key in object) ? (own?.(key) ?? member(path + '.' + key)) : object[key]),
      has: (object, key) => isMember(key) || key in object,
    })
    refuseClone(proxy)
    return proxy
  }

  // `fetchBy` answers what makes a service's `fetch`, which takes and answers what the platform's does, if that is there.
  const service = (path, fetchBy) => {
    const target = hidden(hidden({}, toStringTag, 'Fetcher'), 'constructor', Fetcher)
    return withMembers(target, path, undefined, (key) => (key === 'fetch' ? fetchBy()?.(request(path + '.fetch')) : undefined))
  }

  // A function or an object that a service has answered with. It is there until the run ends.
  const answered = (number) => {
    const path = ANSWERED + '.' + number
    return withMembers(bare('JsRpcStub'), path, (_, __, args) => answer(call(path, args)))
  }

  return { __proto__: null, service, answered }
}
