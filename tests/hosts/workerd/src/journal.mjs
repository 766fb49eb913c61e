// What a host sees of a case, in its order: each event is a list that begins with a name.
import { describe } from "../../../side_by_side/src/describe.mjs";

const journals = new Map();

export class Journal {
  #events = [];

  /** @param key under which services find it, which are given nothing but what can be written down */
  constructor(key) {
    this.key = key;
    journals.set(key, this);
  }

  /** Note an event. Its values are described now: later changes of them do not count. */
  note(name, ...values) {
    this.#events.push([name, ...values.map(describe)]);
  }

  /** All events since the last time. */
  take() {
    return this.#events.splice(0);
  }
}

/** The journal of a key. */
export function journalOf(key) {
  return journals.get(key);
}
