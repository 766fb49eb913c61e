// The options of a shadowing executor, checked where they enter.

import { badRequest, shown } from "../errors.js";
import { count, milliseconds } from "../options.js";
import type { ShadowFault, ShadowOptions, ShadowedExecutor } from "./contract.js";

const MAX_JOBS = 10_000;
const RECORDED = 64 * 2 ** 20;
const MAX_RECORDED = 2 ** 40;
const GIVE_UP_MS = 300_000;

export interface CheckedOptions {
  readonly primary: ShadowedExecutor;
  readonly shadow: ShadowedExecutor;
  readonly tools: "replay" | "twice";
  readonly report: ShadowOptions["report"];
  readonly onFault: (fault: ShadowFault) => unknown;
  readonly chosen: (code: string) => boolean;
  readonly maxRunning: number;
  readonly maxWaiting: number;
  readonly maxRecorded: number;
  readonly giveUpMs: number;
  readonly keepAlive: (work: Promise<void>) => unknown;
}

export function checkedOptions(options: ShadowOptions): CheckedOptions {
  if (typeof options !== "object" || options === null) throw badRequest(`options must be an object, not ${shown(options)}`);
  const { primary, shadow, tools, report, onFault = firstToConsole(), sample = 1, keepAlive = () => {} } = options;
  for (const [name, executor] of Object.entries({ primary, shadow })) {
    if (typeof executor?.execute !== "function") throw badRequest(`${name} must be an executor: an object with a method execute`);
  }
  if (primary === shadow) throw badRequest("primary and shadow are the same executor: it would be compared with itself");
  if (tools !== "replay" && tools !== "twice") {
    throw badRequest(`tools must say what a tool call of the shadow does, "replay" or "twice", not ${shown(tools)}`);
  }
  for (const [name, fn] of Object.entries({ report, onFault, keepAlive })) {
    if (typeof fn !== "function") throw badRequest(`${name} must be a function, not ${shown(fn)}`);
  }
  return {
    primary,
    shadow,
    tools,
    report,
    onFault,
    keepAlive,
    chosen: chooser(sample),
    maxRunning: count("maxRunning", options.maxRunning, 1, MAX_JOBS, 2),
    maxWaiting: count("maxWaiting", options.maxWaiting, 0, MAX_JOBS, 32),
    maxRecorded: count("maxRecorded", options.maxRecorded, 1, MAX_RECORDED, RECORDED),
    giveUpMs: milliseconds("giveUpAfter", options.giveUpAfter, GIVE_UP_MS),
  };
}

function chooser(sample: unknown): (code: string) => boolean {
  if (typeof sample === "function") return (code) => Boolean((sample as (code: string) => unknown)(code));
  if (typeof sample !== "number" || !(sample >= 0 && sample <= 1)) {
    throw badRequest(`sample must be a share from 0 to 1, or a function of the program, not ${shown(sample)}`);
  }
  return () => Math.random() < sample;
}

function firstToConsole(): (fault: ShadowFault) => void {
  let told = false;
  return ({ reason }) => {
    if (told) return;
    told = true;
    console.warn("[codemode-executor] A shadow run came to nothing, and later ones may without a word: set onFault.", reason);
  };
}
