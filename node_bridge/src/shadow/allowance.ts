// What all recordings of an executor may hold together. Characters, because that is what texts are counted in; one takes
// one or two bytes.

/** What one recording holds. */
export interface Share {
  /** Count more; false if there is no room, and then nothing is counted. */
  take(characters: number): boolean;
  /** Give everything back. */
  release(): void;
}

export class Allowance {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  share(): Share {
    let held = 0;
    return {
      take: (characters) => {
        if (characters > this.#left) return false;
        this.#left -= characters;
        held += characters;
        return true;
      },
      release: () => {
        this.#left += held;
        held = 0;
      },
    };
  }
}
