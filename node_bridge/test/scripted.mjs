// A daemon of which every word is written by the test.

export const LIMITS = {
  timeout_s: 60, cpu_s: null, memory_mb: 128, program_bytes: 1048576, module_bytes: 8388608, argument_bytes: 33554432,
  tool_result_bytes: 33554432, result_bytes: 33554432, log_bytes: 8388608, log_lines: 100000, tool_calls: 100000,
  tool_calls_in_flight: 1000,
};

export const HELLO = { t: "hello", version: "0", protocol: 1, limits: LIMITS, max_message_bytes: 67108864, heartbeat_s: 20, retained_idle_s: 60 };

/** A frame of messages: a header, or a header and its payload as a pair. */
export const frame = (...messages) =>
  messages
    .map((message) => (Array.isArray(message) ? `${JSON.stringify(message[0])}\n${message[1]}` : JSON.stringify(message)))
    .join("\n");

/** The messages of a frame that a client sent, payloads as `payload`. */
export function parse(text) {
  const lines = text.split("\n");
  const messages = [];
  while (lines.length > 0) {
    const header = JSON.parse(lines.shift());
    if (["run", "answer", "invoke"].includes(header.t)) header.payload = lines.shift();
    messages.push(header);
  }
  return messages;
}

export const RUN = { code: "1", providers: [], functions: [], services: [], modules: [], limits: {}, outbound: false, retain: false, parent: undefined, env: "{}" };

/** A transport whose other end is the test. */
export class ScriptedTransport {
  sent = [];
  closed;
  held;
  buffered = 0;
  #drained = [];

  /** What a connection dials. */
  dial = async (events) => {
    this.events = events;
    events.onOpen(this);
    queueMicrotask(() => this.greeting !== null && this.say(this.greeting ?? HELLO));
  };

  constructor(greeting) {
    this.greeting = greeting;
  }

  say(...messages) {
    this.events.onFrame(frame(...messages));
  }

  send(head, tail = "") {
    this.sent.push(...parse(head + tail));
  }

  drained() {
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  drain() {
    this.buffered = 0;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  close(code, reason) {
    this.closed ??= { code, reason };
  }

  terminate() {
    this.closed ??= { code: 1006, reason: "" };
  }

  hold(held) {
    this.held = held;
  }

  /** The messages of a type that were sent. */
  all(t) {
    return this.sent.filter((message) => message.t === t);
  }
}

/** A handler that keeps what it is told. */
export function recorder() {
  const told = [];
  const handler = new Proxy({}, { get: (_, key) => (...args) => void told.push([key, ...args]) });
  return { told, handler };
}

export const turn = () => new Promise((resolve) => setImmediate(resolve));
