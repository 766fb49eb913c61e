// The folder of the embedded daemon's socket: only this user can enter it, and it goes with the host.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "codemode-executor-";
const SOCKET = "s";
const MAX_PATH = 100; // a socket's path has 107 characters at most
const STALE_MS = 3_600_000;

export interface SocketFolder {
  readonly socket: string;
  remove(): void;
}

/** Makes a folder. It is removed with this process, if that leaves in order; see `removeStale`. */
export function makeSocketFolder(): SocketFolder {
  const base = tmpdir().length + PREFIX.length + 8 <= MAX_PATH ? tmpdir() : "/tmp";
  const folder = mkdtempSync(join(base, PREFIX)); // mode 0700
  const remove = (): void => {
    process.removeListener("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", remove);
  removeStale(base);
  return { socket: join(folder, SOCKET), remove };
}

/** Removes what hosts that were killed have left: folders of this user, old, in which nobody listens. */
function removeStale(base: string): void {
  for (const name of readdirSync(base)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(base, name);
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isDirectory() || stat.uid !== process.getuid?.()) continue;
    if (Date.now() - stat.mtimeMs < STALE_MS) continue;
    const probe = connect(join(folder, SOCKET));
    probe.unref();
    probe.on("connect", () => probe.destroy());
    probe.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (code === "ENOENT" || code === "ECONNREFUSED") rmSync(folder, { recursive: true, force: true });
    });
  }
}
