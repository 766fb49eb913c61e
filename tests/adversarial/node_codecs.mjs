// Feeds the bridge's decoders what a hostile daemon, or the program behind it, could send. Prints one JSON object:
// how many texts each has read and refused, and what went wrong. Seeded by its argument.
import { pathToFileURL } from 'node:url'

const [, , dist, seedText] = process.argv
const load = (name) => import(pathToFileURL(`${dist}/${name}`).href)
const { ResultRefused, decodeResult } = await load('values/result.js')
const { Violation, readFrame } = await load('protocol/messages.js')
const { ToolValueRefused, decodeToolArguments, decodeToolValue } = await load('values/tools.js')

let seed = Number(seedText) >>> 0
const random = (n) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return Math.floor((seed / 2 ** 32) * n)
}
const pick = (list) => list[random(list.length)]

const WORDS = ['__proto__', 'constructor', 'prototype', 'toString', 'then', 'polluted', '__codemode_binary_v1__', 'data', 'value', '', '\ud800']
const TAGS = ['o', 'a', 's', 'm', 'e', 'd', 'x', 'E', 'X', 'b', 'v', 'w', '__proto__', 'constructor']
const scalar = () => pick([null, true, 0, -1, 2 ** 31, 2 ** 53, 1e308, 'AAAA', 'x', ...WORDS, 'Uint8Array', 'Float64Array', 'escaped', 'function'])
const value = (depth) => {
  if (depth === 0 || random(3) === 0) return scalar()
  if (random(2)) return Array.from({ length: random(4) }, () => value(depth - 1))
  const entries = Array.from({ length: random(4) }, () => [pick(WORDS), value(depth - 1)])
  const object = Object.create(null)
  for (const [key, item] of entries) object[key] = item
  return object
}
const child = () => pick([scalar, scalar, () => ({ r: random(14) - 1 }), () => ['u'], () => ['n', pick(['NaN', '-0', 'x'])], () => ['i', pick(['1', '-', '1'.repeat(40)])], () => ['h', random(4) - 1]])()
const entry = () => pick([
  () => [pick(TAGS), ...Array.from({ length: random(6) }, child)],
  () => ['o', pick(WORDS), child(), pick(WORDS), child()],
  () => ['s', pick([0, 5, 2 ** 32 - 1, 2 ** 32, -1, 1e308]), random(5), child()],
  () => ['b', pick(['AAAA', '%', 'A'.repeat(400)])],
  () => ['v', pick(['Uint8Array', 'BigInt64Array', 'DataView', '__proto__']), random(8), random(4), random(90)],
])()
const damage = (text) => {
  for (let n = random(3); n > 0; n--) {
    const at = random(text.length + 1)
    text = text.slice(0, at) + pick(['', '[', '1e999', '"', '\\ud800', '[['.repeat(5000), ',', '}']) + text.slice(at + random(3))
  }
  return text
}

const TYPES = ['hello', 'accepted', 'refused', 'call', 'cancel_call', 'logs', 'result', 'error', 'fault', 'invoked', 'over', 'draining', 'pong', '__proto__']
const header = () => ({
  t: pick(TYPES), run: pick([1, 2, 0, -1, '1', 2 ** 60]), call: pick([1, 0, 'x']), kind: pick(['tool', 'env', '__proto__']), provider: pick(['t', '__proto__']),
  tool: pick(['echo', 'x'.repeat(300)]), lines: pick([[['log', 'x']], [[1, 2]], 'x', []]), form: pick([0, 1, 2, 7]), logs: [], message: pick(['m', 1, '']), code: pick(['QUEUE_FULL', 1]), usage: pick([{}, null]), n: 1,
})
const frame = (text) => {
  for (const _ of readFrame(text)) continue
}

const decoders = {
  frame: [frame, Violation, () => header()],
  result: [(text) => decodeResult(pick([0, 1, 2, 2, 2, 9]), text, random(2) ? (number) => ({ number }) : undefined), ResultRefused,
    () => ({ root: child(), table: Array.from({ length: random(12) }, entry) })],
  tool: [decodeToolValue, ToolValueRefused, () => value(4)],
  arguments: [decodeToolArguments, ToolValueRefused, () => Array.from({ length: random(4) }, () => value(3))],
}

const pristine = () => {
  const here = []
  for (const key of [...Reflect.ownKeys(Object.prototype), ...Reflect.ownKeys(Array.prototype)]) here.push(String(key))
  return here.join()
}
const before = pristine()
const outcome = { wrong: [] }
for (const [name, [decode, Refused, make]] of Object.entries(decoders)) {
  let read = 0
  let refused = 0
  for (let n = 0; n < 3000; n++) {
    const text = damage(JSON.stringify(make())) + (name === 'frame' ? pick(['', '\n', '\n1\n', '\n{}']) : '')
    try {
      decode(text)
      read++
    } catch (error) {
      refused++
      if (!(error instanceof Refused)) outcome.wrong.push(`${name}: ${error?.name}: ${error?.message} for ${text.slice(0, 300)}`)
    }
    if ({}.polluted !== undefined || pristine() !== before) outcome.wrong.push(`${name}: a prototype was changed by ${text.slice(0, 300)}`)
  }
  outcome[name] = [read, refused]
}
outcome.wrong.length = Math.min(outcome.wrong.length, 20)
console.log(JSON.stringify(outcome))
