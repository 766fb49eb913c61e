// FormData, and the two forms in which it travels.
import { readMultipart, writeMultipart } from './multipart.js'
import { readUrlencoded } from './urlencoded.js'

const UNRECOGNIZED =
  'Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, ' +
  'application/x-www-form-urlencoded'
const NO_BOUNDARY =
  'No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, e.g. ' +
  `'Content-Type: multipart/form-data; boundary="abcd"'. See RFC 7578, section 4.`
const VALUE = 'File or Blob or string'

export default function install(realm) {
  const { native, bytes, utf8 } = realm.exports['readable-streams']
  const { blob, file, contentType, makeFile } = realm.exports.blob
  const { createInterface, pairMethods, toText } = native

  // A Blob becomes a File, which is called as its field is if nothing else says how.
  const toFile = (value, name, filename) => {
    if (file.has(value) && filename === undefined) return value
    const { bytes: content, type } = blob.of(value)
    return makeFile(content, filename === undefined ? name : toText(filename), type)
  }

  const toEntry = ([key, value, filename]) => {
    const name = toText(key)
    return [name, blob.has(value) ? toFile(value, name, filename) : toText(value)]
  }

  const { forEach, ...pairs } = pairMethods((entries, index) => entries.list[index], (entries) => entries)
  const formData = createInterface('FormData', {
    construct: () => ({ list: [] }),
    methods: {
      append: (state, args) => void state.list.push(toEntry(args)),
      delete(state, [name]) {
        const key = toText(name)
        const { list } = state
        for (let i = list.length - 1; i >= 0; i--) if (list[i][0] === key) list.splice(i, 1)
      },
      get(state, [name]) {
        const key = toText(name)
        return state.list.find((entry) => entry[0] === key)?.[1] ?? null
      },
      getAll(state, [name]) {
        const key = toText(name)
        return state.list.filter((entry) => entry[0] === key).map((entry) => entry[1])
      },
      has(state, [name]) {
        const key = toText(name)
        return state.list.some((entry) => entry[0] === key)
      },
      set(state, args) {
        const entry = toEntry(args)
        const { list } = state
        const first = list.findIndex(([name]) => name === entry[0])
        if (first === -1) return void list.push(entry)
        list[first] = entry
        for (let i = list.length - 1; i > first; i--) if (list[i][0] === entry[0]) list.splice(i, 1)
      },
      ...pairs,
      forEach,
    },
    required: {
      append: ['string', VALUE], set: ['string', VALUE], delete: ['string'], get: ['string'], getAll: ['string'],
      has: ['string'], forEach: ['function'],
    },
  })
  formData.hide(Symbol.iterator, pairs.entries)
  realm.define('FormData', formData.Class)

  const decodeUnits = (units) => utf8.decode(Uint8Array.from(units, (unit) => unit.charCodeAt(0)))

  // The bytes of a body, and its content type.
  const serialize = (value) => {
    const random = new Uint8Array(16)
    realm.randomFill(random)
    const boundary = random.toHex()
    const entries = formData.of(value).list.map(([name, item]) => {
      if (typeof item === 'string') return [name, item]
      const { bytes: content, type, name: filename } = file.of(item)
      return [name, { name: filename, type, bytes: content }]
    })
    const content = writeMultipart(entries, boundary, { encode: utf8.encode, concatBytes: bytes.concatBytes })
    return { bytes: content, type: `multipart/form-data; boundary=${boundary}` }
  }

  const parse = (content, header) => {
    if (header === null) throw new TypeError('Parsing a Body as FormData requires a Content-Type header.')
    const type = contentType.parseContentType(header)
    const list = []
    if (type?.essence === 'multipart/form-data') {
      const boundary = type.parameters.get('boundary')
      if (boundary === undefined) throw new TypeError(NO_BOUNDARY)
      readMultipart(content, boundary, ({ name, filename, type: partType }, part) => {
        const value = filename === undefined || filename === ''
          ? utf8.decode(part)
          : makeFile(part.slice(), decodeUnits(filename), decodeUnits(partType))
        list.push([decodeUnits(name), value])
      })
    } else if (type?.essence === 'application/x-www-form-urlencoded') {
      list.push(...readUrlencoded(content, utf8.decode))
    } else throw new TypeError(UNRECOGNIZED)
    return formData.make({ list })
  }

  return { formData, serialize, parse }
}
