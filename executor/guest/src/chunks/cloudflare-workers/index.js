// cloudflare:workers, as far as it means something where there are no Workers: the bindings of the program.

export default function install(realm) {
  realm.lazyModule('cloudflare:workers', () => make(realm))
}

const make = ({ env, primordials }) => {
  const { ProxyCtor, TypeErrorCtor } = primordials
  const { get, has, ownKeys, getOwnPropertyDescriptor } = Reflect
  let current = env()

  // What it shows changes with `withEnv`, so nothing that the proxy answers may be said to be fixed.
  const shown = new ProxyCtor({}, {
    __proto__: null,
    get: (_, key) => get(current, key),
    has: (_, key) => has(current, key),
    ownKeys: () => ownKeys(current),
    getOwnPropertyDescriptor: (_, key) => {
      const found = getOwnPropertyDescriptor(current, key)
      return found && { __proto__: null, value: current[key], writable: true, enumerable: found.enumerable, configurable: true }
    },
    set: (_, key, value) => {
      current[key] = value
      return true
    },
    deleteProperty: (_, key) => delete current[key],
  })

  const withEnv = (newEnv, callback) => {
    if (newEnv === null || typeof newEnv !== 'object') throw new TypeErrorCtor('withEnv() takes an object')
    const outer = current
    current = newEnv
    try {
      return callback()
    } finally {
      current = outer
    }
  }

  // Every run waits for the calls that it has made; there is nothing more to wait for.
  const waitUntil = (promise) => void promise

  return { RpcTarget: class RpcTarget {}, env: shown, waitUntil, withEnv }
}
