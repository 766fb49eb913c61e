// What Workers have and Node cannot: importing it works, using it says why it does not.

/** Something of `cloudflare:workers` was used that Node has no counterpart for. `code` is `ERR_NOT_IN_NODE`. */
export class NotInNode extends Error {
  override readonly name = "NotInNode";
  readonly code = "ERR_NOT_IN_NODE";

  constructor(what: string, why: string) {
    super(`${what} of cloudflare:workers cannot be used in Node: ${why}`);
  }
}

/** An object whose every use throws. It can be imported, passed on and printed. */
function absent(what: string, why: string): object {
  const refuse = (): never => {
    throw new NotInNode(what, why);
  };
  return new Proxy(Object.freeze({}), {
    // Symbols are how the language and Node look at a value, not how a host uses one.
    get: (_, name) => (typeof name === "symbol" ? undefined : refuse()),
    has: refuse,
    set: refuse,
    deleteProperty: refuse,
    defineProperty: refuse,
  });
}

/** Mirrors `RpcStub` of `cloudflare:workers`: what a host makes of an object to send it. */
export class RpcStub {
  /** @throws {NotInNode} always */
  constructor(_target: unknown) {
    throw new NotInNode("RpcStub", "there is no Workers RPC to send a stub over. Pass the object itself");
  }
}

// These three no host constructs, in workerd neither: they are there for `instanceof`, which nothing satisfies here.

/** Mirrors `RpcPromise` of `cloudflare:workers`. */
export class RpcPromise {
  /** @throws {TypeError} always, as in workerd */
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

/** Mirrors `RpcProperty` of `cloudflare:workers`. */
export class RpcProperty {
  /** @throws {TypeError} always, as in workerd */
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

/** Mirrors `ServiceStub` of `cloudflare:workers`. */
export class ServiceStub {
  /** @throws {TypeError} always, as in workerd */
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

/** Mirrors `cache` of `cloudflare:workers`. */
export const cache = absent("cache", "it purges a cache that Cloudflare runs in front of a Worker");

/** Mirrors `tracing` of `cloudflare:workers`. */
export const tracing = absent("tracing", "its spans go to the Workers runtime. Use OpenTelemetry's API for Node");
