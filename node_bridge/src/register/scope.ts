// `env` and `exports` of a Worker, and the functions that replace them for a while.

import { AsyncLocalStorage } from "node:async_hooks";
import { shown } from "../errors.js";
import { NotInNode } from "./absent.js";

type Names = Record<string, unknown>;

interface Scope {
  readonly env: Names | undefined;
  readonly exports: Names | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();
/** What hosts have assigned to `env` outside `withEnv`. */
const assigned: Names = {};

/**
 * The configuration. Mirrors `env` of `cloudflare:workers`.
 *
 * A name gives the environment variable of the process, a string, unless the host has assigned it (`env.DB = client`).
 * Listing it (`Object.keys`, `{ ...env }`) gives the assigned names alone: a host that hands its whole `env` on, to a
 * program for example, hands on nothing of the process's environment. Inside `withEnv` it is that object.
 */
export const env = view(
  () => scopes.getStore()?.env ?? assigned,
  (name) => (scopes.getStore()?.env === undefined && Object.hasOwn(process.env, name) ? { value: process.env[name] } : undefined),
);

/**
 * The entry points of this Worker. Mirrors `exports` of `cloudflare:workers`; in Node there are none but those that
 * `withExports` gives, and reading one outside it throws.
 */
export const exports = view(
  () => scopes.getStore()?.exports ?? {},
  (name) => {
    if (scopes.getStore()?.exports !== undefined) return undefined;
    throw new NotInNode(`exports.${name}`, "a host in Node has no entry points. Import the class and construct it, or use withExports");
  },
);

/**
 * Calls `fn` with another `env`, and gives what it returns. What `fn` starts sees it as well, however late.
 * Mirrors `withEnv` of `cloudflare:workers`.
 *
 * @throws {TypeError} `newEnv` is not an object, or `fn` no function
 */
export function withEnv<T>(newEnv: object, fn: () => T): T {
  return run("withEnv", { env: names("withEnv", "newEnv", newEnv) }, fn);
}

/** `withEnv` for `exports`. Mirrors `withExports` of `cloudflare:workers`. */
export function withExports<T>(newExports: object, fn: () => T): T {
  return run("withExports", { exports: names("withExports", "newExports", newExports) }, fn);
}

/** Both at once. Mirrors `withEnvAndExports` of `cloudflare:workers`. */
export function withEnvAndExports<T>(newEnv: object, newExports: object, fn: () => T): T {
  const scope = {
    env: names("withEnvAndExports", "newEnv", newEnv),
    exports: names("withEnvAndExports", "newExports", newExports),
  };
  return run("withEnvAndExports", scope, fn);
}

function run<T>(caller: string, change: Partial<Scope>, fn: () => T): T {
  if (typeof fn !== "function") throw new TypeError(`${caller}: fn must be a function, not ${shown(fn)}`);
  const { env: outerEnv, exports: outerExports } = scopes.getStore() ?? { env: undefined, exports: undefined };
  return scopes.run({ env: change.env ?? outerEnv, exports: change.exports ?? outerExports }, fn);
}

function names(caller: string, name: string, value: unknown): Names {
  if (typeof value === "object" && value !== null) return value as Names;
  throw new TypeError(`${caller}: ${name} must be an object, not ${shown(value)}`);
}

/**
 * An object that is always the one that `current` gives, with what `otherwise` finds behind it.
 *
 * @param otherwise asked for a name that the object lacks
 */
function view(current: () => Names, otherwise: (name: string) => { value: unknown } | undefined): Names {
  const behind = (name: string | symbol): { value: unknown } | undefined =>
    typeof name === "symbol" || Reflect.has(current(), name) ? undefined : otherwise(name);
  return new Proxy<Names>({}, {
    get: (_, name) => {
      const found = behind(name);
      return found === undefined ? Reflect.get(current(), name) : found.value;
    },
    has: (_, name) => behind(name) !== undefined || Reflect.has(current(), name),
    set: (_, name, value) => Reflect.set(current(), name, value),
    deleteProperty: (_, name) => Reflect.deleteProperty(current(), name),
    defineProperty: (_, name, descriptor) => Reflect.defineProperty(current(), name, descriptor),
    ownKeys: () => Reflect.ownKeys(current()),
    // A proxy may only report what could change: its own target has no such property.
    getOwnPropertyDescriptor: (_, name) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(current(), name);
      return descriptor && { ...descriptor, configurable: true };
    },
    preventExtensions: () => false,
    setPrototypeOf: () => false,
  });
}
