// TransformStream, as a program sees it.
import { createTransform } from './transform.js'

const TRANSFORMER = 'Transformer'
const { apply } = Reflect

export const createTransformClasses = (readables, writable) => {
  const { native, readStrategy } = readables
  const { createInterface, toCallback, toDictionary } = native
  const create = createTransform(readables)
  const controllerClass = createInterface('TransformStreamDefaultController', {
    getters: { desiredSize: (transform) => transform.desiredSize },
    methods: {
      enqueue: (transform, [chunk]) => transform.enqueue(chunk),
      error: (transform, [reason]) => transform.error(reason),
      terminate: (transform) => transform.terminate(),
    },
    required: { enqueue: ['Value'], error: ['Value'] },
  })

  // The two ends as a program sees them; every stream that transforms has such a state.
  const ends = (readable, target) => ({ readable: readables.readable.make(readable), writable: writable.make(target) })

  const construct = ([given, writableStrategy, readableStrategy], bad) => {
    const transformer = toDictionary(given, bad, 1, TRANSFORMER)
    for (const side of ['readableType', 'writableType']) {
      if (transformer[side] !== undefined) throw new TypeError(`transformer.${side} must be undefined.`)
    }
    const start = toCallback(transformer, 'start', TRANSFORMER)
    const transform = toCallback(transformer, 'transform', TRANSFORMER)
    const flush = toCallback(transformer, 'flush', TRANSFORMER)
    const cancel = toCallback(transformer, 'cancel', TRANSFORMER)
    let facade
    const steps = {
      start: start && (() => apply(start, transformer, [facade])),
      transform: transform && ((chunk) => apply(transform, transformer, [chunk, facade])),
      flush: flush && (() => apply(flush, transformer, [facade])),
      cancel: cancel && ((reason) => apply(cancel, transformer, [reason])),
    }
    const inner = create(steps, readStrategy(writableStrategy, bad, 2, 1), readStrategy(readableStrategy, bad, 3, 0))
    facade = controllerClass.make(inner)
    inner.begin()
    return ends(inner.readable, inner.writable)
  }

  const stream = createInterface('TransformStream', {
    construct,
    getters: { readable: (state) => state.readable, writable: (state) => state.writable },
  })

  return { stream, ends, classes: [stream, controllerClass] }
}
