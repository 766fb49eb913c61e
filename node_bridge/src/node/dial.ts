// A WebSocket of Node, by `ws`: Node's own can neither open Unix sockets, nor say how much waits to leave, nor let a process go.

import { isAscii } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import WebSocket from "ws";
import type { Dial, Transport, TransportEvents } from "../connections/transport.js";
import { ConnectFailure, handshakeRefused } from "../connections/transport.js";
import { SUBPROTOCOL } from "../protocol/messages.js";
import { textFrame } from "./frames.js";

/** How a TLS connection is checked, as `node:tls` takes it. */
export interface TlsOptions {
  readonly ca?: string | Uint8Array | undefined;
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  readonly servername?: string | undefined;
}

/** Where a daemon listens. */
export type Address = { readonly url: string } | { readonly path: string };

// The longest text that V8 can hold; the daemon's own bound, which it tells, is lower.
const MAX_PAYLOAD = 2 ** 29 - 32;
const GOODBYE_MS = 1000;
const MAX_REFUSAL = 16 * 1024;
const DRAINED_BELOW = 4 * 1024 * 1024;

export function dialNode(address: Address, token: string, tls: TlsOptions): Dial {
  return (events, signal) =>
    new Promise((resolve, reject) => {
      const unix = "path" in address;
      const socket = new WebSocket(unix ? "ws://localhost/" : address.url, SUBPROTOCOL, {
        headers: { Authorization: `Bearer ${token}` },
        perMessageDeflate: false,
        followRedirects: false,
        maxPayload: MAX_PAYLOAD,
        ...(unix && { createConnection: () => connect(address.path) }),
        ...tls,
      });
      let raw: Socket | undefined;
      let failure: ConnectFailure | undefined;
      const onAbort = (): void => socket.terminate();
      signal.addEventListener("abort", onAbort, { once: true });
      socket.on("upgrade", (response) => {
        raw = response.socket;
        raw.setNoDelay(true);
      });
      socket.on("unexpected-response", (request, response) => {
        readRefusal(response, (body) => {
          failure = handshakeRefused(response.statusCode ?? 0, body, response.headers["retry-after"]);
          request.destroy();
          socket.terminate();
          reject(failure);
        });
      });
      socket.on("error", (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(failure ?? cannotConnect(address, error)); // once it is open, `close` follows and says it all
      });
      socket.on("open", () => {
        signal.removeEventListener("abort", onAbort);
        events.onOpen(new NodeTransport(socket, raw as Socket));
        resolve();
      });
      // Set before it opens: the first message may come in the same turn.
      listen(socket, events);
    });
}

function listen(socket: WebSocket, events: TransportEvents): void {
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      socket.close(4400, "binary messages are not part of the protocol");
      return;
    }
    // What is ASCII, as almost everything is, is a text at once.
    events.onFrame(isAscii(data) ? data.toString("latin1") : data.toString());
  });
  socket.on("close", (code: number, reason: Buffer) => events.onClosed(code, reason.toString()));
}

class NodeTransport implements Transport {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #waiting = new Set<() => void>();

  constructor(socket: WebSocket, raw: Socket) {
    this.#socket = socket;
    this.#raw = raw;
    socket.on("close", () => this.#wake());
  }

  get buffered(): number {
    return this.#socket.bufferedAmount;
  }

  send(head: string, tail = ""): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const { bytes, done } = textFrame(head, tail);
    // Whole frames stand between those of `ws` itself. An error of the socket is not this one's: `close` follows.
    this.#raw.write(bytes, () => {
      done?.();
      if (this.#waiting.size > 0 && this.buffered < DRAINED_BELOW) this.#wake();
    });
  }

  drained(): Promise<void> {
    if (this.buffered < DRAINED_BELOW || this.#socket.readyState !== WebSocket.OPEN) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const timer = setTimeout(() => this.#socket.terminate(), GOODBYE_MS);
    timer.unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  terminate(): void {
    this.#socket.terminate();
  }

  hold(held: boolean): void {
    if (held) this.#raw.ref();
    else this.#raw.unref();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

function readRefusal(response: IncomingMessage, done: (body: string) => void): void {
  let body = "";
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    done(body);
  };
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    body += chunk;
    if (body.length > MAX_REFUSAL) finish();
  });
  response.on("end", finish);
  response.on("error", finish);
  response.on("close", finish);
}

function cannotConnect(address: Address, error: Error): ConnectFailure {
  const { code } = error as NodeJS.ErrnoException;
  const where = "path" in address ? address.path : address.url;
  // A name that does not exist and a certificate that is refused stay so.
  const again = code !== "ENOTFOUND" && !/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code ?? "");
  return new ConnectFailure("CONNECT_FAILED", `no connection to the daemon at ${where}: ${reasonOf(error)}`, again);
}

/** An AggregateError of several addresses has no message of its own. */
function reasonOf(error: Error): string {
  if (error.message !== "") return error.message;
  const inner = (error as AggregateError).errors as Error[] | undefined;
  return inner?.map(({ message }) => message).join(", ") || (error as NodeJS.ErrnoException).code || error.name;
}
