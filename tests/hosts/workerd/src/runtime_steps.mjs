// What a host does with upstream's runtime, by the names that cases give it. The runtime is made anew for every step, as a
// host makes it for every request.
import { createCodemodeRuntime, truncateResult } from "@cloudflare/codemode";
import { makeConnectors } from "./connectors.mjs";
import { makeExecutor } from "./executors.mjs";

const TRANSFORMS = {
  truncate: (result) => truncateResult(result, { maxChars: 100 }),
  throws: () => {
    throw new Error("the transform failed");
  },
};

function runtimeOf(step, { side, ctx, env, journal }) {
  return createCodemodeRuntime({
    ctx,
    executor: makeExecutor(side, env, { timeout: step.timeout ?? 30_000, ...step.executor }),
    connectors: makeConnectors(step.connectors ?? ["desk"], ctx, env, journal),
    name: step.runtime,
    maxExecutions: step.maxExecutions,
    ...(step.transform && { transformResult: TRANSFORMS[step.transform] }),
  });
}

/** The text of a step; `pad` makes it that much longer. */
const codeOf = ({ code, pad = 0 }) => code + " ".repeat(pad);

const on = (action) => (step, host) => action(runtimeOf(step, host), step);

export const runtimeSteps = {
  execute: on((runtime, step) => runtime.execute({ code: codeOf(step) })),
  approve: on((runtime, { run }) => runtime.approve({ executionId: run })),
  reject: on((runtime, { run, seq }) => runtime.reject({ executionId: run, seq })),
  rollback: on((runtime, { run }) => runtime.rollback({ executionId: run })),
  pending: on((runtime, { run }) => runtime.pending(run)),
  expire: on((runtime, { maxAgeMs }) => runtime.expirePaused(maxAgeMs === undefined ? undefined : { maxAgeMs })),
  executions: on((runtime, { limit }) => runtime.executions(limit)),
  delete: on((runtime, { run }) => runtime.deleteExecution(run)),
  prune: on((runtime, { keep }) => runtime.pruneExecutions(keep)),
  save: on((runtime, { name, run, description, inputSchema }) =>
    runtime.saveSnippet(name, { executionId: run, description, inputSchema }),
  ),
  snippets: on((runtime) => runtime.snippets()),
  forget: on((runtime, { name }) => runtime.deleteSnippet(name)),
  search: on((runtime, { query }) => runtime.search(query)),
  describe: on((runtime, { target }) => runtime.describe(target)),

  /** The tool that a model is given, and what it gets from one call of it. */
  tool: on(async (runtime, { code, options }) => {
    const tool = runtime.tool(options);
    const output = await tool.execute({ code });
    const schema = tool.inputSchema["~standard"];
    return {
      description: tool.description,
      schema: schema.jsonSchema.input({ target: "draft-07" }),
      accepts: schema.validate({ code }),
      refuses: schema.validate({ cod: "" }),
      executionId: output.executionId,
      output,
      shown: tool.toModelOutput({ output }),
    };
  }),
};
