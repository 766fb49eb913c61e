// A daemon of this process's own: started when it is first needed, again if it dies, reached through a private socket with
// a token that nobody else knows. It leaves when its standard input ends, and so with this process, however that goes.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { ExecutorError } from "../errors.js";
import { type Python, findPython, notStarted, unusable } from "./python.js";
import { type SocketFolder, makeSocketFolder } from "./socket_folder.js";

export interface EmbeddedOptions {
  readonly python: string | undefined;
  /** Further arguments of `codemode-executor serve`. */
  readonly args: readonly string[];
  /** Takes the daemon's log, one line of JSON at a time. */
  readonly log: ((line: string) => void) | undefined;
}

/** How to reach it. */
export interface Reach {
  readonly path: string;
  readonly token: string;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const START_MS = 60_000;
const STOP_MS = 5000;
const TAIL = 16 * 1024;
const MAX_LINE = 64 * 1024;
/** What a Python needs of the environment. The rest is the host's own: it holds secrets. */
const ENVIRONMENT = [
  "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH",
  "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "XDG_CACHE_HOME",
]; // prettier-ignore

interface Running {
  readonly child: Child;
  readonly folder: SocketFolder;
  readonly exited: Promise<void>;
}

export class EmbeddedDaemon {
  readonly #options: EmbeddedOptions;
  #running: Running | undefined;
  #reach: Promise<Reach> | undefined;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
  }

  /**
   * Starts it unless it runs.
   *
   * @throws {ExecutorError} `PYTHON_NOT_FOUND`, `DAEMON_START_FAILED`
   */
  reach(): Promise<Reach> {
    this.#reach ??= this.#start().catch((error: unknown) => {
      this.#reach = undefined; // the next run tries again
      throw error;
    });
    return this.#reach;
  }

  /** Its process, for operators. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  async #start(): Promise<Reach> {
    if (process.platform === "win32") {
      throw new ExecutorError("DAEMON_START_FAILED", "the daemon does not run on Windows: run this host in WSL2, or give url and token of a daemon elsewhere");
    }
    const python = findPython(this.#options.python, process.env);
    const token = randomBytes(32).toString("base64url");
    const folder = makeSocketFolder();
    const child = spawn(
      python.command,
      // -P: what lies in the current folder is not imported.
      ["-P", "-m", "codemode_executor", "serve", "--unix", folder.socket, "--token-file", "-", "--die-with-parent",
        "--limit", "timeout_s=2147483", ...this.#options.args], // prettier-ignore
      // A group of its own: an interrupt from the terminal is the host's to handle.
      { stdio: ["pipe", "pipe", "pipe"], env: environment(), detached: true },
    );
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const running = { child, folder, exited };
    this.#running = running;
    void exited.then(() => {
      folder.remove();
      if (this.#running === running) this.#running = this.#reach = undefined;
    });
    try {
      await this.#listening(child, python, token, folder.socket);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
    letGo(child);
    return { path: folder.socket, token };
  }

  /** Settles when it says that it listens where it was told to. */
  async #listening(child: Child, python: Python, token: string, socket: string): Promise<void> {
    let stderr = "";
    lines(child.stderr, (line) => {
      stderr = `${stderr}${line}\n`.slice(-TAIL);
      this.#options.log?.(line);
    });
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(unusable(python, `nothing for ${START_MS / 1000} s`, stderr)), START_MS);
      lines(child.stdout, (line) => {
        if (listensAt(line, socket)) resolve();
      });
      child.once("error", (error) => reject(notStarted(python, error)));
      child.once("close", (code, signal) => reject(unusable(python, signal ?? `exit status ${code}`, stderr)));
      child.stdin.on("error", () => {}); // it has left: `close` says so
      child.stdin.write(`${token}\n`);
      child.once("close", () => clearTimeout(timer));
      child.once("error", () => clearTimeout(timer));
      timer.unref();
    });
  }

  /** End it. What runs in it is lost. */
  async stop(): Promise<void> {
    await this.#reach?.catch(() => {}); // one that did not start is stopped
    const running = this.#running;
    this.#reach = undefined;
    if (running === undefined) return;
    const { child, exited } = running;
    child.ref();
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(timer);
  }
}

/** It does not keep this process alive. */
function letGo(child: Child): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket).unref();
}

function environment(): Record<string, string> {
  const chosen: Record<string, string> = { PYTHONUNBUFFERED: "1" };
  for (const name of ENVIRONMENT) {
    const value = process.env[name];
    if (value !== undefined) chosen[name] = value;
  }
  return chosen;
}

function listensAt(line: string, socket: string): boolean {
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch {
    return false; // somebody's print, which is no announcement
  }
  const { event, unix } = (said ?? {}) as { event?: unknown; unix?: unknown };
  return event === "listening" && unix === socket;
}

/** Calls `each` with every line; what is longer than any line is cut. */
function lines(stream: Readable, each: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = (parts.pop() ?? "").slice(0, MAX_LINE);
    for (const part of parts) each(part);
  });
  stream.on("error", () => {}); // the process's end says what there is to say
}
