// Where a request leaves. Nothing does: a run has no network of its own.
const BLOCKED =
  'This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities ' +
  "(such as bindings in 'env') to talk to the outside world."

// What everything is told that would open a connection.
export const refusal = () => new Error(BLOCKED)

// Answers a promise of a Response to `request`, the state of a Request.
export const send = async (request) => {
  throw refusal()
}
