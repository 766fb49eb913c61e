// Chunks that wait, and what they count in all.
export class Queue {
  total = 0
  #entries = []
  #first = 0

  get isEmpty() {
    return this.#first === this.#entries.length
  }

  push(value, size) {
    this.#entries.push({ value, size })
    this.total += size
  }

  peek() {
    return this.#entries[this.#first].value
  }

  shift() {
    const { value, size } = this.#entries[this.#first]
    this.#entries[this.#first++] = undefined
    // Sums of fractions may end a little below nothing.
    this.total = Math.max(0, this.total - size)
    if (this.#first > 64 && 2 * this.#first > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first)
      this.#first = 0
    }
    return value
  }

  clear() {
    this.#entries = []
    this.#first = 0
    this.total = 0
  }
}
