// A connection for every run, for platforms where a socket belongs to the request that opened it.

import type { Connection, ConnectionOptions } from "./connection.js";
import { openPatiently } from "./opening.js";
import { type ConnectionSource, type Wanted, closed } from "./source.js";
import type { Dial } from "./transport.js";

export class OnePerRun implements ConnectionSource {
  readonly #dial: Dial;
  readonly #options: ConnectionOptions;
  readonly #open = new Set<Connection>();
  #closed = false;

  constructor(dial: Dial, options: ConnectionOptions) {
    this.#dial = dial;
    this.#options = options;
  }

  async acquire(wanted: Wanted): Promise<Connection> {
    if (this.#closed) throw closed();
    const connection = await openPatiently(() => Promise.resolve(this.#dial), this.#options, wanted);
    if (this.#closed) {
      connection.close();
      throw closed();
    }
    this.#open.add(connection);
    connection.onClosed = () => this.#open.delete(connection);
    return connection;
  }

  release(connection: Connection): void {
    connection.close();
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const connection of [...this.#open]) connection.close(closed());
    return Promise.resolve();
  }
}
