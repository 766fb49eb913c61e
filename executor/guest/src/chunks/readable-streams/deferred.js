// A promise and its two ends. Nobody has to look at the rejection of one: it is told in other ways too.
const nothing = () => undefined

export const handled = (promise) => {
  promise.then(undefined, nothing)
  return promise
}

export const createDeferred = () => {
  const deferred = Promise.withResolvers()
  handled(deferred.promise)
  deferred.pending = true
  const { resolve, reject } = deferred
  deferred.resolve = (value) => {
    deferred.pending = false
    resolve(value)
  }
  deferred.reject = (reason) => {
    deferred.pending = false
    reject(reason)
  }
  return deferred
}

export const resolved = (value) => {
  const deferred = createDeferred()
  deferred.resolve(value)
  return deferred
}

export const rejected = (reason) => {
  const deferred = createDeferred()
  deferred.reject(reason)
  return deferred
}

// What a callback of the program answers, as a promise; what it throws at once is a rejection.
export const attempt = (run) => {
  try {
    return Promise.resolve(run())
  } catch (error) {
    return Promise.reject(error)
  }
}
