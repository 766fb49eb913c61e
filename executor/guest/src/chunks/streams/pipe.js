// From a readable stream into a writable one, until one of them ends or a signal says so.
import { handled } from '../readable-streams/deferred.js'
import { LOCKED, Writer } from './writable.js'

export const pipe = (Reader, source, target, { preventClose, preventAbort, preventCancel, signal }, message = LOCKED) => {
  const reader = new Reader(source)
  let writer
  try {
    writer = new Writer(target, message)
  } catch (error) {
    reader.release()
    throw error
  }
  source.disturbed = true
  const { promise, resolve, reject } = Promise.withResolvers()
  let over = false
  let lastWrite = Promise.resolve()

  const finish = (outcome) => {
    signal?.removeEventListener('abort', onAbort)
    writer.release()
    reader.release()
    if (outcome === undefined) resolve(undefined)
    else reject(outcome.reason)
  }

  // What was read is written before anything ends.
  const settleWrites = async () => {
    if (target.state !== 'writable' || target.isClosing) return
    let seen
    do {
      seen = lastWrite
      await seen.then(undefined, () => undefined)
    } while (seen !== lastWrite)
  }

  const end = async (outcome, action) => {
    if (over) return
    over = true
    await settleWrites()
    if (action !== undefined) {
      try {
        await action()
      } catch (reason) {
        return finish({ reason })
      }
    }
    finish(outcome)
  }

  const onAbort = () => {
    const { reason } = signal
    end({ reason }, () => {
      const actions = []
      if (!preventCancel && source.state === 'readable') actions.push(source.cancel(reason))
      if (!preventAbort) actions.push(target.abort(reason))
      return Promise.all(actions)
    })
  }

  const sourceFailed = (reason) => end({ reason }, preventAbort ? undefined : () => target.abort(reason))
  const targetFailed = (reason) => end({ reason }, preventCancel ? undefined : () => source.cancel(reason))
  const sourceClosed = () =>
    end(undefined, preventClose || target.isClosing || target.state === 'closed' ? undefined : () => target.close())

  const step = async () => {
    while (!over) {
      try {
        await writer.ready.promise
      } catch {
        return // `writer.closed` tells
      }
      if (over) return
      const more = await new Promise((answer) => {
        reader.read({
          chunk(chunk) {
            lastWrite = handled(target.write(chunk))
            answer(true)
          },
          close: () => answer(false),
          error: () => answer(false),
        })
      })
      if (!more) return
    }
  }

  if (signal !== undefined) {
    if (signal.aborted) {
      onAbort()
      return promise
    }
    signal.addEventListener('abort', onAbort)
  }
  if (source.state === 'errored') sourceFailed(source.error)
  else if (target.state === 'errored' || target.state === 'erroring') targetFailed(target.error)
  else if (source.state === 'closed') sourceClosed()
  else if (target.state === 'closed' || target.isClosing) {
    targetFailed(new TypeError('This destination writable stream is closed.'))
  } else {
    reader.closed.promise.then(sourceClosed, sourceFailed)
    writer.closed.promise.then(
      () => targetFailed(new TypeError('This destination writable stream is closed.')),
      targetFailed,
    )
    step()
  }
  return promise
}
