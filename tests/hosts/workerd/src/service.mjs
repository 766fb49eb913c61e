// A service of this Worker: what hosts give to programs among their bindings, and what answers their requests.
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";
import { journalOf } from "./journal.mjs";

export class Service extends WorkerEntrypoint {
  get version() {
    return "1.2";
  }

  async hello(...args) {
    this.#note("hello", ...args);
    return { hello: args, tenant: this.ctx.props.tenant };
  }

  /** Its argument, as it came. */
  async echo(value) {
    this.#note("echo", value);
    return value;
  }

  async fail(message) {
    throw new TypeError(message);
  }

  async maker() {
    return (value) => value + 1;
  }

  async counter() {
    return new Counter();
  }

  async box() {
    return { counter: new Counter(), label: "box" };
  }

  async apply(callback, value) {
    return await callback(value);
  }

  async fetch(request) {
    const url = new URL(request.url);
    const body = await request.text();
    this.#note("fetch", request.method, request.url, request.headers.get("x-trace"), body);
    if (url.pathname === "/broken") return new Response("no", { status: 503, headers: { "x-why": "tired" } });
    const seen = { method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams), trace: request.headers.get("x-trace"), body };
    return Response.json(seen, { headers: { "x-served-by": "service" } });
  }

  #note(...event) {
    journalOf(this.ctx.props.journal)?.note(...event);
  }
}

class Counter extends RpcTarget {
  #start;
  #count;

  constructor(start = 10) {
    super();
    this.#start = this.#count = start;
  }

  get start() {
    return this.#start;
  }

  get nested() {
    return new Counter(this.#start * 10);
  }

  next() {
    return ++this.#count;
  }

  made() {
    return new Counter(this.#start + 10);
  }

  fail() {
    throw new RangeError("of the counter");
  }
}
