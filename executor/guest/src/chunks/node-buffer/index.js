// node:buffer: Buffer, and the functions that come with it.
export default function install(realm) {
  realm.lazyModule('buffer', () => {
    const { Buffer, INSPECT_BYTES, MAX_LENGTH, encodingNamed, findEncoding, isBytes, wrap, bytesOfString } = realm.exports.buffer
    const { invalidArgType, named } = realm.exports['node-errors']
    const { Blob, File } = realm.global
    const kStringMaxLength = 536870888

    // Upstream's are bound to the global object.
    const globalAtob = realm.global.atob
    const globalBtoa = realm.global.btoa
    const atob = named('atob', (...args) => globalAtob.apply(realm.global, args))
    const btoa = named('btoa', (...args) => globalBtoa.apply(realm.global, args))

    const requireBytes = (value, name) => {
      if (isBytes(value)) return value
      throw new TypeError("Failed to execute '" + name + "' on 'BufferUtil': parameter 1 is not of type 'JsUint8Array'.")
    }

    function SlowBuffer(length) {
      return Buffer.allocUnsafeSlow(+length)
    }
    Object.setPrototypeOf(SlowBuffer.prototype, Uint8Array.prototype)
    Object.setPrototypeOf(SlowBuffer, Uint8Array)

    function isAscii(input) {
      for (const byte of requireBytes(input, 'isAscii')) if (byte > 127) return false
      return true
    }

    function isUtf8(input) {
      const bytes = requireBytes(input, 'isUtf8')
      const text = findEncoding('utf8').slice(bytes, 0, bytes.length)
      // A replacement character is three bytes, which what it stands for never is.
      const again = bytesOfString(text, findEncoding('utf8'))
      if (again.length !== bytes.length) return false
      for (let i = 0; i < bytes.length; i++) if (bytes[i] !== again[i]) return false
      return true
    }

    const TRANSCODED = ['ascii', 'latin1', 'utf8', 'utf16le']

    function transcode(source, fromEncoding, toEncoding) {
      if (!ArrayBuffer.isView(source)) throw invalidArgType('source', ['ArrayBufferView'], typeof source)
      const from = encodingNamed(fromEncoding ?? 'utf8').name
      const to = encodingNamed(toEncoding ?? 'utf8').name
      if (!TRANSCODED.includes(from) || !TRANSCODED.includes(to)) {
        throw new Error('Unable to transcode buffer due to unsupported encoding')
      }
      const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      if (from === 'utf8' && to === 'utf16le' && !isUtf8(bytes)) throw new Error('Unable to transcode buffer')
      let text = findEncoding(from === 'ascii' ? 'latin1' : from).slice(bytes, 0, bytes.length)
      const highest = to === 'ascii' ? 127 : to === 'latin1' ? 255 : 0x10ffff
      if (highest < 0x10ffff) {
        let narrowed = ''
        for (const point of text) narrowed += point.codePointAt(0) > highest ? '?' : point
        text = narrowed
      }
      return wrap(bytesOfString(text, findEncoding(to)))
    }

    function resolveObjectURL() {
      throw new Error('resolveObjectURL is not implemented')
    }
    Object.defineProperty(resolveObjectURL, 'length', { value: 1 })

    return {
      atob, btoa,
      constants: { MAX_LENGTH, MAX_STRING_LENGTH: kStringMaxLength },
      kMaxLength: MAX_LENGTH, kStringMaxLength, Blob, Buffer, File, SlowBuffer, isAscii, isUtf8, transcode,
      INSPECT_MAX_BYTES: INSPECT_BYTES,
      resolveObjectURL,
    }
  })
}
