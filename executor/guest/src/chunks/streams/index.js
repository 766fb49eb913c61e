// Streams that are written to, and those that transform.
import { createByteTransform } from './byte-transform.js'
import { createIdentityClasses } from './identity-api.js'
import { pipe } from './pipe.js'
import { createStrategies } from './strategies.js'
import { createTransform } from './transform.js'
import { createTransformClasses } from './transform-api.js'
import { createWritableClasses } from './writable-api.js'

export default function install(realm) {
  const readables = realm.exports['readable-streams']
  const { AbortController } = realm.global
  const writables = createWritableClasses(readables, AbortController)
  readables.setTargets({
    has: writables.stream.has,
    of: writables.stream.of,
    pipe: (source, target, options, message) => pipe(readables.Reader, source, target, options, message),
  })
  const transforms = createTransformClasses(readables, writables.stream)
  const byteTransform = createByteTransform(readables)
  const all = [
    ...writables.classes, ...transforms.classes, ...createIdentityClasses(readables, transforms, byteTransform),
    ...createStrategies(readables.native),
  ]
  for (const { Class } of all) realm.define(Class.name, Class)
  return {
    ...readables,
    writable: writables.stream,
    transform: transforms.stream,
    ends: transforms.ends,
    createTransform: createTransform(readables),
    createByteTransform: byteTransform,
  }
}
