// ES modules in an engine without a module loader. The reader has made each module a generator and says what it imports
// and exports; here they are found, linked and evaluated, in the order that the language prescribes.
import { createLinker } from './linker.js'

export default function install(realm) {
  const { global } = realm
  const linker = createLinker(realm)
  // Called by the script of each module. It is gone before any of them runs.
  realm.define('__module__', (name, kind, payload, factory) => linker.register(name, kind, payload, factory))
  return {
    __proto__: null,
    requireFrom: linker.requireFrom, // for node:module
    start: (links, launch, fail) => {
      delete global.__module__
      linker.start(links, launch, fail)
    },
  }
}
