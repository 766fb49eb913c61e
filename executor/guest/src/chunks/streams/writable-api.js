// WritableStream and what belongs to it, as a program sees them.
import { LOCKED, Writable, WritableController, Writer } from './writable.js'

const SINK = 'UnderlyingSink'
const { apply } = Reflect

export const createWritableClasses = ({ native, readStrategy }, AbortController) => {
  const { createInterface, toCallback, toDictionary } = native
  const controllerClass = createInterface('WritableStreamDefaultController', {
    getters: { signal: ({ abort }) => abort().signal },
    methods: { error: ({ controller }, [reason]) => controller.error(reason) },
  })

  const construct = ([given, strategy], bad) => {
    const sink = toDictionary(given, bad, 1, SINK)
    const start = toCallback(sink, 'start', SINK)
    const write = toCallback(sink, 'write', SINK)
    const abort = toCallback(sink, 'abort', SINK)
    const close = toCallback(sink, 'close', SINK)
    const inner = new Writable()
    let aborter
    const ensureAborter = () => (aborter ??= new AbortController())
    let facade
    const steps = {
      start: start && (() => apply(start, sink, [facade])),
      write: write && ((chunk) => apply(write, sink, [chunk, facade])),
      close: close && (() => apply(close, sink, [])),
      abort: abort && ((reason) => apply(abort, sink, [reason])),
      // Who looks at the signal afterwards sees it too.
      signalAbort: (reason) => ensureAborter().abort(reason),
    }
    const controller = new WritableController(inner, steps, readStrategy(strategy, bad, 2, 1))
    facade = controllerClass.make({ controller, abort: ensureAborter })
    controller.begin()
    return inner
  }

  const writer = createInterface('WritableStreamDefaultWriter', {
    required: { constructor: ['WritableStream'] },
    construct([value], bad) {
      if (!stream.has(value)) throw bad(1, 'WritableStream')
      return new Writer(stream.of(value))
    },
    getters: {
      closed: (state) => state.closed.promise,
      ready: (state) => state.ready.promise,
      desiredSize: (state) => state.desiredSize,
    },
    promises: {
      abort: (state, [reason]) => state.held.abort(reason),
      close: (state) => state.held.close(),
      write: (state, [chunk]) => state.held.write(chunk),
    },
    methods: { releaseLock: (state) => state.release() },
  })

  const held = (inner) => {
    if (inner.locked) throw new TypeError(LOCKED + '.')
    return inner
  }

  const stream = createInterface('WritableStream', {
    construct,
    getters: { locked: (inner) => inner.locked },
    promises: {
      abort: (inner, [reason]) => held(inner).abort(reason),
      close: (inner) => held(inner).close(),
    },
    methods: { getWriter: (inner) => writer.make(new Writer(inner)) },
  })

  return { stream, classes: [stream, writer, controllerClass] }
}
