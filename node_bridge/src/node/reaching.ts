// How executors of this process reach their daemons. Hosts make an executor for every request, so connections and embedded
// daemons belong to the process: executors with the same options share them, and the last one that is closed ends them.

import { AsyncLocalStorage } from "node:async_hooks";
import { Pool, type PoolOptions } from "../connections/pool.js";
import type { Dial } from "../connections/transport.js";
import { badRequest, shown } from "../errors.js";
import { checkedToken, count, milliseconds } from "../options.js";
import type { Platform } from "../remote_executor.js";
import { contextOf } from "../run/storage.js";
import { type Address, type TlsOptions, dialNode } from "./dial.js";
import { EmbeddedDaemon } from "./embedded.js";

/** What an executor in Node takes besides. */
export interface ReachOptions {
  /**
   * Where the daemon listens: `ws://host:port`, `wss://…`, or `unix:/path/of/socket`. Without it, this process starts a
   * daemon of its own, which ends with it.
   */
  url?: string | undefined;
  /** The daemon's token; needed with `url`. */
  token?: string | undefined;
  /** How the certificate of a `wss:` daemon is checked, and what this host shows of itself. */
  tls?: TlsOptions | undefined;
  /** The Python of the embedded daemon; else the environment variable `CODEMODE_PYTHON`, else `python3` on `PATH`. */
  python?: string | undefined;
  /** Further arguments of the embedded daemon, as of `codemode-executor serve`. */
  daemonArgs?: readonly string[] | undefined;
  /** Takes the embedded daemon's log, one line of JSON at a time. It is dropped without. */
  daemonLog?: ((line: string) => void) | undefined;
  /** Runs at the same time, for each depth of nesting; further ones wait. 32 without. */
  maxConnections?: number | undefined;
  /** Runs that may wait for a connection; a further one rejects with `QUEUE_FULL`. 1000 without. */
  maxQueue?: number | undefined;
  /** How long a connection is kept without a run; milliseconds, 30 000 without. */
  idleTimeout?: number | undefined;
}

interface Shared {
  readonly pool: Pool;
  readonly embedded: EmbeddedDaemon | undefined;
  users: number;
}

const shared = new Map<string, Shared>();
const context = contextOf(AsyncLocalStorage);
const logs = new Map<(line: string) => void, number>(); // functions have no text to tell them apart by

/**
 * @param connectTimeoutMs as the executor's option
 * @throws {ExecutorError} `BAD_REQUEST`: an option is unusable
 */
export function reachDaemon(options: ReachOptions, connectTimeoutMs: number): Platform {
  const pooling: PoolOptions = {
    connectTimeoutMs,
    later: (action) => void setImmediate(action),
    maxConnections: count("maxConnections", options.maxConnections, 1, 10_000, 32),
    maxQueue: count("maxQueue", options.maxQueue, 0, 1_000_000, 1000),
    idleMs: milliseconds("idleTimeout", options.idleTimeout, 30_000),
  };
  const { key, make } = options.url === undefined ? embedded(options) : remote(options, options.url);
  const name = JSON.stringify([key, pooling.connectTimeoutMs, pooling.maxConnections, pooling.maxQueue, pooling.idleMs]);
  let entry = shared.get(name);
  if (entry === undefined) {
    entry = { ...make(pooling), users: 0 };
    shared.set(name, entry);
  }
  const mine = entry;
  mine.users += 1;
  const release = async (): Promise<void> => {
    mine.users -= 1;
    if (mine.users > 0) return;
    shared.delete(name);
    await mine.pool.close();
    await mine.embedded?.stop();
  };
  return { source: mine.pool, daemon: mine, context, release };
}

interface Reaching {
  readonly key: unknown[];
  readonly make: (pooling: PoolOptions) => Omit<Shared, "users">;
}

function remote(options: ReachOptions, url: string): Reaching {
  for (const name of ["python", "daemonArgs", "daemonLog"] as const) {
    if (options[name] !== undefined) throw badRequest(`${name} is for the embedded daemon, and url names another: give one of them`);
  }
  const address = parseAddress(url);
  const token = checkedToken(options.token);
  const { ca, cert, key, servername } = options.tls ?? {};
  const tls: TlsOptions = Object.fromEntries(
    Object.entries({ ca, cert, key, servername }).filter(([, value]) => value !== undefined),
  );
  const texts = Object.entries(tls).map(([name, value]) => [name, String(value as string | Uint8Array)]);
  const dial = dialNode(address, token, tls);
  return {
    key: ["remote", address, token, texts],
    make: (pooling) => ({ pool: new Pool(() => Promise.resolve(dial), pooling), embedded: undefined }),
  };
}

function embedded(options: ReachOptions): Reaching {
  if (options.token !== undefined) throw badRequest("token is given without url: the embedded daemon makes one of its own");
  const { python, daemonArgs: args = [], daemonLog: log } = options;
  if (python !== undefined && (typeof python !== "string" || python === "")) {
    throw badRequest(`python must be the path or name of a program, not ${shown(python)}`);
  }
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
    throw badRequest("daemonArgs must be a list of strings");
  }
  if (log !== undefined && typeof log !== "function") throw badRequest(`daemonLog must be a function, not ${shown(log)}`);
  return {
    key: ["embedded", python, args, log && numberOf(log)],
    make: (pooling) => {
      const daemon = new EmbeddedDaemon({ python, args, log });
      const dial = async (): Promise<Dial> => {
        const { path, token } = await daemon.reach();
        return dialNode({ path }, token, {});
      };
      return { pool: new Pool(dial, pooling), embedded: daemon };
    },
  };
}

function numberOf(log: (line: string) => void): number {
  const number = logs.get(log) ?? logs.size;
  logs.set(log, number);
  return number;
}

/** @throws {ExecutorError} `BAD_REQUEST` */
export function parseAddress(url: unknown): Address {
  const usable = "ws://host:port, wss://host:port or unix:/path/of/socket";
  let parsed: URL;
  try {
    parsed = new URL(String(url));
  } catch {
    throw badRequest(`url must be ${usable}, not ${shown(url)}`);
  }
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    throw badRequest("url holds more than an address; a token never goes into a URL: use the option token");
  }
  if (parsed.protocol === "unix:") {
    const path = decodeURIComponent(parsed.pathname);
    if (parsed.host !== "" || !path.startsWith("/")) throw badRequest(`url must be ${usable}, not ${shown(url)}`);
    return { path };
  }
  const protocol = parsed.protocol.replace(/^http/, "ws");
  if (protocol !== "ws:" && protocol !== "wss:") throw badRequest(`url must be ${usable}, not ${shown(url)}`);
  return { url: `${protocol}//${parsed.host}${parsed.pathname}` };
}
