// Messages that are sent in the same turn leave in one frame.

import { MAX_JOINED, type Message } from "./messages.js";

const MAX_MESSAGES = 1000;

export class Batch {
  readonly #send: (head: string, tail?: string) => void;
  readonly #later: (flush: () => void) => void;
  #messages: string[] = [];
  #size = 0;
  #scheduled = false;

  /**
   * @param send takes a frame, the end of which may be apart
   * @param later calls what it is given once the current turn is over
   */
  constructor(send: (head: string, tail?: string) => void, later: (flush: () => void) => void) {
    this.#send = send;
    this.#later = later;
  }

  add(message: Message): void {
    if (typeof message !== "string") {
      this.flush();
      this.#send(message.head, message.tail);
      return;
    }
    const size = message.length + 1;
    if (this.#size + size > MAX_JOINED || this.#messages.length >= MAX_MESSAGES) this.flush();
    this.#messages.push(message);
    this.#size += size;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#later(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    const frame = this.#messages.length === 1 ? (this.#messages[0] as string) : this.#messages.join("\n");
    this.#messages = [];
    this.#size = 0;
    this.#send(frame);
  }
}
