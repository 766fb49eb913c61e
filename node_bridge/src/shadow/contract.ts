// What a host says to a shadowing executor, and what it hears from it.

import type { ConnectorBinding, ExecuteResult, ResolvedProvider, ToolFunction } from "../contract.js";

/** What can be shadowed: upstream's executor, this package's, a host's own. */
export interface ShadowedExecutor {
  execute(
    code: string,
    providersOrFns: ResolvedProvider[] | Record<string, ToolFunction>,
    options?: { connectors?: ConnectorBinding[]; signal?: AbortSignal | undefined; retainHandles?: boolean | undefined },
  ): Promise<ExecuteResult>;
}

/** Options of `ShadowExecutor`. */
export interface ShadowOptions {
  /** Answers: every envelope, rejection and tool call of the host is its. */
  primary: ShadowedExecutor;
  /** Runs the same programs after it, to be compared. It is given no tool that does anything, unless `tools` says so. */
  shadow: ShadowedExecutor;
  /**
   * What a tool call of the shadow's does. `replay`: it is answered with what the primary's same call (namespace, tool,
   * arguments, and how many of these there were before) was answered with; a call that the primary never made is an error
   * in the program, and part of the report. `twice`: the tool is called once more. Only for tools that change nothing.
   */
  tools: "replay" | "twice";
  /** Hears of every program on which the two differ. What it throws is written to the console. */
  report: (disagreement: Disagreement) => unknown;
  /** Hears why a shadow run came to nothing: the shadow's machinery failed. By default the first is written to the console. */
  onFault?: ((fault: ShadowFault) => unknown) | undefined;
  /** Which programs are run twice: a share from 0 to 1, or a function of the program. All of them without it. */
  sample?: number | ((code: string) => boolean) | undefined;
  /** Shadow runs at the same time; 2 without. */
  maxRunning?: number | undefined;
  /** Shadow runs that may wait; 32 without. A program that finds no place is not compared. */
  maxWaiting?: number | undefined;
  /** What all recordings may hold together, in characters of text; 64 Mi without. A program beyond it is not compared. */
  maxRecorded?: number | undefined;
  /** When a shadow run is given up, in milliseconds; 300 000 without. */
  giveUpAfter?: number | undefined;
  /** Takes the promise of each comparison. In a Worker, whose work ends with its request: `(work) => ctx.waitUntil(work)`. */
  keepAlive?: ((work: Promise<void>) => unknown) | undefined;
}

/** In what two outcomes differ. `outcome`: one succeeded and one failed; `result` and `error` are then not compared. */
export type Difference = "outcome" | "result" | "error" | "logs" | "calls";

/** What one executor made of a program. */
export interface Outcome {
  /** As it was when the executor answered: a copy. What cannot be copied, a function for example, is missing from it. */
  readonly envelope: ExecuteResult;
  /** `execute` rejected; the reason's message is `envelope.error`. */
  readonly rejected: boolean;
  /** Why `envelope.result` is missing, if it could not be copied. */
  readonly uncopied?: string;
}

/** A program on which two executors differ. */
export interface Disagreement {
  readonly program: string;
  /** In what; at least one. */
  readonly differs: readonly Difference[];
  readonly primary: Outcome;
  readonly shadow: Outcome;
  /** Calls, as `namespace.tool`, the first of each: those of the primary that the shadow did not make, and the other way round. */
  readonly calls: { readonly missing: readonly string[]; readonly unexpected: readonly string[] };
  /** What the program's text names whose value is another one in every run (`Date`, `Math.random`, …): look there first. */
  readonly mayVary: readonly string[];
}

/** A shadow run that came to nothing. */
export interface ShadowFault {
  readonly program: string;
  readonly reason: unknown;
}

/**
 * Why a program was not compared. `sampling`: not chosen. `queue`: too many waited. `memory`: its values were too large to
 * be recorded. `unrecordable`: a value of a connector is no copy (a function, a stub). `aborted`, `retained`: the host's
 * options say so. `unusable`: the arguments of `execute`. `primary`: its machinery failed. `closed`: after `close`.
 */
export type Skipped =
  | "sampling"
  | "queue"
  | "memory"
  | "unrecordable"
  | "aborted"
  | "retained"
  | "unusable"
  | "primary"
  | "closed";

/** What has happened so far. Every run is in `agreed`, `disagreed`, `faults` or `skipped`, or still to be compared. */
export interface ShadowCounts {
  readonly runs: number;
  readonly agreed: number;
  readonly disagreed: number;
  readonly faults: number;
  readonly skipped: Readonly<Record<Skipped, number>>;
}
