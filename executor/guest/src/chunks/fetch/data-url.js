// What a data: URL holds, by the Fetch Standard; base64 is read as leniently as workerd does.
const percentDecode = (text, encode) => {
  const source = encode(text)
  const bytes = new Uint8Array(source.length)
  let count = 0
  for (let i = 0; i < source.length; i++) {
    const hex = source[i] === 0x25 ? /^[0-9a-f]{2}$/i.exec(String.fromCharCode(source[i + 1], source[i + 2])) : null
    if (hex === null) bytes[count++] = source[i]
    else {
      bytes[count++] = parseInt(hex[0], 16)
      i += 2
    }
  }
  return bytes.subarray(0, count)
}

const BASE64 = /; *base64$/i
const fromBase64 = Uint8Array.fromBase64.bind(Uint8Array)

const decodeBase64 = (bytes) => {
  const digits = String.fromCharCode(...bytes).replace(/[^A-Za-z0-9+/]/g, '')
  // A single digit at the end is not a whole byte.
  return fromBase64(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
}

// { bytes, type } or null for what is no data: URL.
export const readDataUrl = (href, { encode, contentType }) => {
  const hash = href.indexOf('#')
  const url = hash === -1 ? href : href.slice(0, hash)
  const comma = url.indexOf(',')
  if (comma === -1) return null
  let type = url.slice('data:'.length, comma).trim()
  let bytes = percentDecode(url.slice(comma + 1), encode)
  if (BASE64.test(type)) {
    bytes = decodeBase64(bytes)
    type = type.replace(BASE64, '')
  }
  const parsed = contentType.parseContentType(type.startsWith(';') ? `text/plain${type}` : type)
  return { bytes, type: parsed === null ? 'text/plain;charset=US-ASCII' : contentType.writeContentType(parsed) }
}
