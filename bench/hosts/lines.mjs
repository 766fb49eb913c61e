// The pipe to the runner: a command a line, an answer a line. Nothing is measured here.
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { commands, tools } from "./kit.mjs";

/** How long a host waits until all runs of `hold` have reached their tool. */
const HOLD_MS = 20_000;

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/**
 * Serves the runner until it closes the pipe.
 *
 * @param perform `(name, command)` to the command's answer
 * @param state the gate of `hold`, as it is now
 * @param release opens it
 */
export async function serve({ versions, perform, state, release, close }) {
  say({ ready: versions });
  const answering = new Set();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, do: name, ...command } = JSON.parse(line);
    if (name === "release") {
      await release();
      continue;
    }
    const answered = (async () => {
      try {
        const done = perform(name, command);
        if (name === "hold") await Promise.race([done, held(id, command.runs, { state, release, done })]);
        say({ id, ok: await done });
      } catch (error) {
        say({ id, error: String(error?.stack ?? error).slice(0, 2000) });
      }
    })();
    answering.add(answered);
    void answered.finally(() => answering.delete(answered));
  }
  await Promise.all(answering);
  await close();
}

/** Says so when all runs wait for their tool. */
async function held(id, runs, { state, release, done }) {
  let over = false;
  const end = () => {
    over = true;
  };
  done.then(end, end);
  const until = performance.now() + HOLD_MS;
  for (;;) {
    const { inside } = await state();
    if (over) return; // a run has failed: that is the answer
    if (inside >= runs) break;
    if (performance.now() > until) {
      await release();
      throw new Error(`after ${HOLD_MS} ms only ${inside} of ${runs} runs wait for their tool`);
    }
    await sleep(20);
  }
  say({ id, holding: runs });
}

/** A host whose programs are run from this process. `execute` is made with the tools. */
export async function serveHere(versions, make) {
  const gate = { inside: 0, released: true };
  const { execute, close } = await make(tools(gate, sleep));
  const known = commands({ execute, now: () => performance.now(), sleep, gate });
  await serve({
    versions: { node: process.versions.node, ...versions },
    perform: (name, command) => known[name](command),
    state: () => gate,
    release: () => {
      gate.released = true;
    },
    close: close ?? (() => {}),
  });
}

/** The version of an installed package, as its own package.json says. */
export async function versionOf(name) {
  const { readFile } = await import("node:fs/promises");
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")).version;
}
