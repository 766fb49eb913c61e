// What the package exports on every platform.

export type {
  ConnectorBinding,
  ExecuteOptions,
  ExecuteResult,
  Executor,
  Limits,
  ModuleSource,
  Outbound,
  ResolvedProvider,
  SimpleToolRecord,
  ToolFunction,
  ToolProvider,
  ToolProviderTools,
} from "./contract.js";
export { ToolDispatcher } from "./dispatcher.js";
export { type ErrorCode, ExecutorError, HandleCallFailed } from "./errors.js";
export { sanitizeToolName } from "./names.js";
export type { Handle } from "./run/retained.js";
