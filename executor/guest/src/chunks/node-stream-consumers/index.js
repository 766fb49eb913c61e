// node:stream/consumers: all of a stream at once, of any that can be iterated.
export default function install(realm) {
  realm.lazyModule('stream/consumers', () => {
    const { Buffer } = realm.exports.buffer
    const { Blob, TextDecoder } = realm.global

    async function blob(stream) {
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      return new Blob(chunks)
    }
    async function arrayBuffer(stream) { return (await blob(stream)).arrayBuffer() }
    async function buffer(stream) { return Buffer.from(await arrayBuffer(stream)) }
    async function text(stream) {
      const decoder = new TextDecoder()
      let result = ''
      for await (const chunk of stream) {
        result += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
      }
      return result + decoder.decode(undefined, { stream: false })
    }
    async function json(stream) { return JSON.parse(await text(stream)) }

    return { arrayBuffer, blob, buffer, text, json }
  })
}
