// Whether bytes are a module as far as their frame tells: the header, and sections in their order and of the size that they
// claim. What is in the sections is not looked at.

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]

// Where a section of each kind stands among the others; custom ones (0) stand anywhere.
const PLACES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 11, 6]
const MAX_SIZE_BYTES = 5

export const isWellFormed = (bytes) => {
  for (let i = 0; i < HEADER.length; i++) if (bytes[i] !== HEADER[i]) return false
  let at = HEADER.length
  let last = 0
  while (at < bytes.length) {
    const id = bytes[at++]
    if (id >= PLACES.length) return false
    if (id !== 0) {
      if (PLACES[id] <= last) return false
      last = PLACES[id]
    }
    let size = 0
    let shift = 0
    let byte
    do {
      byte = bytes[at++]
      if (byte === undefined || shift === 7 * MAX_SIZE_BYTES) return false
      size += (byte & 0x7f) * 2 ** shift
      shift += 7
    } while (byte >= 0x80)
    if (size > bytes.length - at) return false
    at += size
  }
  return true
}
