// The classes of Workers that hosts extend. In workerd they keep what they are constructed with, and so they do here; what
// calls them there, Workers RPC and the Durable Objects' own machinery, is not in Node: a host calls its methods itself.
// The type of `ctx` is open, because it is the host that says what it is; a class can declare it again, more tightly.

import { shown } from "../errors.js";

/** A service, or a connector of upstream's. Mirrors `WorkerEntrypoint` of `cloudflare:workers`. */
export class WorkerEntrypoint<Env = unknown, _Props = unknown> {
  protected ctx: any;
  protected env: Env;

  /**
   * @param ctx what `this.ctx` is: in a Worker its `ExecutionContext`, in Node any object that the class needs, `{}` for none
   * @param env what `this.env` is: an object
   * @throws {TypeError} one of them is not an object, as in workerd
   */
  constructor(ctx: any, env: Env) {
    this.ctx = anObject("WorkerEntrypoint", "ctx", ctx);
    this.env = anObject("WorkerEntrypoint", "env", env);
  }
}

/** Mirrors `DurableObject` of `cloudflare:workers`. Nothing stores its state: `ctx` has what the host gives it. */
export class DurableObject<Env = unknown, _Props = unknown> {
  protected ctx: any;
  protected env: Env;

  /**
   * @param ctx what `this.ctx` is: in a Worker its `DurableObjectState`, in Node an object with what the class uses of it
   * @param env what `this.env` is: an object
   * @throws {TypeError} one of them is not an object. workerd takes nothing but its own `DurableObjectState`
   */
  constructor(ctx: any, env: Env) {
    this.ctx = anObject("DurableObject", "ctx", ctx);
    this.env = anObject("DurableObject", "env", env);
  }
}

/** Mirrors `WorkflowEntrypoint` of `cloudflare:workers`. Nothing runs it: there are no Workflows in Node. */
export class WorkflowEntrypoint<Env = unknown, _Props = unknown> {
  protected ctx: any;
  protected env: Env;

  /**
   * @param ctx what `this.ctx` is: an object
   * @param env what `this.env` is: an object
   * @throws {TypeError} one of them is not an object. workerd takes nothing but its own `ExecutionContext`
   */
  constructor(ctx: any, env: Env) {
    this.ctx = anObject("WorkflowEntrypoint", "ctx", ctx);
    this.env = anObject("WorkflowEntrypoint", "env", env);
  }
}

/**
 * What programs call by its methods, where it is in the option `bindings`. Mirrors `RpcTarget` of `cloudflare:workers`;
 * in Node nothing sends it anywhere.
 */
export class RpcTarget {}

function anObject<T>(owner: string, name: string, value: T): T {
  if ((typeof value === "object" && value !== null) || typeof value === "function") return value;
  throw new TypeError(`new ${owner}(ctx, env): ${name} must be an object, not ${shown(value)}; in Node {} will do where nothing reads it`);
}
