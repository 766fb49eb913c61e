// Compiled, never run: how hosts put upstream's executor and this package's beside each other.
import { type CreateCodeToolOptions } from "@cloudflare/codemode/ai";
import { DynamicWorkerExecutor as LoaderExecutor, type Executor as TheirExecutor } from "@cloudflare/codemode";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { type Disagreement, ShadowExecutor, type ShadowOptions } from "codemode-executor-bridge/shadow";

declare const env: { LOADER: WorkerLoader };
declare const ctx: ExecutionContext;
declare const own: TheirExecutor;

const theirs = new LoaderExecutor({ loader: env.LOADER });
const ours = new DynamicWorkerExecutor({ url: "wss://daemon", token: "…" });
const report = ({ program, differs, calls, primary, shadow, mayVary }: Disagreement): string =>
  [program, ...differs, ...calls.missing, ...mayVary, primary.envelope.error ?? "", shadow.uncopied ?? ""].join();

export const executors: TheirExecutor[] = [
  new ShadowExecutor({ primary: theirs, shadow: ours, tools: "replay", report, keepAlive: (work) => ctx.waitUntil(work) }),
  new ShadowExecutor({ primary: ours, shadow: theirs, tools: "twice", report, sample: 0.1 }),
  new ShadowExecutor({ primary: own, shadow: ours, tools: "replay", report, sample: (code) => code.length < 1000 }),
];
export const option: CreateCodeToolOptions["executor"] | undefined = executors[0];

export const base: ShadowOptions = { primary: theirs, shadow: ours, tools: "replay", report };
// @ts-expect-error the host has to say what tool calls of the shadow do
new ShadowExecutor({ primary: theirs, shadow: ours, report });
// @ts-expect-error an executor has a method `execute`
new ShadowExecutor({ ...base, shadow: {} });
