// Every scenario by name: a host, given an executor, and a function that makes one with other options. What it observes comes
// back as a value that JSON carries.
import * as seven from "../ai7/libraries.mjs";
import * as six from "../libraries.mjs";
import { aiSdkScenarios } from "./ai_sdk.mjs";
import { browserScenarios } from "./browser.mjs";
import { connectorScenarios } from "./connectors.mjs";
import { mcpScenarios } from "./mcp.mjs";
import { tanstackScenarios } from "./tanstack.mjs";
import { valueScenarios } from "./values.mjs";

const named = (prefix, scenarios) => Object.entries(scenarios).map(([name, scenario]) => [`${prefix}: ${name}`, scenario]);

export const SCENARIOS = new Map([
  ...named("AI SDK 6", aiSdkScenarios(six)),
  ...named("AI SDK 7", aiSdkScenarios(seven)),
  ...named("TanStack AI", tanstackScenarios),
  ...named("MCP", mcpScenarios),
  ...named("browser entry", browserScenarios),
  ...named("connectors", connectorScenarios),
  ...named("values", valueScenarios),
]);
