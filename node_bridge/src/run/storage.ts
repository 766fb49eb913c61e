// Nesting on platforms that have the class of `node:async_hooks`. Apart, so that the package's declarations do not name Node.

import type { AsyncLocalStorage } from "node:async_hooks";
import type { Nesting, NestingContext } from "./nesting.js";

export function contextOf(Storage: typeof AsyncLocalStorage): NestingContext {
  const storage = new Storage<ReadonlyMap<object, Nesting>>();
  return {
    getStore: () => storage.getStore(),
    run: (store, action) => storage.run(store, action),
    snapshot: () => Storage.snapshot(),
  };
}
