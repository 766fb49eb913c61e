// node:stream: readable-stream on this platform's events, buffers and errors.
import { setRealm } from './package/platform.js'
import { adapt } from './adapt.js'

export default function install(realm) {
  const make = () => {
    setRealm(realm)
    // Not `import`: nothing of the package is evaluated before a program imports it.
    const Stream = require('readable-stream/lib/stream.js')
    adapt(realm, Stream)
    return Stream
  }
  let made
  const all = () => (made ??= make())

  const statics = (Class) => {
    const { _fromList, ...exported } = Class
    return { [Class.name]: Class, ...exported, default: Class }
  }

  realm.lazyModule('stream', () => ({ ...all(), default: all() }))
  realm.lazyModule('stream/promises', () => {
    const { promises } = all()
    return { ...promises, promises, default: promises }
  })
  for (const name of ['Duplex', 'PassThrough', 'Readable', 'Transform', 'Writable']) {
    realm.lazyModule('_stream_' + name.toLowerCase(), () => statics(all()[name]))
  }
}
