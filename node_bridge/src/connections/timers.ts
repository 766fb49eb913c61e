// Timers, and whether they keep a process alive.

export interface Timer {
  clear(): void;
}

/** Calls `action` after a while. With `idle`, a process that has nothing else to do does not wait for it. */
export function after(ms: number, action: () => void, idle = false): Timer {
  const timer: unknown = setTimeout(action, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
  // In workerd a timer is a number, and there is no process.
  if (idle && typeof timer === "object" && timer !== null) (timer as { unref?: () => void }).unref?.();
  return { clear: () => clearTimeout(timer as ReturnType<typeof setTimeout>) };
}

/** Settles after a while; rejects with the signal's reason if it is aborted before. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      timer.clear();
      reject(signal?.reason as Error);
    };
    const timer = after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Settles as the promise does, or rejects with the signal's reason, whichever is first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/**
 * How long to wait before the next attempt: twice as long each time, and never as long as others who began to wait at the
 * same moment.
 *
 * @param attempt from 0
 * @param atLeast what the daemon asked for; milliseconds
 */
export function backoffMs(attempt: number, atLeast = 0): number {
  const most = Math.min(2000, 50 * 2 ** Math.min(attempt, 10));
  return Math.max(atLeast, most / 2) + (Math.random() * most) / 2;
}
