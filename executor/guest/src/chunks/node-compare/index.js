// Deep equality as node:util and node:assert understand it.

const LOOSE = 0
const STRICT = 1
const PARTIAL = 2 // strict, but the second value may leave things out

const hasOwn = (value, key) => Object.prototype.hasOwnProperty.call(value, key)
const enumerable = (value, key) => Object.prototype.propertyIsEnumerable.call(value, key)
const toString = (value) => Object.prototype.toString.call(value)
const INDEX = /^(?:0|[1-9]\d{0,9})$/

export default function install(realm) {
  const { types } = realm.exports['node-inspect']

  const bothNaN = (a, b) => typeof a === 'number' && Number.isNaN(a) && typeof b === 'number' && Number.isNaN(b)

  const sameBytes = (a, b) => {
    const left = new Uint8Array(a.buffer ?? a, a.byteOffset ?? 0, a.byteLength)
    const right = new Uint8Array(b.buffer ?? b, b.byteOffset ?? 0, b.byteLength)
    if (left.length !== right.length) return false
    for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
    return true
  }

  const sameFloats = (a, b) => {
    if (a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !bothNaN(a[i], b[i])) return false
    return true
  }

  const sameBoxed = (a, b) => {
    for (const [test, Box] of [
      [types.isNumberObject, Number], [types.isStringObject, String], [types.isBooleanObject, Boolean],
      [types.isBigIntObject, BigInt], [types.isSymbolObject, Symbol],
    ]) {
      if (test(a)) return test(b) && Object.is(Box.prototype.valueOf.call(a), Box.prototype.valueOf.call(b))
    }
    return false
  }

  const isError = (value) => types.isNativeError(value) || value instanceof Error

  const symbolsOf = (value) => Object.getOwnPropertySymbols(value).filter((key) => enumerable(value, key))
  const keysOf = (value, mode, indices) => {
    let keys = Object.keys(value)
    if (!indices) keys = keys.filter((key) => !INDEX.test(key))
    return mode === LOOSE ? keys : [...keys, ...symbolsOf(value)]
  }

  const same = (a, b, mode, memo) => {
    if (a === b) return a !== 0 || mode === LOOSE || Object.is(a, b)
    const objects = typeof a === 'object' && a !== null && typeof b === 'object' && b !== null
    if (mode === LOOSE) {
      if (!objects) {
        const primitive = (value) => value === null || typeof value !== 'object'
        return primitive(a) && primitive(b) && (a == b || bothNaN(a, b))
      }
    } else {
      if (!objects) return bothNaN(a, b)
      if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false
    }
    if (toString(a) !== toString(b)) return false
    return sameObjects(a, b, mode, memo)
  }

  const sameObjects = (a, b, mode, memo) => {
    if (Array.isArray(a) || Array.isArray(b)) {
      if (!Array.isArray(a) || !Array.isArray(b)) return false
      if (mode === PARTIAL ? a.length < b.length : a.length !== b.length) return false
      return sameKeys(a, b, mode, memo, mode === PARTIAL ? partialArray : sameElements, false)
    }
    if (types.isDate(a)) {
      if (!types.isDate(b) || Date.prototype.getTime.call(a) !== Date.prototype.getTime.call(b)) return false
    } else if (types.isRegExp(a)) {
      if (!types.isRegExp(b) || a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false
    } else if (isError(a)) {
      // Not enumerable, so not among the keys.
      if (!isError(b) || a.message !== b.message || a.name !== b.name) return false
    } else if (ArrayBuffer.isView(a)) {
      if (!ArrayBuffer.isView(b)) return false
      const floats = /^\[object Float/.test(toString(a))
      if (mode === PARTIAL ? !partialView(a, b) : !(mode === LOOSE && floats ? sameFloats(a, b) : sameBytes(a, b))) return false
      return sameKeys(a, b, mode, memo, undefined, false)
    } else if (types.isSet(a)) {
      if (!types.isSet(b) || (mode === PARTIAL ? a.size < b.size : a.size !== b.size)) return false
      return sameKeys(a, b, mode, memo, sameSets, true)
    } else if (types.isMap(a)) {
      if (!types.isMap(b) || (mode === PARTIAL ? a.size < b.size : a.size !== b.size)) return false
      return sameKeys(a, b, mode, memo, sameMaps, true)
    } else if (types.isAnyArrayBuffer(a)) {
      if (!types.isAnyArrayBuffer(b)) return false
      if (mode === PARTIAL ? !partialView(new Uint8Array(a), new Uint8Array(b)) : !sameBytes(a, b)) return false
    } else if (types.isBoxedPrimitive(a)) {
      if (!sameBoxed(a, b)) return false
    } else if (ArrayBuffer.isView(b) || types.isSet(b) || types.isMap(b) || types.isDate(b) || types.isRegExp(b) ||
      types.isAnyArrayBuffer(b) || types.isBoxedPrimitive(b) || types.isNativeError(b)) return false
    return sameKeys(a, b, mode, memo, undefined, true)
  }

  const sameKeys = (a, b, mode, memo, contents, indices) => {
    const keys = keysOf(b, mode, indices)
    if (mode !== PARTIAL && keysOf(a, mode, indices).length !== keys.length) return false
    for (const key of keys) if (!enumerable(a, key)) return false
    if (keys.length === 0 && contents === undefined) return true
    // A cycle is the same if it leads back to the same place.
    const known = memo.left.get(a)
    if (known !== undefined) {
      const other = memo.right.get(b)
      if (other !== undefined) return known === other
    }
    memo.position += 1
    memo.left.set(a, memo.position)
    memo.right.set(b, memo.position)
    let equal = contents === undefined || contents(a, b, mode, memo)
    for (let i = 0; equal && i < keys.length; i++) equal = same(a[keys[i]], b[keys[i]], mode, memo)
    memo.left.delete(a)
    memo.right.delete(b)
    return equal
  }

  const sameElements = (a, b, mode, memo) => {
    for (let i = 0; i < a.length; i++) {
      if (hasOwn(a, i) !== hasOwn(b, i)) return false
      if (hasOwn(a, i) && !same(a[i], b[i], mode, memo)) return false
    }
    return true
  }

  const partialArray = (a, b, mode, memo) => {
    for (let i = 0; i < b.length; i++) if (!same(a[i], b[i], mode, memo)) return false
    return true
  }

  const partialView = (a, b) => {
    const left = ArrayBuffer.isView(a) && a.length === undefined ? new Uint8Array(a.buffer, a.byteOffset, a.byteLength) : a
    const right = ArrayBuffer.isView(b) && b.length === undefined ? new Uint8Array(b.buffer, b.byteOffset, b.byteLength) : b
    if (left.length < right.length) return false
    let at = 0
    for (let i = 0; i < right.length; i++) {
      while (at < left.length && !Object.is(left[at], right[i])) at += 1
      if (at === left.length) return false
      at += 1
    }
    return true
  }

  const isObject = (value) => typeof value === 'object' && value !== null

  // Members that are there as they are need no search.
  const sameSets = (a, b, mode, memo) => {
    const unmatched = []
    for (const item of b) {
      if (a.has(item)) continue
      if (mode === PARTIAL || (!isObject(item) && mode !== LOOSE)) return false
      unmatched.push(item)
    }
    const candidates = [...a].filter((item) => !b.has(item))
    return unmatched.every((item) => {
      const index = candidates.findIndex((other) => same(other, item, mode, memo))
      if (index === -1) return false
      candidates.splice(index, 1)
      return true
    })
  }

  const sameMaps = (a, b, mode, memo) => {
    const unmatched = []
    for (const [key, item] of b) {
      if (!isObject(key)) {
        if (a.has(key)) {
          if (!same(a.get(key), item, mode, memo)) {
            if (mode !== LOOSE) return false
            unmatched.push([key, item])
          }
          continue
        }
        if (mode !== LOOSE) return false
      } else if (a.has(key) && same(a.get(key), item, mode, memo)) continue
      unmatched.push([key, item])
    }
    const candidates = [...a].filter(([key]) => isObject(key) || !b.has(key) || mode === LOOSE)
    return unmatched.every(([key, item]) => {
      const index = candidates.findIndex(([k, v]) => same(k, key, mode, memo) && same(v, item, mode, memo))
      if (index === -1) return false
      candidates.splice(index, 1)
      return true
    })
  }

  const compare = (mode) => (a, b) => same(a, b, mode, { left: new Map(), right: new Map(), position: 0 })
  return {
    isDeepEqual: compare(LOOSE),
    isDeepStrictEqual: compare(STRICT),
    isPartialStrictEqual: compare(PARTIAL),
  }
}
