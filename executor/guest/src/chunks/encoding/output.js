// Text that is made of UTF-16 units, many at a time.
const { apply } = Reflect
const { fromCharCode } = String

const CAPACITY = 4096

export class Output {
  #units = new Uint16Array(CAPACITY)
  #size = 0
  #text = ''

  // One code point.
  push(point) {
    if (this.#size > CAPACITY - 2) this.#flush()
    if (point > 0xffff) {
      this.#units[this.#size++] = 0xd7c0 + (point >> 10)
      this.#units[this.#size++] = 0xdc00 | (point & 0x3ff)
    } else {
      this.#units[this.#size++] = point
    }
  }

  // Bytes that are units as they stand.
  pushAll(bytes, from, to) {
    this.#flush()
    for (let at = from; at < to; at += CAPACITY) {
      this.#text += apply(fromCharCode, undefined, bytes.subarray(at, at + CAPACITY < to ? at + CAPACITY : to))
    }
  }

  #flush() {
    if (this.#size === 0) return
    const units = this.#size === CAPACITY ? this.#units : this.#units.subarray(0, this.#size)
    this.#text += apply(fromCharCode, undefined, units)
    this.#size = 0
  }

  take() {
    this.#flush()
    const text = this.#text
    this.#text = ''
    return text
  }
}
