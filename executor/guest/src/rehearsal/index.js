// What every run does, done once before V8 writes the harness down: a function that has been called is compiled, and the
// snapshot keeps that. The harness this is done with is thrown away; the one that is kept comes out of the same script and
// shares its compiled functions, but none of its state. What is left of the first one on globals, the other one replaces
// when it is attached.

// V8 adds these to a context when it hands it out, so they are not there yet: see `takeLate` in ../harness/primordials.js.
const LATE = [
  [Uint8Array, 'fromBase64'],
  [Uint8Array.prototype, 'toBase64'],
  [Error, 'isError'],
]

const CONFIGURATION = {
  kind: 4,
  providers: [{ name: 'tools', hasThen: false, connector: false }],
  env: { of: ['the run'] },
  seed: [1, 2, 3, 4],
  chunks: false,
  retain: false,
  outbound: false,
  logBytes: 1024,
  logLines: 16,
  argumentBytes: 1024,
  resultBytes: 1024,
  callsInFlight: 16,
}

const RESULT = [{ text: 'a', number: 1.5, truth: true, nothing: null, list: [1, 2] }]

function program() {
  const { tools } = arguments[0]
  return async () => {
    console.log('a line', 1)
    setTimeout(() => {}, Math.random())
    await Promise.all([tools.read({ a: 1 }), tools.write('b')])
    return RESULT
  }
}

export default function rehearse(port) {
  for (const [owner, name] of LATE) {
    Object.defineProperty(owner, name, { value: () => undefined, writable: true, configurable: true })
  }
  const deliver = (items) => Reflect.apply(port, JSON.stringify(items), [])
  Reflect.apply(port, () => undefined, [])
  deliver([CONFIGURATION])
  globalThis.__start__(program)
  deliver([{ kind: 0, id: 0, value: { a: ['b'] } }, { kind: 0, id: 1 }])
  for (const [owner, name] of LATE) delete owner[name]
}
