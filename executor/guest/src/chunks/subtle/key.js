// CryptoKey. What a key is made of is behind a private name: no property, no patched builtin leads to it.
import { publish, readOnly } from '../shape.js'

const { defineProperty } = Reflect

// In the order in which a key lists them.
export const USAGES = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey']
const PRIVATE_USAGES = ['decrypt', 'sign', 'deriveKey', 'deriveBits', 'unwrapKey']
const PUBLIC_USAGES = ['encrypt', 'verify', 'wrapKey']

export const createKeys = ({ primordials, uncloneable }, DOMException) => {
  const { Uint8ArrayCtor } = primordials
  let make
  let inside

  class CryptoKeyInner {
    #slots

    constructor(slots) {
      this.#slots = slots
      // A program may change these: they are copies.
      defineProperty(this, 'usages', readOnly([...slots.usages]))
      defineProperty(this, 'algorithm', readOnly(shown(slots.algorithm)))
      defineProperty(this, 'extractable', readOnly(slots.extractable))
      defineProperty(this, 'type', readOnly(slots.type))
    }

    static {
      make = (slots) => {
        const key = new CryptoKeyInner(slots)
        uncloneable(key)
        return key
      }
      inside = (key) => (typeof key === 'object' && key !== null && #slots in key ? key.#slots : undefined)
    }
  }

  const shown = ({ name, length, modulusLength, publicExponent, namedCurve, hash }) => {
    const algorithm = { name }
    if (modulusLength !== undefined) {
      algorithm.modulusLength = modulusLength
      algorithm.publicExponent = new Uint8ArrayCtor(publicExponent)
    }
    if (namedCurve !== undefined) algorithm.namedCurve = namedCurve
    if (hash !== undefined) algorithm.hash = { name: hash }
    if (length !== undefined) algorithm.length = length
    return algorithm
  }

  // What of `asked` a key of this kind may be used for; `doing` begins the text that refuses anything else.
  const allowedUsages = (doing, name, asked, allowed) => {
    for (let i = 0; i < asked.length; i++) {
      if (!has(allowed, asked[i])) {
        throw new DOMException(`Attempt to ${doing} ${name} key with invalid usage "${asked[i]}".`, 'SyntaxError')
      }
    }
    return only(USAGES, asked)
  }

  const CryptoKey = publish(CryptoKeyInner, 'CryptoKey', { constructible: false })
  return { __proto__: null, CryptoKey, allowedUsages, inside, make }
}

export const has = (list, item) => {
  for (let i = 0; i < list.length; i++) if (list[i] === item) return true
  return false
}

export const only = (list, allowed) => {
  const result = []
  for (let i = 0; i < list.length; i++) if (has(allowed, list[i])) result[result.length] = list[i]
  return result
}

export const ofPrivate = (usages) => only(usages, PRIVATE_USAGES)
export const ofPublic = (usages) => only(usages, PUBLIC_USAGES)
