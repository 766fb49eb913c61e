// Work that a host does not wait for.

import { shown } from "../errors.js";

/**
 * Lets a promise settle by itself. In a Worker that keeps the request's context alive; Node needs no telling, and stays as
 * long as the work has something to do. A rejection is written to `console.error` and ends nothing.
 * Mirrors `waitUntil` of `cloudflare:workers`.
 *
 * @throws {TypeError} without a promise
 */
export function waitUntil(promise: PromiseLike<unknown>): void {
  if (typeof (promise as { then?: unknown } | null | undefined)?.then !== "function") {
    throw new TypeError(`waitUntil: a promise is needed, not ${shown(promise)}`);
  }
  promise.then(undefined, (error: unknown) => console.error("waitUntil: a promise was rejected:", error));
}
