// What a connection needs of the platform: a WebSocket that is open, whoever made it.

import { ExecutorError } from "../errors.js";

export interface Transport {
  /** Hand a frame of text over, the end of which may be apart. Does nothing once the socket has closed. */
  send(head: string, tail?: string): void;
  /** Bytes that were handed over and have not left; 0 where the platform does not tell. */
  readonly buffered: number;
  /** Settles when less is buffered, or the socket has closed. */
  drained(): Promise<void>;
  /** Say goodbye; the socket ends soon, whether or not the peer answers. */
  close(code: number, reason: string): void;
  /** End the socket now. */
  terminate(): void;
  /** Whether the socket keeps the process alive, where that is a question. */
  hold(held: boolean): void;
}

export interface TransportEvents {
  /** The socket is open. Comes before everything else, and at most once. */
  onOpen(transport: Transport): void;
  onFrame(text: string): void;
  /** The socket is gone: the code, or 1006 if it just ended, and what is known besides. Comes once. */
  onClosed(code: number, reason: string): void;
}

/**
 * Opens a socket; settles after `onOpen`.
 *
 * @throws {ConnectFailure} it did not open
 */
export type Dial = (events: TransportEvents, signal: AbortSignal) => Promise<void>;

/** No connection. `again`: another attempt may succeed. */
export class ConnectFailure extends ExecutorError {
  readonly again: boolean;

  constructor(code: string, message: string, again: boolean, retryAfterMs?: number) {
    super(code, message, { retryAfterMs });
    this.again = again;
  }
}

/** The failure of a handshake that was answered by HTTP: the daemon's own code where it gave one. */
export function handshakeRefused(status: number, body: string, retryAfter: string | null | undefined): ConnectFailure {
  const { code, message } = daemonsWords(body);
  const said = message === undefined ? "" : `: ${message}`;
  if (status === 401) {
    return new ConnectFailure("UNAUTHORIZED", `the daemon does not know the token (401${said}): check the option token`, false);
  }
  if (status === 403) {
    return new ConnectFailure("FORBIDDEN", `the daemon refuses this host (403 ${code ?? ""}${said})`, false);
  }
  const busy = status === 429 || status === 503;
  const seconds = Number(retryAfter ?? NaN);
  const retryAfterMs = busy && seconds >= 0 && seconds < 3600 ? Math.ceil(seconds * 1000) : undefined;
  const text = `the daemon did not open a connection (status ${status}${said})`;
  return new ConnectFailure(busy ? (code ?? "BUSY") : "CONNECT_FAILED", text, busy || status === 502 || status === 504, retryAfterMs);
}

function daemonsWords(body: string): { code?: string; message?: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return {}; // a proxy's page: the status says enough
  }
  if (typeof answer !== "object" || answer === null) return {};
  const { code, message } = answer as { code?: unknown; message?: unknown };
  return {
    ...(typeof code === "string" && /^[A-Z][A-Z_]{0,63}$/.test(code) && { code }),
    ...(typeof message === "string" && { message: message.slice(0, 500) }),
  };
}
