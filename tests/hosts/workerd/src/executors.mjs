// The one thing in which the two sides differ.
import { DynamicWorkerExecutor as Upstreams } from "@cloudflare/codemode";
import { DynamicWorkerExecutor as Ours } from "codemode-executor-bridge";

/**
 * The executor of a side, `upstream` or `ours`, with the options that both take.
 *
 * @param env of the host: the loader of the one, address and token of the other
 */
export function makeExecutor(side, env, options) {
  if (side === "upstream") return new Upstreams({ loader: env.LOADER, ...options });
  return new Ours({ url: env.URL, token: env.TOKEN, ...options });
}
