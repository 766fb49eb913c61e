// How far a request has come that its signal may still abort: until its answer's body has been read.
export const createLife = ({ onAbort }, signal) => {
  const hooks = new Set()
  const withdraw = onAbort(signal, (reason) => {
    life.aborted = true
    life.reason = reason
    for (const hook of hooks) hook(reason)
    hooks.clear()
  })
  const life = {
    aborted: false,
    reason: undefined,
    end() {
      withdraw()
      hooks.clear()
    },
    check() {
      if (life.aborted) throw life.reason
    },
    // What `promise` gives, unless the end comes first: `stop(reason)` is told. To be called while it lives.
    until: (promise, stop) =>
      new Promise((resolve, reject) => {
        const hook = (reason) => {
          stop(reason)
          reject(reason)
        }
        hooks.add(hook)
        promise.then(
          (value) => {
            hooks.delete(hook)
            resolve(value)
          },
          (error) => {
            hooks.delete(hook)
            reject(error)
          },
        )
      }),
    // A stream of the body fails with its request.
    bind(stream) {
      if (life.aborted) stream.fail(life.reason)
      else hooks.add((reason) => stream.fail(reason))
      return stream
    },
  }
  return life
}
