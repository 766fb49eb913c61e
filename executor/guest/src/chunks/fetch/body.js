// The body of a Request or a Response, and the class that both extend.
//
// A body is null, or { stream, content, type, life }: the stream of the program's (a Readable) is made of `content`, a
// function that answers bytes, when somebody asks for it; until then nothing is copied or encoded. `life` is there if the
// request for it may be aborted.
const USED = 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.'

export const createBody = (realm) => {
  const { native, bytes, utf8, readable, fromBytes, readAll, tee, Reader, LOCKED } = realm.exports['readable-streams']
  const { blob, makeBlob, contentType } = realm.exports.blob
  const { formData, serialize, parse } = realm.exports['form-data']
  const { URLSearchParams } = realm.global
  const { DOMException } = realm.exports['dom-exception']
  const { asBytes, isBufferSource } = bytes
  const parseJson = JSON.parse
  const paramsToText = URLSearchParams.prototype.toString
  const { apply } = Reflect

  const ofContent = (content, type) => ({ stream: undefined, content, type })

  // The body that a program gives, which is not null.
  const extract = (value) => {
    if (readable.has(value)) {
      const stream = readable.of(value)
      if (stream.disturbed) {
        throw new TypeError('This ReadableStream is disturbed (has already been read from), and cannot be used as a body.')
      }
      return { stream, facade: value, content: undefined, type: undefined }
    }
    if (isBufferSource(value)) return ofContent(() => asBytes(value))
    if (blob.has(value)) {
      const { bytes: content, type } = blob.of(value)
      return ofContent(() => content, type === '' ? undefined : type)
    }
    if (formData.has(value)) {
      const { bytes: content, type } = serialize(value)
      return ofContent(() => content, type)
    }
    if (value instanceof URLSearchParams) {
      const text = apply(paramsToText, value, [])
      return ofContent(() => utf8.encode(text), 'application/x-www-form-urlencoded;charset=UTF-8')
    }
    const text = `${value}`
    return ofContent(() => utf8.encode(text), 'text/plain;charset=UTF-8')
  }

  const makeStream = ({ content, life }) => {
    const stream = fromBytes(content())
    return life === undefined ? stream : life.bind(stream)
  }

  const streamOf = (body) => (body.stream ??= makeStream(body))

  const facadeOf = (body) => {
    if (body === null) return null
    body.facade ??= readable.make(streamOf(body))
    return body.facade
  }

  const isUsed = (body) => body !== null && (body.stream?.disturbed ?? false)

  // All of a body, once.
  const consume = async (body) => {
    if (body === null) return new Uint8Array(0)
    if (isUsed(body)) throw new TypeError(USED)
    const { content } = body
    const stream = streamOf(body)
    if (content === undefined || body.isRead || stream.state === 'errored') return readAll(stream)
    if (stream.locked) throw new TypeError(LOCKED)
    // Nobody has looked: the bytes are here without reading.
    new Reader(stream)
    stream.cancel(undefined)
    body.life?.end()
    return content()
  }

  // The same body for two. What was handed out as a stream stays behind, locked.
  const clone = (body) => {
    if (body === null) return [null, null]
    if (body.stream === undefined) return [{ ...body }, { ...body }]
    return tee(body.stream).map((stream) => ({ stream, content: undefined, type: body.type, facade: undefined }))
  }

  // A body goes over to another owner.
  const take = (body) => {
    if (body === null) return null
    const stream = streamOf(body)
    if (stream.disturbed) throw new TypeError('Cannot reconstruct a Request with a used body.')
    if (stream.locked) throw new TypeError('The ReadableStream has been locked to a reader.')
    if (body.content !== undefined) {
      const moved = ofContent(body.content, body.type)
      stream.disturbed = true
      return moved
    }
    const [moved] = tee(stream)
    stream.disturbed = true
    return { stream: moved, content: undefined, type: body.type, facade: undefined }
  }

  // structuredClone copies what has no body.
  const refuseToClone = (body) => {
    if (body !== null) throw new DOMException('ReadableStream can only be serialized for RPC.', 'DataCloneError')
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

  const base = native.createInterface('Body', {
    getters: { body: (state) => facadeOf(state.body), bodyUsed: (state) => isUsed(state.body) },
    promises: {
      arrayBuffer: async (state) => (await copied(state)).buffer,
      bytes: copied,
      text: async (state) => utf8.decode(await consume(state.body)),
      json: async (state) => parseJson(utf8.decode(await consume(state.body))),
      formData: async (state) => parse(await consume(state.body), state.contentType()),
      blob: async (state) => makeBlob(await copied(state), blobType(state.contentType())),
    },
  })
  realm.define('Body', base.Class)
  return { base, extract, ofContent, consume, clone, take, refuseToClone }
}
