// ReadableStream and its readers, and what the other chunks that read, write or look like workerd build on.
import { ByteController, fillWith } from './byte-controller.js'
import { DefaultController, LOCKED, Readable, Reader } from './readable.js'
import { createReadableClasses } from './readable-api.js'
import { readAll } from './read-all.js'
import { readStrategy } from './strategy.js'
import { tee } from './tee.js'

export default function install(realm) {
  const { native, bytes, utf8 } = realm.exports.native
  // A program that has no class of signals has none.
  const isSignal = (value) => realm.exports.abort?.isSignal(value) ?? false
  const { stream, classes, setTargets } = createReadableClasses(native, isSignal)
  for (const { Class } of classes) realm.define(Class.name, Class)
  return {
    native,
    bytes,
    utf8,
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
