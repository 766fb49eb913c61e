// A shadow run is nobody's part: started in a tool call, it would else be taken for a run that the tool waits for.

type Enter = <R>(action: () => R) => R;

/** Calls an action in the context in which this package was loaded. Where the platform has no contexts, there are none to leave. */
export const outside: Enter = await import("node:async_hooks").then(
  ({ AsyncLocalStorage }): Enter => AsyncLocalStorage.snapshot(),
  (): Enter => (action) => action(),
);
