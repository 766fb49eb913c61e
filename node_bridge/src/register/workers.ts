// The module `cloudflare:workers`, as far as Node can have it.
//
// Its names are those of workerd's, all of them: a name that is missing would fail the whole import, also where nothing uses it.

export { RpcPromise, RpcProperty, RpcStub, ServiceStub, cache, tracing } from "./absent.js";
export { DurableObject, RpcTarget, WorkerEntrypoint, WorkflowEntrypoint } from "./entrypoints.js";
export { env, exports, withEnv, withEnvAndExports, withExports } from "./scope.js";
export { waitUntil } from "./wait_until.js";
