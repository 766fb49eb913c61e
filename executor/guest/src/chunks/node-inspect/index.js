// util.inspect, util.format and util.types, for every chunk that shows values.
import { createInspect } from './inspect.js'
import { types, watchProxies } from './types.js'

export default function install(realm) {
  // The classes of the platform. Looked for at first use: chunks that come later bring more.
  let names
  // What a module brings without a global.
  const platformClasses = new Set()
  const builtins = {
    has(name) {
      names ??= new Set(Object.getOwnPropertyNames(realm.global).filter((one) => /^[A-Z][a-zA-Z0-9]+$/.test(one)))
      return names.has(name) || platformClasses.has(name)
    },
  }
  watchProxies(realm)
  const errors = realm.exports['node-errors']
  const made = createInspect(errors, builtins)
  errors.setInspect((value) => made.inspect(value))
  return { ...made, platformClasses, types }
}
