// How a run that is started from a tool call of another run knows it. The daemon admits such a run although its caller, which
// waits for it, holds a worker.

/** The run, or runs, in whose tool call something happens: by where they run. */
export interface Nesting {
  readonly token: string;
  readonly depth: number;
}

/** What the platform has for values that follow a call through its promises. */
export interface AsyncContext<T> {
  getStore(): T | undefined;
  run<R>(store: T, action: () => R): R;
  /** What calls an action in the context of this moment: events of a socket come in that of whoever opened it. */
  snapshot(): <R>(action: () => R) => R;
}

export type NestingContext = AsyncContext<ReadonlyMap<object, Nesting>>;

/** For platforms that have none: every run is a run of its own. */
export const NO_CONTEXT: NestingContext = {
  getStore: () => undefined,
  run: (_, action) => action(),
  snapshot: () => (action) => action(),
};

/**
 * What calls an action as part of a tool call of a run: in the context of this moment, which is that of whoever started the
 * run, and with the run as the parent of those that the action starts. A run has one token.
 *
 * @param where stands for the daemon
 */
export function insideRun(context: NestingContext, where: object, depth: number): (token: string, action: () => void) => void {
  const outside = context.snapshot();
  let inside: (<R>(action: () => R) => R) | undefined;
  return (token, action) => {
    inside ??= outside(() =>
      context.run(new Map([...(context.getStore() ?? []), [where, { token, depth }]]), () => context.snapshot()),
    );
    inside(action);
  };
}
