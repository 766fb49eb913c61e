// Streams. The other chunks that read and write use what `install` returns.
import { fillWith } from './byte-controller.js'
import { createByteTransform } from './byte-transform.js'
import * as bytes from './bytes.js'
import { createIdentityClasses } from './identity-api.js'
import * as native from './native.js'
import { LOCKED, Readable, Reader } from './readable.js'
import { createReadableClasses } from './readable-api.js'
import { readAll } from './read-all.js'
import { strategies } from './strategies.js'
import { tee } from './tee.js'
import { Transform } from './transform.js'
import { createTransformClasses } from './transform-api.js'
import * as utf8 from './utf8.js'
import { createWritableClasses } from './writable-api.js'

export default function install(realm) {
  const { AbortController, AbortSignal } = realm.global
  const isSignal = (value) => value instanceof AbortSignal
  const readables = createReadableClasses(isSignal)
  const writables = createWritableClasses(AbortController)
  readables.setWritable(writables.stream)
  const transforms = createTransformClasses(readables.stream, writables.stream)
  const all = [
    ...readables.classes, ...writables.classes, ...transforms.classes, ...createIdentityClasses(transforms), ...strategies,
  ]
  for (const { Class } of all) realm.define(Class.name, Class)
  return {
    native,
    bytes,
    utf8,
    isSignal,
    readable: readables.stream,
    writable: writables.stream,
    transform: transforms.stream,
    ends: transforms.ends,
    Transform,
    createByteTransform,
    // A stream of the program's that gives `bytes`.
    fromBytes: (content) => fillWith(new Readable(), content),
    readAll,
    tee,
    Reader,
    LOCKED,
  }
}
