// The body of a Request or a Response, and the class that both extend.
//
// A body is null, or { stream, content, type, life, used }: the stream of the program's (a Readable) is made of `content`,
// a function that answers bytes, when somebody asks for it; until then nothing is copied or encoded, and `used` says what
// has become of them. `life` is there if the request for it may be aborted.
//
// Streams, blobs and forms are there if the program names something of theirs: see `also` in their chunk.json.
import * as contentType from '../blob/content-type.js'

const USED = 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.'
const LOCKED = 'This ReadableStream is currently locked to a reader.'
// The comma is workerd's.
const LOCKED_FOR_CLONE = 'This ReadableStream is currently locked to a reader,'
const READ = 'read'
const TAKEN = 'taken'

export const createBody = (realm) => {
  const { native, bytes, utf8 } = realm.exports.native
  const { URLSearchParams } = realm.global
  const streams = () => realm.exports['readable-streams']
  const { asBytes, isBufferSource } = bytes
  const parseJson = JSON.parse
  const paramsToText = URLSearchParams.prototype.toString
  const { apply } = Reflect

  const ofContent = (content, type) => ({ stream: undefined, content, type })

  // The body that a program gives, which is not null.
  const extract = (value) => {
    const readable = streams()?.readable
    if (readable?.has(value)) {
      const stream = readable.of(value)
      if (stream.disturbed) {
        throw new TypeError('This ReadableStream is disturbed (has already been read from), and cannot be used as a body.')
      }
      return { stream, facade: value, content: undefined, type: undefined }
    }
    if (isBufferSource(value)) return ofContent(() => asBytes(value))
    const { blob } = realm.exports
    if (blob?.blob.has(value)) {
      const { bytes: content, type } = blob.blob.of(value)
      return ofContent(() => content, type === '' ? undefined : type)
    }
    const forms = realm.exports['form-data']
    if (forms?.formData.has(value)) {
      const { bytes: content, type } = forms.serialize(value)
      return ofContent(() => content, type)
    }
    if (value instanceof URLSearchParams) {
      const text = apply(paramsToText, value, [])
      return ofContent(() => utf8.encode(text), 'application/x-www-form-urlencoded;charset=UTF-8')
    }
    const text = `${value}`
    return ofContent(() => utf8.encode(text), 'text/plain;charset=UTF-8')
  }

  const makeStream = ({ content, life, used }) => {
    const { fromBytes, Reader } = streams()
    const stream = fromBytes(content())
    if (used === TAKEN) stream.disturbed = true
    else if (used === READ) {
      new Reader(stream)
      stream.cancel(undefined)
    } else life?.bind(stream)
    return stream
  }

  const streamOf = (body) => (body.stream ??= makeStream(body))

  const facadeOf = (body) => {
    // Who goes through all members of an object, without a name for this one, finds no stream.
    if (body === null || streams() === undefined) return null
    body.facade ??= streams().readable.make(streamOf(body))
    return body.facade
  }

  const isUsed = (body) => body !== null && (body.used !== undefined || (body.stream?.disturbed ?? false))

  // All of a body, once.
  const consume = async (body) => {
    if (body === null) return new Uint8Array(0)
    if (isUsed(body)) throw new TypeError(USED)
    const { content, life, stream } = body
    if (stream === undefined) {
      body.used = READ
      if (life?.aborted) throw life.reason
    } else {
      const { Reader, readAll } = streams()
      if (content === undefined || stream.state === 'errored') return readAll(stream)
      if (stream.locked) throw new TypeError(LOCKED)
      // Nobody has read from it: the bytes are here without reading.
      new Reader(stream)
      stream.cancel(undefined)
    }
    life?.end()
    return content()
  }

  // The same body for two. What was handed out as a stream stays behind, locked.
  const clone = (body) => {
    if (body === null) return [null, null]
    if (body.stream === undefined) {
      if (body.used === READ) throw new TypeError(LOCKED_FOR_CLONE)
      return [{ ...body, used: undefined }, { ...body, used: undefined }]
    }
    return streams().tee(body.stream).map((stream) => ({ stream, content: undefined, type: body.type, facade: undefined }))
  }

  // A body goes over to another owner.
  const take = (body) => {
    if (body === null) return null
    const { stream, content, type } = body
    if (isUsed(body)) throw new TypeError('Cannot reconstruct a Request with a used body.')
    if (stream?.locked) throw new TypeError('The ReadableStream has been locked to a reader.')
    if (stream === undefined) body.used = TAKEN
    else if (content === undefined) {
      const [moved] = streams().tee(stream)
      stream.disturbed = true
      return { stream: moved, content: undefined, type, facade: undefined }
    } else stream.disturbed = true
    return ofContent(content, type)
  }

  // structuredClone copies what has no body.
  const refuseToClone = (body) => {
    if (body === null) return
    const { DOMException } = realm.exports['dom-exception']
    throw new DOMException('ReadableStream can only be serialized for RPC.', 'DataCloneError')
  }

  const blobType = (header) => {
    if (header === null) return ''
    const type = contentType.parseContentType(header)
    if (type === null) return ''
    return type.essence === 'multipart/form-data' ? header : contentType.writeContentType(type)
  }

  const copied = async (state) => {
    const content = await consume(state.body)
    return content.buffer.byteLength === content.length && state.body?.content === undefined ? content : content.slice()
  }

  const named = (chunk, name) => {
    const found = realm.exports[chunk]
    if (found === undefined) throw new TypeError(`${name}() cannot be called by a name that the program's text does not have`)
    return found
  }

  const base = native.createInterface('Body', {
    getters: { body: (state) => facadeOf(state.body), bodyUsed: (state) => isUsed(state.body) },
    promises: {
      arrayBuffer: async (state) => (await copied(state)).buffer,
      bytes: copied,
      text: async (state) => utf8.decode(await consume(state.body)),
      json: async (state) => parseJson(utf8.decode(await consume(state.body))),
      async formData(state) {
        const { parse } = named('form-data', 'formData')
        return parse(await consume(state.body), state.contentType())
      },
      async blob(state) {
        const { makeBlob } = named('blob', 'blob')
        return makeBlob(await copied(state), blobType(state.contentType()))
      },
    },
  })
  realm.define('Body', base.Class)
  return { base, extract, ofContent, consume, clone, take, refuseToClone }
}
