import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { DynamicWorkerExecutor } from "../../dist/node/index.js";
import { HELLO, frame } from "../scripted.mjs";
import { TOKEN, obliging, serve } from "../server.mjs";

const executorFor = (url, more) => new DynamicWorkerExecutor({ url, token: TOKEN, connectTimeout: 2000, ...more });

for (const unix of [false, true]) {
  test(`over ${unix ? "a Unix socket" : "TCP"}: the token is a header, the subprotocol has a version`, async () => {
    const server = await serve(obliging, { unix });
    const executor = executorFor(server.url);
    assert.deepEqual(await executor.execute("1", []), { result: 1, logs: [] });
    const { headers, url } = server.peers[0].request;
    assert.equal(headers.authorization, `Bearer ${TOKEN}`);
    assert.equal(headers["sec-websocket-protocol"], "codemode-executor.v1");
    assert.equal(headers["sec-websocket-extensions"], undefined);
    assert.equal(headers.origin, undefined);
    assert.equal(url, "/");
    await executor.close();
    assert.equal((await server.peers[0].closed).code, 1000);
    await server.close();
  });
}

const answer = (status, body, headers = "") => (request, socket) => {
  socket.on("error", () => {}); // a client that has read enough
  socket.end(`HTTP/1.1 ${status} Text\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
  return true;
};
for (const [what, refuse, expected] of [
  ["a wrong token", answer(401, '{"code":"UNAUTHORIZED","message":"unknown token"}'), { code: "UNAUTHORIZED", message: /unknown token.*option token/ }],
  ["an origin that is not listed", answer(403, '{"code":"ORIGIN_REFUSED","message":"no"}'), { code: "FORBIDDEN", message: /ORIGIN_REFUSED: no/ }],
  ["another server", answer(404, "<html>nothing here</html>"), { code: "CONNECT_FAILED", message: /status 404/ }],
  ["a redirect", answer(302, "", "Location: ws://example.invalid/\r\n"), { code: "CONNECT_FAILED", message: /status 302/ }],
  ["a long page", answer(500, "x".repeat(1e6)), { code: "CONNECT_FAILED", message: /status 500/ }],
  ["too many connections", answer(429, '{"code":"TOO_MANY_CONNECTIONS","message":"full"}', "Retry-After: 60\r\n"), { code: "TOO_MANY_CONNECTIONS", retryAfterMs: 60_000 }],
]) {
  test(`refused: ${what}`, async () => {
    let asked = 0;
    const server = await serve(() => {}, { refuse: (...args) => ((asked += 1), refuse(...args)) });
    const executor = executorFor(server.url, { queueTimeout: 1000 });
    await assert.rejects(executor.execute("1", []), { name: "ExecutorError", ...expected });
    assert.equal(asked, 1);
    await executor.close();
    await server.close();
  });
}

test("a daemon that is busy, or restarts, is asked again", async () => {
  let asked = 0;
  const busy = answer(503, '{"code":"DRAINING","message":"bye"}', "Retry-After: 0\r\n");
  const server = await serve(obliging, { refuse: (...args) => (asked += 1) < 3 && busy(...args) });
  const executor = executorFor(server.url);
  assert.equal((await executor.execute("1", [])).result, 1);
  assert.equal(asked, 3);
  await executor.close();
  await server.close();
});

test("nobody there, and somebody who accepts and says nothing", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const held = [];
  silent.on("connection", (socket) => held.push(socket.on("error", () => {})));
  const { port } = silent.address();
  await assert.rejects(executorFor(`ws://127.0.0.1:${port}`, { connectTimeout: 200 }).execute("1", []), { code: "CONNECT_FAILED", message: /within|nothing/ });
  for (const socket of held) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  await assert.rejects(executorFor(`ws://127.0.0.1:${port}`, { connectTimeout: 200 }).execute("1", []), { code: "CONNECT_FAILED", message: /ECONNREFUSED/ });
  await assert.rejects(executorFor("unix:/nowhere/s", { connectTimeout: 200 }).execute("1", []), { code: "CONNECT_FAILED", message: /\/nowhere\/s/ });
});

test("a daemon of another protocol", async () => {
  const server = await serve(() => {}, { greet: { ...HELLO, protocol: 2 } });
  await assert.rejects(executorFor(server.url).execute("1", []), { code: "CONNECT_FAILED", message: /protocol/ });
  assert.equal((await server.peers[0].closed).code, 4400);
  await server.close();
});

test("a frame in many pieces, byte by byte, is one frame", async () => {
  const server = await serve(async (peer) => {
    const { run } = await peer.next("run");
    const text = frame({ t: "accepted", run, token: "é😀" }, [{ t: "result", run }, '1"é😀"']);
    for (const byte of Buffer.from(text).subarray(0, -1)) peer.ws.send(Buffer.from([byte]), { binary: false, fin: false });
    peer.ws.send(Buffer.from(text).subarray(-1), { binary: false, fin: true });
  });
  const executor = executorFor(server.url);
  assert.equal((await executor.execute("1", [])).result, "é😀");
  await executor.close();
  await server.close();
});

for (const [what, act, code] of [
  ["a binary message", (peer) => peer.ws.send(Buffer.from("{}")), 4400],
  ["a text that is not UTF-8", (peer) => peer.ws.send(Buffer.from([0xff, 0xfe]), { binary: false }), 1007],
  ["bytes that are no frame", (peer) => peer.socket.write(Buffer.from([0xff, 0xff, 0xff])), 1002],
  ["a message nobody knows", (peer) => peer.ws.send('{"t":"what"}'), 4400],
  ["the end of the socket", (peer) => peer.socket.destroy(), 1006],
  ["a half-closed socket", (peer) => peer.socket.end(), 1006],
]) {
  test(`the run is lost by ${what}, and the next has another connection`, async () => {
    let first = true;
    const server = await serve((peer) => {
      if (!first) return obliging(peer);
      first = false;
      void peer.next("run").then(({ run }) => {
        peer.say({ t: "accepted", run, token: "t" });
        act(peer);
      });
    });
    const executor = executorFor(server.url);
    await assert.rejects(executor.execute("1", []), ({ code }) => code === "CONNECTION_LOST" || code === "PROTOCOL_ERROR");
    assert.equal((await executor.execute("1", [])).result, 1);
    assert.equal(server.peers.length, 2);
    assert.equal((await server.peers[0].closed).code, code);
    await executor.close();
    await server.close();
  });
}
