// duplexPair: what is written to either comes out of the other.
export const createPairs = (Duplex) => {
  class DuplexSide extends Duplex {
    #other
    #waiting = null // the callback of a write that the other side has not read yet

    _read() {
      const callback = this.#waiting
      this.#waiting = null
      callback?.()
    }

    _write(chunk, encoding, callback) {
      if (chunk.length === 0) return void later(callback)
      this.#other.#waiting = callback
      this.#other.push(chunk)
    }

    _final(callback) {
      this.#other.on('end', callback)
      this.#other.push(null)
    }

    static join(one, other) {
      one.#other = other
      other.#other = one
    }
  }
  const later = async (callback) => {
    await undefined
    callback()
  }
  const { join } = DuplexSide
  delete DuplexSide.join

  return function duplexPair(options) {
    const one = new DuplexSide(options)
    const other = new DuplexSide(options)
    join(one, other)
    return [one, other]
  }
}
