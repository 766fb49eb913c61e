// caches: the cache is a service of Cloudflare's, and upstream's programs have none either. It says so.
export default function install(realm) {
  const { createInterface } = realm.exports['readable-streams'].native
  const { toRequest, response } = realm.exports.fetch

  const notImplemented = (owner, method) => {
    throw new Error(`Failed to execute '${method}' on '${owner}': the method is not implemented.`)
  }
  const none = () => {
    throw new Error('No Cache was configured')
  }
  const REQUEST = ['Request or string']
  const methodOf = (input, bad) => toRequest([input], bad).method

  const refusing = (owner, methods) =>
    Object.fromEntries(methods.map((method) => [method, () => notImplemented(owner, method)]))

  const cache = createInterface('Cache', {
    methods: refusing('Cache', ['add', 'addAll', 'matchAll', 'keys']),
    promises: {
      delete: (state, [input], self, bad) => (methodOf(input, bad) === 'GET' ? none() : false),
      match: (state, [input], self, bad) => (methodOf(input, bad) === 'GET' ? none() : undefined),
      put(state, [input, answer], self, bad) {
        const method = methodOf(input, bad)
        if (!response.has(answer)) throw bad(2, 'Response')
        if (method !== 'GET') throw new TypeError('Cannot cache response to non-GET request.')
        if (response.of(answer).status === 206) {
          throw new TypeError('Cannot cache response to a range request (206 Partial Content).')
        }
        none()
      },
    },
    required: { delete: REQUEST, match: REQUEST, put: [...REQUEST, 'Response'] },
  })

  const storage = createInterface('CacheStorage', {
    methods: refusing('CacheStorage', ['delete', 'match', 'has', 'keys']),
    promises: { open: () => cache.make(undefined) },
    required: { open: ['string'] },
  })

  const caches = storage.make(undefined)
  Object.defineProperty(caches, 'default', {
    __proto__: null, value: cache.make(undefined), writable: false, enumerable: true, configurable: true,
  })
  realm.define('Cache', cache.Class)
  realm.define('CacheStorage', storage.Class)
  realm.defineEnumerable('caches', caches)
}
