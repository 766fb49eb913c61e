import assert from "node:assert/strict";
import { test } from "node:test";
import { Pool } from "../../dist/connections/pool.js";
import { ConnectFailure } from "../../dist/connections/transport.js";
import { RUN, ScriptedTransport, recorder, turn } from "../scripted.mjs";

const OPTIONS = { connectTimeoutMs: 2000, later: (action) => void setImmediate(action), maxConnections: 2, maxQueue: 2, idleMs: 60_000 };

function make(options, fail = () => undefined) {
  const transports = [];
  const pool = new Pool(async () => {
    const error = fail(transports.length);
    transports.push(new ScriptedTransport());
    if (error !== undefined) throw error;
    return transports.at(-1).dial;
  }, { ...OPTIONS, ...options });
  const wanted = (more) => ({ depth: 0, until: Date.now() + 5000, signal: undefined, ...more });
  return { pool, transports, acquire: (more) => pool.acquire(wanted(more)) };
}

test("a connection is used again, the last one first, and each is one run's at a time", async () => {
  const { pool, transports, acquire } = make();
  const [a, b] = await Promise.all([acquire(), acquire()]);
  assert.notEqual(a, b);
  pool.release(a);
  pool.release(b);
  assert.equal(await acquire(), b);
  assert.equal(await acquire(), a);
  assert.equal(transports.length, 2);
  await pool.close();
});

test("runs beyond the bound wait in order, and those beyond that are refused", async () => {
  const { pool, transports, acquire } = make();
  const held = [await acquire(), await acquire()];
  const order = [];
  const waiting = ["first", "second"].map((name) => acquire().then((connection) => (order.push(name), connection)));
  await assert.rejects(acquire(), { code: "QUEUE_FULL", message: /2 runs are waiting/ });
  pool.release(held[1]);
  assert.equal(await waiting[0], held[1]);
  pool.release(held[0]);
  assert.equal(await waiting[1], held[0]);
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(transports.length, 2);
  await pool.close();
});

test("a run does not wait for ever, and a signal ends its waiting", async () => {
  const { pool, acquire } = make({ maxConnections: 1 });
  await acquire();
  await assert.rejects(acquire({ until: Date.now() + 50 }), { code: "QUEUE_TIMEOUT", message: /all 1/ });
  const controller = new AbortController();
  const waiting = acquire({ signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await pool.close();
});

test("runs of tool calls do not wait for their callers", async () => {
  const { pool, transports, acquire } = make({ maxConnections: 1 });
  await acquire();
  await acquire({ depth: 1 });
  await acquire({ depth: 2 });
  assert.equal(transports.length, 3);
  await pool.close();
});

test("a connection that was lost makes room", async () => {
  const { pool, transports, acquire } = make({ maxConnections: 1 });
  await acquire();
  const waiting = acquire();
  transports[0].events.onClosed(1006, "");
  assert.ok((await waiting).usable);
  assert.equal(transports.length, 2);
  await pool.close();
});

test("an idle connection that has closed is not handed out", async () => {
  const { pool, transports, acquire } = make();
  pool.release(await acquire());
  transports[0].events.onClosed(1001, "");
  const next = await acquire();
  assert.ok(next.usable);
  assert.equal(transports.length, 2);
  await pool.close();
});

test("connections that rest too long are closed", async () => {
  const { pool, transports, acquire } = make({ idleMs: 30 });
  pool.release(await acquire());
  while (transports[0].closed === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(transports[0].closed.code, 1000);
  await pool.close();
});

test("a daemon that is not there yet is tried again; one that refuses is not", async () => {
  const late = make({}, (n) => (n < 2 ? new ConnectFailure("CONNECT_FAILED", "nobody", true) : undefined));
  assert.ok((await late.acquire()).usable);
  assert.equal(late.transports.length, 3);
  const refusing = make({}, () => new ConnectFailure("UNAUTHORIZED", "no", false));
  await assert.rejects(refusing.acquire(), { code: "UNAUTHORIZED" });
  assert.equal(refusing.transports.length, 1);
  const never = make({ connectTimeoutMs: 200 }, () => new ConnectFailure("CONNECT_FAILED", "nobody", true));
  await assert.rejects(never.acquire(), { code: "CONNECT_FAILED" });
  assert.ok(never.transports.length > 1);
  const failed = make({ maxConnections: 1 }, (n) => (n === 0 ? new ConnectFailure("UNAUTHORIZED", "no", false) : undefined));
  await assert.rejects(failed.acquire());
  assert.ok((await failed.acquire()).usable, "its place is free again");
  await Promise.all([late, never, failed].map(({ pool }) => pool.close()));
});

test("one that is busy says when to come again", async () => {
  const { pool, transports, acquire } = make({ connectTimeoutMs: 10 }, (n) => (n === 0 ? new ConnectFailure("BUSY", "full", true, 100) : undefined));
  assert.ok((await acquire()).usable, "that is not bounded by the time that connecting takes");
  assert.equal(transports.length, 2);
  await pool.close();
});

test("closing ends what runs and what waits, and a connection that is being opened", async () => {
  const { pool, transports, acquire } = make({ maxConnections: 1 });
  const connection = await acquire();
  const { told, handler } = recorder();
  connection.begin(RUN, handler);
  const waiting = acquire();
  await pool.close();
  await assert.rejects(waiting, { code: "CLOSED" });
  await assert.rejects(acquire(), { code: "CLOSED" });
  assert.equal(told.at(-1)[1].code, "CLOSED");
  assert.equal(transports[0].closed.code, 1000);
  const other = make();
  const opening = other.acquire();
  await other.pool.close();
  await assert.rejects(opening, { code: "CLOSED" });
  await turn();
  assert.equal(other.transports[0].closed.code, 1000);
});
