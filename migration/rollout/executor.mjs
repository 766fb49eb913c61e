// Which executor runs the programs, as the deployment's configuration says: upstream's, both, or this project's.
import { DynamicWorkerExecutor as LoaderExecutor } from "@cloudflare/codemode";
import { DynamicWorkerExecutor } from "codemode-executor-bridge";
import { ShadowExecutor } from "codemode-executor-bridge/shadow";

const TIMEOUT = 30_000;

const before = (env) => new LoaderExecutor({ loader: env.LOADER, timeout: TIMEOUT });
const after = (env) => new DynamicWorkerExecutor({ url: env.CODEMODE_URL, token: env.CODEMODE_TOKEN, timeout: TIMEOUT });

// --8<-- [start:shadow]
const shadowing = (env, ctx) =>
  new ShadowExecutor({
    primary: before(env),
    shadow: after(env),
    tools: "replay",
    sample: Number(env.CODEMODE_SAMPLE),
    keepAlive: (work) => ctx.waitUntil(work),
    report: ({ program, differs, calls, mayVary, primary, shadow }) => {
      const errors = [primary.envelope.error, shadow.envelope.error];
      console.warn("executors differ", JSON.stringify({ differs, calls, mayVary, errors, program }));
    },
    onFault: ({ reason }) => console.error("shadow run failed", reason.code ?? reason),
  });
// --8<-- [end:shadow]

const STAGES = { before, shadow: shadowing, after };

/** @throws {Error} the configuration names no stage */
export function executorOf(env, ctx) {
  if (!Object.hasOwn(STAGES, env.CODEMODE_STAGE)) {
    throw new Error(`CODEMODE_STAGE is ${env.CODEMODE_STAGE}; it must be one of ${Object.keys(STAGES).join(", ")}`);
  }
  return STAGES[env.CODEMODE_STAGE](env, ctx);
}
