// A few things done at the same time, some more waiting, and everything beyond turned away.

export interface Job {
  /** Never rejects. */
  run(): Promise<void>;
  /** It will not run. */
  drop(): void;
}

export class Jobs {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: Job[] = [];
  readonly #idle: (() => void)[] = [];
  #running = 0;

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  get full(): boolean {
    return this.#running >= this.#maxRunning && this.#waiting.length >= this.#maxWaiting;
  }

  /** Take a job, unless all places are taken: then it is dropped. */
  add(job: Job): void {
    if (this.full) return job.drop();
    this.#waiting.push(job);
    this.#next();
  }

  /** Drop what waits. */
  clear(): void {
    for (const job of this.#waiting.splice(0)) job.drop();
    this.#settle();
  }

  /** Settles when nothing runs or waits. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#settle();
    });
  }

  #next(): void {
    if (this.#running >= this.#maxRunning) return;
    const job = this.#waiting.shift();
    if (job === undefined) return this.#settle();
    this.#running += 1;
    void job.run().finally(() => {
      this.#running -= 1;
      this.#next();
    });
  }

  #settle(): void {
    if (this.#running > 0 || this.#waiting.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
