// ReadableStream and its readers, and what the other chunks that read, write or look like workerd build on.
import { ByteController, fillWith } from './byte-controller.js'
import * as bytes from './bytes.js'
import * as native from './native.js'
import { DefaultController, LOCKED, Readable, Reader } from './readable.js'
import { createReadableClasses } from './readable-api.js'
import { readAll } from './read-all.js'
import { readStrategy } from './strategy.js'
import { tee } from './tee.js'
import * as utf8 from './utf8.js'

export default function install(realm) {
  const { AbortSignal } = realm.global
  const isSignal = (value) => value instanceof AbortSignal
  const { stream, classes, setTargets } = createReadableClasses(isSignal)
  for (const { Class } of classes) realm.define(Class.name, Class)
  return {
    native,
    bytes,
    utf8,
    isSignal,
    readable: stream,
    setTargets,
    readStrategy,
    Readable,
    Reader,
    DefaultController,
    ByteController,
    LOCKED,
    // A stream that gives `content`.
    fromBytes: (content) => fillWith(new Readable(), content),
    readAll,
    tee,
  }
}
