// What structuredClone makes of an instance of each class of the platform, and of the language's values.
//
// MAKERS: functions by name, each giving a fresh value.
async (MAKERS) => {
  const answers = {}
  const tag = (value) => Object.prototype.toString.call(value).slice(8, -1)
  const show = (value, depth = 0) => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
      return typeof value === 'string' ? JSON.stringify(value) : Object.is(value, -0) ? '-0' : `${typeof value} ${String(value)}`
    }
    if (depth > 4) return '…'
    if (ArrayBuffer.isView(value)) return `${tag(value)}[${new Uint8Array(value.buffer, value.byteOffset, value.byteLength)}] of ${value.buffer.byteLength}`
    if (value instanceof ArrayBuffer) return `ArrayBuffer[${new Uint8Array(value)}] of ${value.resizable ? value.maxByteLength : 'fixed'}`
    if (value instanceof Map) return `Map{${[...value].map((pair) => show(pair, depth + 1))}}`
    if (value instanceof Set) return `Set{${[...value].map((it) => show(it, depth + 1))}}`
    if (value instanceof Date) return `Date ${value.getTime()}`
    if (value instanceof RegExp) return `RegExp ${value} at ${value.lastIndex}`
    if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) return `${tag(value)} ${value}`
    const own = Reflect.ownKeys(value).map((key) => {
      const { enumerable } = Object.getOwnPropertyDescriptor(value, key)
      return `${String(key)}${enumerable ? '' : '?'}: ${key === 'stack' ? typeof value.stack : show(value[key], depth + 1)}`
    })
    const parent = Object.getPrototypeOf(value)
    return `${tag(value)} of ${parent === null ? null : parent.constructor?.name} {${own.join(', ')}}`
  }
  for (const [name, make] of Object.entries(MAKERS)) {
    let value
    try {
      value = structuredClone(make())
    } catch (error) {
      answers[name] = `threw ${error.name}: ${error.message} (${Object.prototype.toString.call(error)}, code ${error.code})`
      continue
    }
    try {
      answers[name] = show(value)
    } catch (error) {
      answers[name] = `cannot be shown: ${error.name}: ${error.message}`
    }
  }
  let packed = JSON.stringify(answers).match(/[^]{1,200}/gu)
  while (packed.length > 60) {
    packed = Array.from({ length: Math.ceil(packed.length / 60) }, (_, at) => packed.slice(at * 60, at * 60 + 60))
  }
  return packed
}
