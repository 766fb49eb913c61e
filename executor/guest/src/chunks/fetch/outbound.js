// Where a request leaves. Nothing does: a run has no network of its own.
export const BLOCKED =
  'This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities ' +
  "(such as bindings in 'env') to talk to the outside world."

// Answers a promise of a Response to `request`, the state of a Request.
export const send = (request) => Promise.reject(new Error(BLOCKED))
