// Two streams of what one stream gives.
import { ByteController } from './byte-controller.js'
import { createDeferred } from './deferred.js'
import { DefaultController, Readable, Reader } from './readable.js'

export const tee = (stream) => {
  // The comma is workerd's.
  const reader = new Reader(stream, 'This ReadableStream is currently locked to a reader,')
  stream.disturbed = true
  const isBytes = stream.controller instanceof ByteController
  const cancelled = createDeferred()
  const branches = [new Readable(), new Readable()]
  const gone = [false, false]
  let reading = false
  let again = false

  const give = (i, chunk) => {
    const { controller } = branches[i]
    if (gone[i] || !controller.canEnqueue) return
    if (isBytes) controller.push(i === 0 ? chunk : chunk.slice())
    else controller.enqueue(chunk)
  }

  const pull = () => {
    if (reading) {
      again = true
      return
    }
    reading = true
    again = false
    reader.read({
      chunk(chunk) {
        give(0, chunk)
        give(1, chunk)
        reading = false
        if (again) pull()
      },
      close() {
        reading = false
        for (let i = 0; i < 2; i++) if (!gone[i] && branches[i].controller.canEnqueue) branches[i].controller.close()
        cancelled.resolve(undefined)
      },
      error() {
        reading = false
      },
    })
  }

  branches.forEach((branch, i) => {
    const source = {
      pull,
      cancel(reason) {
        gone[i] = true
        if (gone[0] && gone[1]) cancelled.resolve(stream.cancel(reason))
        return cancelled.promise
      },
    }
    const { internal = false } = stream.controller
    if (isBytes) new ByteController(branch, source, { highWaterMark: 0, internal }).begin()
    else new DefaultController(branch, source, { highWaterMark: 1 }).begin()
  })
  reader.closed.promise.then(undefined, (reason) => {
    for (const branch of branches) branch.controller.error(reason)
    cancelled.resolve(undefined)
  })
  return branches
}
