// A WebSocket server on the loopback, or on a Unix socket, of which every word is written by the test.
import { createServer } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import { HELLO, frame, parse } from "./scripted.mjs";

export const TOKEN = "a-token-of-the-tests";

/**
 * @param {(peer: Peer) => void} onConnection called with each client, before the daemon's hello is sent
 * @param {{ unix?: boolean, refuse?: (request, socket) => boolean, greet?: object | null }} options
 */
export async function serve(onConnection, { unix = false, refuse = () => false, greet = HELLO } = {}) {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1e9 });
  const peers = [];
  http.on("upgrade", (request, socket, head) => {
    if (refuse(request, socket)) return;
    sockets.handleUpgrade(request, socket, head, (ws) => {
      const peer = new Peer(ws, socket, request);
      peers.push(peer);
      onConnection(peer);
      if (greet !== null) peer.say(greet);
    });
  });
  const folder = unix ? mkdtempSync(join(tmpdir(), "bridge-test-")) : undefined;
  const path = folder && join(folder, "s");
  await new Promise((resolve) => (unix ? http.listen(path, resolve) : http.listen(0, "127.0.0.1", resolve)));
  const url = unix ? `unix:${path}` : `ws://127.0.0.1:${http.address().port}`;
  const close = async () => {
    for (const { ws } of peers) ws.terminate();
    await new Promise((resolve) => http.close(resolve));
    if (folder !== undefined) rmSync(folder, { recursive: true });
  };
  return { url, peers, http, close };
}

/** A client as the daemon sees it. */
export class Peer {
  messages = [];
  #waiting = [];

  constructor(ws, socket, request) {
    this.ws = ws;
    this.socket = socket;
    this.request = request;
    this.closed = new Promise((resolve) => ws.on("close", (code, reason) => resolve({ code, reason: String(reason) })));
    ws.on("error", () => {}); // the client's rudeness; `closed` tells
    ws.on("message", (data) => {
      for (const message of parse(String(data))) {
        if (message.t === "ping") this.say({ t: "pong", n: message.n });
        else this.messages.push(message);
      }
      for (const check of this.#waiting) check();
    });
  }

  say(...messages) {
    this.ws.send(frame(...messages));
  }

  /** The next message of a type. */
  async next(t) {
    for (;;) {
      const at = this.messages.findIndex((message) => message.t === t);
      if (at >= 0) return this.messages.splice(at, 1)[0];
      await new Promise((resolve) => this.#waiting.push(resolve));
    }
  }
}

/** A daemon that accepts every run and answers 1. */
export function obliging(peer) {
  const loop = async () => {
    for (;;) {
      const { run } = await peer.next("run");
      peer.say({ t: "accepted", run, token: "t" }, [{ t: "result", run }, "11"]);
    }
  };
  void loop();
}
