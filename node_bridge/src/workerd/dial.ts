// A WebSocket of workerd: a request that is upgraded, because only that carries headers.

import type { Dial, Transport, TransportEvents } from "../connections/transport.js";
import { ConnectFailure, handshakeRefused } from "../connections/transport.js";
import { Close, SUBPROTOCOL } from "../protocol/messages.js";

/** The part of workerd's WebSocket that is used. */
interface WorkerSocket {
  accept(): void;
  send(text: string): void;
  close(code: number, reason: string): void;
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
}

interface SocketEvent {
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
}

const CLOSED_ABNORMALLY = 1006;

export function dialWorker(url: string, token: string): Dial {
  const target = url.replace(/^ws/, "http");
  return async (events, signal) => {
    let response: Response & { readonly webSocket?: WorkerSocket | null };
    try {
      response = await fetch(target, {
        headers: {
          Upgrade: "websocket",
          Authorization: `Bearer ${token}`,
          "Sec-WebSocket-Protocol": SUBPROTOCOL,
        },
        redirect: "manual",
        signal,
      });
    } catch (error) {
      throw new ConnectFailure("CONNECT_FAILED", `no connection to the daemon at ${url}: ${String(error)}`, true);
    }
    const socket = response.webSocket;
    if (socket == null) {
      throw handshakeRefused(response.status, (await response.text()).slice(0, 16 * 1024), response.headers.get("retry-after"));
    }
    events.onOpen(new WorkerTransport(socket));
    listen(socket, events);
    socket.accept();
  };
}

function listen(socket: WorkerSocket, events: TransportEvents): void {
  let over = false;
  const end = (code: number, reason: string): void => {
    if (over) return;
    over = true;
    events.onClosed(code, reason);
  };
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") events.onFrame(data);
    else socket.close(Close.VIOLATION, "binary messages are not part of the protocol");
  });
  socket.addEventListener("close", ({ code, reason }) => {
    // The other half stays open until it is closed too.
    try {
      socket.close(Close.DONE, "");
    } catch {
      // It was closed from here.
    }
    end(code ?? CLOSED_ABNORMALLY, reason ?? "");
  });
  socket.addEventListener("error", ({ message }) => end(CLOSED_ABNORMALLY, message ?? ""));
}

class WorkerTransport implements Transport {
  readonly #socket: WorkerSocket;
  #open = true;
  /** The platform does not say what waits. */
  readonly buffered = 0;

  constructor(socket: WorkerSocket) {
    this.#socket = socket;
    const over = (): void => void (this.#open = false);
    socket.addEventListener("close", over);
    socket.addEventListener("error", over);
  }

  send(head: string, tail = ""): void {
    if (this.#open) this.#socket.send(head + tail);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  close(code: number, reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.close(Close.DONE, "");
  }

  hold(): void {
    // There is no process to hold.
  }
}
