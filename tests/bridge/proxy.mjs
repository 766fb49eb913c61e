// A proxy that cuts, after so many bytes of one direction.
import { connect, createServer } from "node:net";

/**
 * @param {number} port of the daemon
 * @returns `url`, `cutAfter(direction, bytes)` for the next connection, `counts` of what passed since, `close`
 */
export async function startProxy(port) {
  let plan;
  const sockets = new Set();
  const counts = { toDaemon: 0, toHost: 0 };
  const server = createServer((host) => {
    const mine = plan;
    plan = undefined;
    const daemon = connect(port, "127.0.0.1");
    const cut = () => (host.destroy(), daemon.destroy());
    for (const socket of [host, daemon]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => (sockets.delete(socket), cut()));
    }
    const pass = (from, to, direction) => {
      let passed = 0;
      from.on("data", (chunk) => {
        const left = mine?.direction === direction ? mine.bytes - passed : Infinity;
        to.write(chunk.subarray(0, Math.min(left, chunk.length)), () => chunk.length >= left && cut());
        passed += chunk.length;
        counts[direction] += chunk.length;
      });
    };
    pass(host, daemon, "toDaemon");
    pass(daemon, host, "toHost");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `ws://127.0.0.1:${server.address().port}`,
    counts,
    cutAfter(direction, bytes) {
      plan = { direction, bytes };
      counts.toDaemon = counts.toHost = 0;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
