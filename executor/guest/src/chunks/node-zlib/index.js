// node:zlib. What compresses is in the worker.
import { createEngine } from './engine.js'
import { createInput } from './input.js'
import { createStreams } from './streams.js'
import { createSync } from './sync.js'
import { makeCodes, makeConstants } from './constants.js'
import * as modes from './modes.js'

export default function install(realm) {
  realm.lazyModule('zlib', () => {
    const { plainError } = realm.exports['node-errors']
    const engine = createEngine(realm)
    const streams = createStreams(realm, engine, modes)
    const { zlib, brotli, functionsOf, checksum } = createSync(realm, engine, createInput(), modes)
    const values = makeConstants()
    // Made so at once: to change what is there already costs milliseconds.
    const constants = {}
    for (const key of Object.keys(values)) {
      Object.defineProperty(constants, key, {
        __proto__: null, value: values[key], writable: false, enumerable: true, configurable: false,
      })
    }
    const members = { crc32: function crc32(data, value = 0) { return checksum(data, value) } }

    const add = (name, className, work, native) => {
      const Made = streams[className]
      const creator = 'create' + className
      members[className] = Made
      members[creator] = { [creator](options) { return new Made(options) } }[creator]
      Object.assign(members, functionsOf(work, name, native, Made))
    }
    for (const [name, className, mode] of modes.ZLIB) add(name, className, zlib(mode), 'zlib')
    for (const [name, className, encode] of modes.BROTLI) add(name, className, brotli(encode), name)
    for (const [name, className] of modes.ZSTD) {
      const refuse = () => { throw plainError('ERR_METHOD_NOT_IMPLEMENTED', `The ${name} method is not implemented`) }
      add(name, className, refuse, name)
    }
    const whole = { ...values, ...members, constants, codes: makeCodes() }
    // Most constants of Zstandard, and one of Brotli, are members and no exports.
    const exported = Object.entries(whole).filter(([key]) => !/^(?:ZSTD_(?!ENCODE|DECODE)|BROTLI_PARAM_SIZE_HINT$)/.test(key))
    return { ...Object.fromEntries(exported), default: whole }
  })
}
