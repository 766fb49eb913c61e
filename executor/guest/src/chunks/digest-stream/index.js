// crypto.DigestStream: a WritableStream whose content is digested.
import { publish } from '../shape.js'
import { badConstructorArgument, illegalInvocation } from '../texts.js'

const PIECE = 1 << 20

export default function install(realm) {
  const { prototype } = realm.exports.crypto
  const { bytesOf, hostCall, hashOf } = realm.exports.subtle
  const { utf8 } = realm.exports.streams
  const { WritableStream } = realm.global
  const { Uint8ArrayCtor, viewBuffer, viewLength, viewOffset } = realm.primordials

  const open = (hash) => ({
    __proto__: null, hash, handle: undefined, written: 0n, over: false, promise: undefined, resolve: undefined,
    reject: undefined,
  })

  const settle = (state, settled, value) => {
    if (state.over) return
    state.over = true
    settled(value)
  }

  const feed = (state, chunk) => {
    const bytes = typeof chunk === 'string' ? utf8.encode(chunk) : bytesOf(chunk)
    if (bytes === undefined) {
      throw new TypeError(
        'DigestStream is a byte stream but received an object of non-ArrayBuffer/ArrayBufferView/string type on its writable side.',
      )
    }
    state.handle ??= hostCall('crypto.digest.start', { __proto__: null, hash: state.hash }, []).value
    const params = { __proto__: null, handle: state.handle }
    const length = viewLength(bytes)
    for (let from = 0; from < length; from += PIECE) {
      const count = length - from < PIECE ? length - from : PIECE
      hostCall('crypto.digest.update', params, [new Uint8ArrayCtor(viewBuffer(bytes), viewOffset(bytes) + from, count)])
    }
    state.written += BigInt(length)
  }

  const finish = ({ hash, handle }) => {
    const { bytes } = handle === undefined
      ? hostCall('crypto.digest', { __proto__: null, hash }, [])
      : hostCall('crypto.digest.finish', { __proto__: null, handle }, [])
    return viewBuffer(new Uint8ArrayCtor(bytes))
  }

  let stateOf

  class DigestStreamInner extends WritableStream {
    #state

    constructor(...args) {
      if (args.length === 0) throw badConstructorArgument('DigestStream', 1, 'string or HashAlgorithm')
      const state = open(hashOf(args[0]))
      state.promise = new Promise((resolve, reject) => {
        state.resolve = resolve
        state.reject = reject
      })
      // Who does not ask for the digest does not want to hear why there is none.
      state.promise.then(undefined, () => {})
      super({
        write: (chunk) => {
          try {
            feed(state, chunk)
          } catch (error) {
            settle(state, state.reject, error)
            throw error
          }
        },
        close: () => settle(state, state.resolve, finish(state)),
        abort: (reason) => settle(state, state.reject, reason),
      })
      this.#state = state
    }

    get digest() {
      return stateOf(this).promise
    }

    get bytesWritten() {
      return stateOf(this).written
    }

    [Symbol.dispose]() {
      const state = stateOf(this)
      settle(state, state.reject, new TypeError('The DigestStream was disposed.'))
    }

    static {
      stateOf = (value) => {
        if (typeof value !== 'object' || value === null || !(#state in value)) throw illegalInvocation()
        return value.#state
      }
    }
  }

  const DigestStream = publish(DigestStreamInner, 'DigestStream')
  Object.defineProperty(prototype, 'DigestStream', {
    __proto__: null, value: DigestStream, writable: true, enumerable: true, configurable: true,
  })
}
