// Which Python runs the embedded daemon, and what to say where there is none.
//
// The rule: the option `python`; else the environment variable CODEMODE_PYTHON; else `python3` on PATH.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ExecutorError } from "../errors.js";

export const VARIABLE = "CODEMODE_PYTHON";

/** A Python and where it was named. */
export interface Python {
  readonly command: string;
  readonly from: string;
}

/** @throws {ExecutorError} `PYTHON_NOT_FOUND` */
export function findPython(option: string | undefined, env: Readonly<Record<string, string | undefined>>): Python {
  if (option !== undefined) return { command: option, from: "the option python" };
  const named = env[VARIABLE];
  if (named !== undefined && named !== "") return { command: named, from: `the environment variable ${VARIABLE}` };
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    const command = join(folder, "python3");
    if (folder !== "" && existsSync(command)) return { command, from: "python3 on PATH" };
  }
  throw notFound("there is no python3 on PATH");
}

/** Why a Python that ended at once was of no use. */
export function unusable({ command, from }: Python, exit: string, stderr: string): ExecutorError {
  const which = `${command} (${from})`;
  if (/No module named ['"]?codemode_executor/.test(stderr)) return notFound(`${which} has no package codemode-executor`);
  if (/[Uu]nknown option: -P/.test(stderr)) return notFound(`${which} is older than Python 3.11`);
  const said = stderr.trim() === "" ? "it said nothing" : `it said: ${stderr.trim().slice(-2000)}`;
  return new ExecutorError("DAEMON_START_FAILED", `the embedded daemon of ${which} did not start (${exit}); ${said}`);
}

/** Why a Python could not be started at all. */
export function notStarted({ command, from }: Python, error: Error): ExecutorError {
  return notFound(`${command} (${from}) cannot be started: ${error.message}`);
}

function notFound(what: string): ExecutorError {
  return new ExecutorError(
    "PYTHON_NOT_FOUND",
    `the embedded daemon cannot be started: ${what}. Name a Python 3.11 or newer that has it (pip install` +
      ` codemode-executor) by the option python or by ${VARIABLE}, or give url and token of a daemon that runs already`,
  );
}
