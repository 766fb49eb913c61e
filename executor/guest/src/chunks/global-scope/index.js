// What a program can learn of the global object itself.
import { publish, readOnly } from '../shape.js'
import { FLAGS } from './flags.js'

const { defineProperty, getPrototypeOf, setPrototypeOf } = Reflect

// In workerd, the global object is no instance of it.
class WorkerGlobalScopeInner {}
class ServiceWorkerGlobalScopeInner {}
class CloudflareInner {
  constructor() {
    const flags = { __proto__: null }
    for (const flag of FLAGS.split(' ')) {
      if (flag.startsWith('-')) flags[flag.slice(1)] = false
      else flags[flag] = true
    }
    defineProperty(this, 'compatibilityFlags', readOnly(Object.freeze(flags)))
  }
}

export default function install(realm) {
  const { global } = realm
  const none = { constructible: false }
  const cloudflare = new CloudflareInner()
  publish(CloudflareInner, 'Cloudflare', none)
  realm.define('WorkerGlobalScope', publish(WorkerGlobalScopeInner, 'WorkerGlobalScope', none))
  realm.define('ServiceWorkerGlobalScope', publish(ServiceWorkerGlobalScopeInner, 'ServiceWorkerGlobalScope', none))
  realm.defineEnumerable('Cloudflare', cloudflare)
  defineProperty(global, 'origin', readOnly('null'))
  setPrototypeOf(ServiceWorkerGlobalScopeInner.prototype, getPrototypeOf(global))
  setPrototypeOf(global, ServiceWorkerGlobalScopeInner.prototype)
}
