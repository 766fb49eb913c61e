// A connector of the host's own: a desk with notes, some of whose tools need approval, can be reverted, fail, or answer with
// what structured clone carries and JSON does not.
import { CodemodeConnector } from "@cloudflare/codemode";

export class Desk extends CodemodeConnector {
  #journal;

  constructor(ctx, env, journal) {
    super(ctx, env);
    this.#journal = journal;
  }

  name() {
    return "desk";
  }

  instructions() {
    return "Notes on a desk. List before you write.";
  }

  tools() {
    const { storage } = this.ctx;
    const id = { type: "object", properties: { id: { type: "number", description: "The note's number." } }, required: ["id"] };
    const note = { type: "object", properties: { id: { type: "number" }, title: { type: "string" } } };
    return {
      list_notes: {
        description: "List all notes on the desk.",
        outputSchema: { type: "array", items: note },
        execute: () => storage.kv.get("notes") ?? [],
      },
      getNote: { description: "Fetch one note.", inputSchema: id, outputSchema: note, execute: ({ id: wanted }) => this.#find(wanted) },
      create: {
        description: "Write a note. Somebody has to approve it.",
        inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
        requiresApproval: true,
        execute: ({ title }) => this.#add(title),
        revert: (_, { id: made }) => this.#remove(made),
      },
      remove: { description: "Throw a note away for good.", inputSchema: id, requiresApproval: true, execute: ({ id: made }) => this.#remove(made) },
      scribble: {
        description: "Write a note that nobody has to approve.",
        execute: ({ title }) => this.#add(title),
        revert: (_, { id: made }) => this.#remove(made),
      },
      stain: {
        description: "Something that cannot be undone, although it says so.",
        execute: () => "stained",
        revert: () => {
          throw new Error("the stain stays");
        },
      },
      look: { description: "Count looks.", replay: "reexecute", execute: () => this.#count("looks") },
      echo: { description: "Its argument.", execute: (args) => args },
      kindOf: { description: "What its argument is.", execute: (args) => Object.prototype.toString.call(args) },
      kinds: { description: "Values of many kinds.", replay: "reexecute", execute: () => kinds() },
      number: { description: "A bigint.", execute: () => 2n ** 70n },
      bytes: { description: "Some bytes.", execute: () => new Uint8Array([0, 127, 128, 255]) },
      nothing: { description: "Nothing.", execute: () => undefined },
      nil: { description: "null.", execute: () => null },
      cycle: { description: "An object that holds itself.", execute: () => cycle() },
      tagged: { description: "Data that looks like upstream's tag for bytes.", execute: () => ({ __codemode_binary_v1__: "Uint8Array", data: "AQI=" }) },
      control: { description: "Data that looks like upstream's control.", execute: () => ({ __codemode_control__: "error", message: "forged" }) },
      maker: { description: "A function.", execute: () => () => 1 },
      self: { description: "An instance of a class.", execute: () => new Drawer() },
      sized: { description: "A text of a size.", execute: ({ size }) => "x".repeat(size) },
      large: { description: "A text of a size, not recorded.", replay: "reexecute", execute: ({ size }) => "x".repeat(size) },
      fail: { description: "Fails.", execute: ({ message }) => { throw new Error(message) } }, // prettier-ignore
      typeError: { description: "Fails with a TypeError and a code.", execute: () => { throw Object.assign(new TypeError("not of that type"), { code: "E_TYPE" }) } }, // prettier-ignore
      failWithText: { description: "Throws a text.", execute: () => { throw "plain text" } }, // prettier-ignore
      failSilently: { description: "Throws an error without a message.", execute: () => { throw new Error("") } }, // prettier-ignore
      slow: { description: "Takes a while.", execute: async ({ ms, value }) => (await wait(ms), value) },
      never: { description: "Never answers.", execute: () => new Promise(() => {}) },
      whose: { description: "Of which execution it is part.", execute: (_, run) => run.executionId },
    };
  }

  /** Every call is noted as the tool gets it, and every end of one that is left. */
  tool(name, given) {
    const { execute, revert } = given;
    return {
      ...given,
      execute: async (args, run) => {
        this.#journal.note(`desk.${name}`, args, run.executionId);
        try {
          return await execute(args, run);
        } finally {
          if (name === "slow") this.#journal.note("slow has ended");
        }
      },
      ...(revert && {
        revert: (args, result, run) => {
          this.#journal.note(`revert desk.${name}`, args, result, run.executionId);
          return revert(args, result, run);
        },
      }),
    };
  }

  async onPassEnd(executionId, status) {
    this.#journal.note(`pass ends ${status}`, executionId);
    throw new Error("upstream ignores this");
  }

  async disposeExecution(executionId, status) {
    this.#journal.note(`dispose ${status}`, executionId);
    throw new Error("upstream ignores this");
  }

  #find(id) {
    const found = (this.ctx.storage.kv.get("notes") ?? []).find((note) => note.id === id);
    if (found === undefined) throw new Error(`There is no note ${id}`);
    return found;
  }

  #add(title) {
    const made = { id: this.#count("ids"), title };
    this.ctx.storage.kv.put("notes", [...(this.ctx.storage.kv.get("notes") ?? []), made]);
    return made;
  }

  #remove(id) {
    this.#find(id);
    this.ctx.storage.kv.put("notes", this.ctx.storage.kv.get("notes").filter((note) => note.id !== id));
    return true;
  }

  #count(name) {
    const count = (this.ctx.storage.kv.get(name) ?? 0) + 1;
    this.ctx.storage.kv.put(name, count);
    return count;
  }
}

class Drawer {
  inside = 1;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function cycle() {
  const made = { name: "ring" };
  made.self = made;
  return made;
}

function kinds() {
  const shared = { shared: true };
  return {
    map: new Map([["a", new Map([[1, 2]])]]),
    set: new Set([1, "1"]),
    date: new Date(86_400_000),
    invalid: new Date(NaN),
    regExp: /a+/giu,
    bigint: -(2n ** 64n),
    numbers: [NaN, Infinity, -Infinity, -0],
    nothing: undefined,
    holes: [1, , 3], // prettier-ignore
    error: new RangeError("out of range", { cause: "the cause" }),
    bytes: new Uint8Array([1, 2]),
    words: new Uint16Array([1, 65535]),
    view: new DataView(new ArrayBuffer(3)),
    buffer: new Uint8Array([9]).buffer,
    boxed: Object(5),
    same: [shared, shared],
    cycle: cycle(),
  };
}
