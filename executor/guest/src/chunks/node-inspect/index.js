// util.inspect, util.format and util.types, for every chunk that shows values.
import { createInspect } from './inspect.js'
import { types, watchProxies } from './types.js'

export default function install(realm) {
  // The classes of the platform, before the program defines its own.
  const builtins = new Set(Object.getOwnPropertyNames(realm.global).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)))
  watchProxies(realm)
  return { ...createInspect(realm.exports['node-errors'], builtins), types }
}
