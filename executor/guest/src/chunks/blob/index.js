// Blob and File.
import * as contentType from './content-type.js'

const OUTSIDE_TYPE = /[^\x20-\x7e]/

export default function install(realm) {
  const { native, bytes, utf8, readable, fromBytes } = realm.exports['readable-streams']
  const { createInterface, toDictionary, toText } = native
  const { isBufferSource, copyBytes, concatBytes } = bytes
  const now = Date.now

  const normaliseType = (value) => {
    const type = `${value}`
    return OUTSIDE_TYPE.test(type) ? '' : type.toLowerCase()
  }

  const bytesOfPart = (part) => {
    if (isBufferSource(part)) return copyBytes(part)
    return blob.has(part) ? blob.of(part).bytes : utf8.encode(`${part}`)
  }

  const gather = (parts, bad) => {
    if (parts === undefined) return new Uint8Array(0)
    if (!Array.isArray(parts)) throw bad(1, 'Array')
    return concatBytes(parts.map(bytesOfPart))
  }

  const readType = (options) => {
    if (options.endings !== undefined) throw new Error("The 'endings' field on 'Options' is not implemented.")
    return options.type === undefined ? '' : normaliseType(options.type)
  }

  // Where a slice begins or ends.
  const toIndex = (value, otherwise, size) => {
    if (value === undefined) return otherwise
    const index = Math.trunc(+value) || 0
    return index < 0 ? Math.max(0, size + index) : Math.min(index, size)
  }

  const blob = createInterface('Blob', {
    construct([parts, given], bad) {
      const content = gather(parts, bad)
      return { bytes: content, type: readType(toDictionary(given, bad, 2, 'Options')) }
    },
    getters: { size: (state) => state.bytes.length, type: (state) => state.type },
    promises: {
      arrayBuffer: async (state) => state.bytes.slice().buffer,
      bytes: async (state) => state.bytes.slice(),
      text: async (state) => utf8.decode(state.bytes),
    },
    methods: {
      slice(state, [start, end, type]) {
        const size = state.bytes.length
        const from = toIndex(start, 0, size)
        const to = Math.max(from, toIndex(end, size, size))
        return blob.make({ bytes: state.bytes.subarray(from, to), type: type === undefined ? '' : normaliseType(type) })
      },
      stream: (state) => readable.make(fromBytes(state.bytes)),
    },
  })

  const toTime = (value) => {
    if (value === undefined) return now()
    const time = +value
    return Number.isNaN(time) ? 0 : time
  }

  const file = createInterface('File', {
    parent: blob,
    construct([parts, name, given], bad) {
      const content = gather(parts, bad)
      if (name === undefined) throw bad(2, 'string')
      const options = toDictionary(given, bad, 3, 'Options')
      const type = readType(options)
      return { bytes: content, type, name: toText(name), lastModified: toTime(options.lastModified) }
    },
    getters: { name: (state) => state.name, lastModified: (state) => state.lastModified },
  })

  realm.define('Blob', blob.Class)
  realm.define('File', file.Class)
  return {
    blob,
    file,
    contentType,
    makeFile: (content, name, type) => file.make({ bytes: content, type, name, lastModified: now() }),
    makeBlob: (content, type) => blob.make({ bytes: content, type }),
  }
}
