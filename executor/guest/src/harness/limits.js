// The bounds of the run, as the worker sets them before the program starts. Everything else is made ready before that,
// while nobody waits.
export const limits = {
  __proto__: null,
  logBytes: 0,
  logLines: 0,
  argumentBytes: 0,
  resultBytes: 0,
  callsInFlight: 0,
  retain: false, // functions in the result become handles
}
