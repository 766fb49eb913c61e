// `node --import codemode-executor-bridge/register host.mjs`: from then on the process can import `cloudflare:workers`.

import module from "node:module";
import { fileURLToPath } from "node:url";
import { resolve, supplied } from "./hooks.js";

/** What Node's module `module` has beside what its declarations say, depending on its version. */
interface Internals {
  /** Node 20.6 and newer. */
  register?: (specifier: string, parentURL: string) => void;
  /** Node 22.15 and newer. */
  registerHooks?: (hooks: { resolve: typeof resolve }) => unknown;
  /** How `require` finds a file. Not public, and as old as Node. */
  _resolveFilename: (this: unknown, request: string, ...rest: unknown[]) => string;
}
const internals = module as unknown as Internals;

if (internals.registerHooks !== undefined) {
  internals.registerHooks({ resolve });
} else {
  if (internals.register === undefined) {
    throw new Error(`codemode-executor-bridge/register needs Node 20.6 or newer; this is ${process.versions.node}`);
  }
  internals.register("./hooks.js", import.meta.url);
  // Those hooks are asked for `import` alone.
  const original = internals._resolveFilename;
  internals._resolveFilename = function resolveFilename(request, ...rest) {
    const url = supplied(request);
    return url === undefined ? original.call(this, request, ...rest) : fileURLToPath(url);
  };
}
