// `codemode-executor-bridge/shadow`: the same on every platform.

export type {
  Difference,
  Disagreement,
  Outcome,
  ShadowCounts,
  ShadowFault,
  ShadowOptions,
  ShadowedExecutor,
  Skipped,
} from "./contract.js";
export { ShadowExecutor } from "./executor.js";
