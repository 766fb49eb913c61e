// Messages that are sent in the same turn leave in one frame.

/** A frame that holds several messages stays under this; characters. */
export const MAX_JOINED = 256 * 1024;
const MAX_MESSAGES = 1000;

export class Batch {
  readonly #send: (frame: string) => void;
  readonly #later: (flush: () => void) => void;
  #messages: string[] = [];
  #size = 0;
  #scheduled = false;

  /**
   * @param send takes a frame
   * @param later calls what it is given once the current turn is over
   */
  constructor(send: (frame: string) => void, later: (flush: () => void) => void) {
    this.#send = send;
    this.#later = later;
  }

  add(message: string): void {
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
    const frame = this.#messages.join("\n");
    this.#messages = [];
    this.#size = 0;
    this.#send(frame);
  }
}
