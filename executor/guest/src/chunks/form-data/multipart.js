// multipart/form-data, written and read as workerd does.
const escapeName = (name) => name.replaceAll('"', '%22').replaceAll('\n', '%0A')

// `entries`: [name, string or { name, type, bytes }].
export const writeMultipart = (entries, boundary, { encode, concatBytes }) => {
  const parts = []
  for (const [name, value] of entries) {
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`
    if (typeof value === 'string') {
      parts.push(encode(`${head}\r\n\r\n${value}\r\n`))
      continue
    }
    head += `; filename="${escapeName(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`
    parts.push(encode(head), value.bytes, encode('\r\n'))
  }
  parts.push(encode(`--${boundary}--`))
  return concatBytes(parts)
}

const PIECE = 8192

// One unit for each byte, so that texts and positions can be looked for.
const toUnits = (bytes) => {
  let text = ''
  for (let i = 0; i < bytes.length; i += PIECE) text += String.fromCharCode.apply(undefined, bytes.subarray(i, i + PIECE))
  return text
}

const DISPOSITION = /^content-disposition:[ \t]*([^\r\n;]*)(.*)$/im
const TYPE = /^content-type:[ \t]*([^\r\n]*)/im

const parameter = (text, name) => {
  const found = new RegExp(`;[ \\t]*${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(text)
  return found === null ? undefined : found[1].replace(/\\(.)/g, '$1')
}

const readHead = (head) => {
  const disposition = DISPOSITION.exec(head)
  if (disposition === null) throw new TypeError('No valid Content-Disposition header found in FormData part.')
  const value = disposition[1].trim()
  if (value !== 'form-data') {
    throw new TypeError(
      'Content-Disposition header for FormData part must have the value "form-data", possibly followed by parameters. ' +
        `Got: "${value}"`,
    )
  }
  const name = parameter(disposition[2], 'name')
  if (name === undefined) throw new TypeError('Content-Disposition header in FormData part is missing a name.')
  return { name, filename: parameter(disposition[2], 'filename'), type: TYPE.exec(head)?.[1].trim() ?? '' }
}

// Calls `add(name, value, file)` for every part: texts are units, one for each byte; `value` are positions of bytes.
export const readMultipart = (bytes, boundary, add) => {
  const text = toUnits(bytes)
  const delimiter = `--${boundary}`
  let at = text.indexOf(delimiter)
  while (at > 0 && text[at - 1] !== '\n') at = text.indexOf(delimiter, at + 1)
  if (at === -1) throw new TypeError('No initial boundary string (or you have a truncated message).')
  for (;;) {
    at += delimiter.length
    if (text.startsWith('--', at)) return
    if (text.startsWith('\r\n', at)) at += 2
    else if (text[at] === '\n') at += 1
    else throw new TypeError("Boundary string was not succeeded by CRLF, LF, or '--'.")
    const gap = /\r?\n\r?\n/g
    gap.lastIndex = at
    const found = gap.exec(text)
    if (found === null) throw new TypeError('No multipart message header termination found.')
    const head = readHead(text.slice(at, found.index))
    const start = found.index + found[0].length
    let newline = text.indexOf('\n' + delimiter, start)
    // A message that ends with its boundary is as good as cut off.
    if (newline === -1 || newline + 1 + delimiter.length === text.length) {
      throw new TypeError('No subsequent boundary string after multipart message.')
    }
    at = newline + 1
    if (newline > start && text[newline - 1] === '\r') newline -= 1
    add(head, bytes.subarray(start, newline))
  }
}
