// Connections that are kept for the next run, at most so many, and the runs that wait for one.
//
// A run that a tool call of another run starts must not wait for it: each depth of nesting has as many connections of its
// own. The daemon bounds the depth.

import { ExecutorError } from "../errors.js";
import type { Connection, ConnectionOptions } from "./connection.js";
import { openPatiently } from "./opening.js";
import { type ConnectionSource, type Wanted, closed } from "./source.js";
import { after, type Timer } from "./timers.js";
import type { Dial } from "./transport.js";

export interface PoolOptions extends ConnectionOptions {
  readonly maxConnections: number;
  /** Runs that may wait for a connection; a further one fails with `QUEUE_FULL`. */
  readonly maxQueue: number;
  /** How long a connection is kept without a run; milliseconds. */
  readonly idleMs: number;
}

interface Idle {
  readonly connection: Connection;
  readonly timer: Timer;
}

interface Waiter {
  readonly depth: number;
  readonly resolve: (turn: Connection | "open") => void;
  readonly reject: (error: unknown) => void;
}

export class Pool implements ConnectionSource {
  readonly #dial: () => Promise<Dial>;
  readonly #options: PoolOptions;
  readonly #idle: Idle[] = [];
  readonly #depths = new Map<Connection, number>();
  readonly #taken = new Map<number, number>(); // connections by depth, those that are being opened included
  readonly #waiting = new Set<Waiter>();
  #closed = false;

  /** @param dial answers how to reach the daemon, each time a connection is opened */
  constructor(dial: () => Promise<Dial>, options: PoolOptions) {
    this.#dial = dial;
    this.#options = options;
  }

  async acquire(wanted: Wanted): Promise<Connection> {
    wanted.signal?.throwIfAborted();
    if (this.#closed) throw closed();
    const turn = this.#takeIdle(wanted.depth) ?? (this.#mayOpen(wanted.depth) ? "open" : await this.#wait(wanted));
    if (turn !== "open") return turn;
    try {
      const connection = await openPatiently(this.#dial, this.#options, wanted);
      if (this.#closed) {
        connection.close();
        throw closed();
      }
      this.#depths.set(connection, wanted.depth);
      connection.onClosed = () => this.#forget(connection);
      return connection;
    } catch (error) {
      this.#leave(wanted.depth);
      throw error;
    }
  }

  release(connection: Connection): void {
    const depth = this.#depths.get(connection);
    if (depth === undefined) return; // it has closed
    if (!connection.usable) return connection.close();
    for (const waiter of this.#waiting) {
      if (waiter.depth === depth) {
        this.#waiting.delete(waiter);
        return waiter.resolve(connection);
      }
    }
    const timer = after(this.#options.idleMs, () => connection.close(), true);
    this.#idle.push({ connection, timer });
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const waiter of this.#waiting) waiter.reject(closed());
    this.#waiting.clear();
    for (const connection of [...this.#depths.keys()]) connection.close(closed());
    return Promise.resolve();
  }

  /** The one that rested last: the others may go. */
  #takeIdle(depth: number): Connection | undefined {
    for (let i = this.#idle.length - 1; i >= 0; i -= 1) {
      const { connection, timer } = this.#idle[i] as Idle;
      if (this.#depths.get(connection) !== depth) continue;
      this.#idle.splice(i, 1);
      timer.clear();
      if (connection.usable) return connection;
      connection.close();
    }
    return undefined;
  }

  /** Takes a place among the connections of this depth, if there is one. */
  #mayOpen(depth: number): boolean {
    const taken = this.#taken.get(depth) ?? 0;
    if (taken >= this.#options.maxConnections) return false;
    this.#taken.set(depth, taken + 1);
    return true;
  }

  #leave(depth: number): void {
    const taken = (this.#taken.get(depth) ?? 1) - 1;
    if (taken > 0) this.#taken.set(depth, taken);
    else this.#taken.delete(depth);
    for (const waiter of this.#waiting) {
      if (waiter.depth === depth) {
        this.#mayOpen(depth);
        this.#waiting.delete(waiter);
        return waiter.resolve("open");
      }
    }
  }

  #forget(connection: Connection): void {
    const depth = this.#depths.get(connection);
    if (depth === undefined) return;
    this.#depths.delete(connection);
    const at = this.#idle.findIndex((idle) => idle.connection === connection);
    if (at >= 0) this.#idle.splice(at, 1)[0]?.timer.clear();
    this.#leave(depth);
  }

  #wait(wanted: Wanted): Promise<Connection | "open"> {
    const { maxQueue, maxConnections } = this.#options;
    if (this.#waiting.size >= maxQueue) {
      const text = `${this.#waiting.size} runs are waiting for a connection, which is the limit (maxQueue)`;
      throw new ExecutorError("QUEUE_FULL", text);
    }
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.#waiting.delete(waiter);
        timer.clear();
        wanted.signal?.removeEventListener("abort", onAbort);
      };
      const waiter: Waiter = {
        depth: wanted.depth,
        resolve: (turn) => (done(), resolve(turn)),
        reject: (error) => (done(), reject(error as Error)),
      };
      const onAbort = (): void => waiter.reject(wanted.signal?.reason);
      const timer = after(wanted.until - Date.now(), () => {
        const text = `no connection became free in time (queueTimeout); all ${maxConnections} (maxConnections) are in use`;
        waiter.reject(new ExecutorError("QUEUE_TIMEOUT", text));
      });
      wanted.signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(waiter);
    });
  }
}
